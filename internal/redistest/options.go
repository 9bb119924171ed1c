package redistest

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Options says how a server is set up. The zero value is a server that keeps
// nothing on disk, wants no password, and knows no memory limit.
type Options struct {
	// AppendOnly keeps every write on disk before it is answered (appendfsync
	// always): what was acknowledged survives Kill. The file is not rewritten in
	// the background, since a killed server would leave the rewriting process.
	AppendOnly bool
	// Password is what clients must authenticate with. See SetPassword.
	Password string
	// MaxMemory is the limit in Redis's notation, such as "64mb"; writes beyond
	// it are refused (noeviction).
	MaxMemory string
	// Extra is more lines for the configuration file, such as "hz 100". They come
	// last and so win over the lines above.
	Extra []string
	// Cluster starts the server as a node of Redis Cluster, without slots.
	Cluster bool
	// Skew is by how many whole seconds the server's clock is wrong. It needs Linux
	// and gcc.
	Skew time.Duration

	sentinel bool // the process is a Sentinel
}

// file returns the text of the configuration file. The server's working
// directory is its data directory, so no path needs quoting.
func (o Options) file(port int, password string) []byte {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("bind %s", localhost)
	line("port %d", port)
	line("daemonize no")
	line(`save ""`)
	if o.AppendOnly {
		line("appendonly yes")
		line("appendfsync always")
		line("auto-aof-rewrite-percentage 0")
	}
	if password != "" {
		line("requirepass %s", strconv.Quote(password))
	}
	if o.MaxMemory != "" {
		line("maxmemory %s", o.MaxMemory)
	}
	if o.Cluster {
		line("cluster-enabled yes")
		line("cluster-config-file nodes.conf")
		line("cluster-announce-ip %s", localhost)
	}
	for _, extra := range o.Extra {
		line("%s", extra)
	}
	return []byte(b.String())
}
