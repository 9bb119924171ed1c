// Package redisurl reads the address of a Redis as users write it:
//
//	redis://[user:password@]host[:6379][/db]       one server
//	rediss://…                                     the same over TLS
//	unix://[user:password@]/path/to/socket[?db=1]  one server on this machine
//	redis://host1[:6379],host2[:6379]              a Cluster, by some of its nodes
//	redis-sentinel://[user:password@]host1[:26379],host2/db?master=name
//	embedded                                       a server inside the process
//
// No error and no String of this package holds what may be a password.
package redisurl

import (
	"fmt"
	"net"
	"net/url"
	"strings"
	"unicode"

	"github.com/redis/go-redis/v9"
)

// Embedded is the word that stands for a server inside the process.
const Embedded = "embedded"

type kind int

const (
	single kind = iota
	socket
	cluster
	sentinel
	embedded
)

// Target is a Redis that an address names.
type Target struct {
	kind  kind
	shown string
	made  maker

	// what Mismatch looks at; none where TLS is no question
	scheme string
	hosts  []string
}

// maker holds the options of the one kind of client that the target needs.
type maker struct {
	single   *redis.Options
	cluster  *redis.ClusterOptions
	failover *redis.FailoverOptions
}

// Error says what is wrong with an address, and what would be right.
type Error struct {
	Scheme string // "" when the address has none
	Reason string
}

func (e *Error) Error() string {
	if e.Scheme == "" {
		return "the Redis address " + e.Reason
	}
	return fmt.Sprintf("the Redis address (%s://…) %s", e.Scheme, e.Reason)
}

const forms = `redis://HOST:PORT/DB, rediss://…, unix:///PATH, redis://HOST1:PORT,HOST2:PORT for a Cluster, ` +
	`redis-sentinel://HOST1,HOST2/DB?master=NAME, or the word embedded`

// Parse reads an address. Its error is an *Error.
func Parse(address string) (Target, error) {
	if address == Embedded {
		return Target{kind: embedded, shown: Embedded}, nil
	}
	p, err := split(address)
	if err != nil {
		return Target{}, err
	}
	t := Target{kind: p.kind}
	switch p.kind {
	case cluster:
		t.made.cluster, err = redis.ParseClusterURL(p.url("addr"))
	case sentinel:
		t.made.failover, err = redis.ParseFailoverURL(p.url("addr"))
	default:
		t.made.single, err = redis.ParseURL(p.url(""))
	}
	if err != nil {
		// Left to go-redis are the parameters; its other errors may quote the URL.
		return Target{}, p.wrong("has a parameter whose value is wrong: protocol is 2 or 3, skip_verify is true or false")
	}
	t.shown, t.scheme, t.hosts = p.shown(), p.scheme, p.hosts
	return t, nil
}

// IsEmbedded tells that the target is a server inside the process.
func (t Target) IsEmbedded() bool { return t.kind == embedded }

// String shows the address without credentials and parameters.
func (t Target) String() string { return t.shown }

// Client returns a client of the target, which must not be the embedded one. It
// does no I/O.
func (t Target) Client() redis.UniversalClient {
	switch t.kind {
	case cluster:
		return redis.NewClusterClient(t.made.cluster)
	case sentinel:
		return redis.NewFailoverClient(t.made.failover)
	case embedded:
		panic("redisurl: the embedded server has no address of its own")
	default:
		return redis.NewClient(t.made.single)
	}
}

// parts is an address taken apart.
type parts struct {
	kind   kind
	scheme string // as written
	user   *url.Userinfo
	hosts  []string // host:port
	path   string   // of the socket
	db     string   // digits; "" where none is given
	query  url.Values
}

func (p *parts) wrong(reason string, args ...any) error {
	return &Error{Scheme: p.scheme, Reason: fmt.Sprintf(reason, args...)}
}

// shown leaves out the user too: in redis://secret@host, which some write, it
// is the password.
func (p *parts) shown() string {
	if p.kind == socket {
		return "unix://" + p.path + suffix("?db=", p.db)
	}
	return p.scheme + "://" + strings.Join(p.hosts, ",") + suffix("/", p.db)
}

func suffix(mark, text string) string {
	if text == "" {
		return ""
	}
	return mark + text
}

// url writes the address as go-redis reads it: further hosts as parameters.
func (p *parts) url(param string) string {
	u := url.URL{Scheme: "redis", User: p.user, RawQuery: p.query.Encode()}
	if strings.HasPrefix(p.scheme, "rediss") {
		u.Scheme = "rediss"
	}
	if p.kind == socket {
		u.Scheme, u.Path = "unix", p.path
		return u.String()
	}
	u.Host = p.hosts[0]
	if p.db != "" {
		u.Path = "/" + p.db
	}
	if param != "" && len(p.hosts) > 1 {
		q := p.query
		q[param] = p.hosts[1:]
		u.RawQuery = q.Encode()
	}
	return u.String()
}

// withPort completes a host; ok is false when it is none.
func withPort(host, port string) (string, bool) {
	h, p := host, port
	switch {
	case strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]"):
		h = host[1 : len(host)-1]
		if net.ParseIP(h) == nil {
			return "", false
		}
	case strings.Contains(host, ":"):
		var err error
		if h, p, err = net.SplitHostPort(host); err != nil {
			return "", false
		}
	}
	if h == "" || strings.ContainsFunc(h, notOfHost) || !isPort(p) {
		return "", false
	}
	return net.JoinHostPort(h, p), true
}

// notOfHost allows what names and IP addresses are made of.
func notOfHost(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(".-_:", r)
}
