package port

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/stretchr/testify/require"
)

// headers is a call of THeader with n headers, as short as they can be, cut off in its
// arguments.
func headers(n int) []byte {
	h := binary.AppendUvarint([]byte{0, 0, byte(thrift.InfoKeyValue)}, uint64(n))
	for i := range n {
		h = append(h, 2, byte(i>>8), byte(i), 0)
	}
	h = append(h, make([]byte, -len(h)&3)...)
	b := binary.BigEndian.AppendUint32(nil, thrift.THeaderHeaderMagic)
	b = append(b, 0, 0, 0, 1)
	b = append(binary.BigEndian.AppendUint16(b, uint16(len(h)/4)), h...)
	call := message(kinds()[2], "getTopic", thrift.STRING, 1, []byte{0, 0, 0, 6, 'c', 'l', 'i', 'e', 'n', 't', 0})
	return frame(uint32(len(b)+len(call)), append(b, call...)...)
}

// httpHead is a request with n headers besides the first, and no body.
func httpHead(n int) []byte {
	b := bytes.NewBufferString("POST /thrift HTTP/1.1\r\nHost: x\r\n")
	for i := range n {
		fmt.Fprintf(b, "%02X:\r\n", i)
	}
	return b.Bytes()
}

func TestHead(t *testing.T) {
	t.Parallel()
	whole := string(httpHead(mostHeaders-1)) + "\r\n"
	for name, c := range map[string]struct {
		pieces []string
		fits   bool
	}{
		"as many as may be":     {[]string{whole}, true},
		"one more":              {[]string{string(httpHead(mostHeaders)) + "a:\r\n\r\n"}, false},
		"in pieces":             {strings.SplitAfter(string(httpHead(mostHeaders))+"a:\r\n\r\n", ""), false},
		"lines of the body":     {[]string{whole + strings.Repeat("\n", 4000)}, true},
		"lines of a later body": {append(strings.SplitAfter(whole, ""), strings.Repeat("a\n", 4000)), true},
		"an empty line first":   {[]string{"\n" + strings.Repeat("a\n", 4000)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var h head
			var err error
			for _, p := range c.pieces {
				if err == nil {
					err = h.read([]byte(p))
				}
			}
			if c.fits {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, errManyHeaders)
			}
		})
	}
}

// What is read together with one header too many is not handed on, or net/http would
// make headers of it all.
func TestHead_NothingOfTooMany(t *testing.T) {
	t.Parallel()
	here, there := net.Pipe()
	defer here.Close()
	go func() {
		defer there.Close()
		_, _ = there.Write(httpHead(mostHeaders + 2))
	}()
	c := &httpConn{Conn: here}
	n, err := c.Read(make([]byte, maxHTTPHeader))
	require.ErrorIs(t, err, errManyHeaders)
	require.Zero(t, n)
}

// Short headers cost far more memory than bytes. They are counted, whether or not the
// call ever comes.
func TestServer_ManyHeaders(t *testing.T) {
	t.Parallel()
	c := startChild(t, 0)
	stillServes(t, c.addr)
	many := headers(2000)
	for _, b := range [][]byte{
		many[:len(many)-1],
		httpHead(3200),
		append(httpHead(3200), "Content-Length: 100\r\n\r\n\x80"...),
	} {
		before := c.memory(t, false)
		for range DefaultMaxConnections / 2 {
			_, _ = dial(t, c.addr).Write(b) // it may be closed before all is read
		}
		require.NoError(t, adminOver(kinds()[0].over(dial(t, c.addr))).Ping(t.Context()))
		require.Less(t, c.memory(t, true)-before, int64(maxGrowth))
	}

	b := setup(t, nil)
	for n, fits := range map[int]bool{mostHeaders: true, mostHeaders + 1: false} {
		conn := dial(t, b.addr)
		_, err := conn.Write(headers(n))
		require.NoError(t, err)
		if answer := make([]byte, word); fits {
			_, err = conn.Read(answer)
			require.NoError(t, err)
		} else {
			require.Empty(t, closes(t, conn))
		}
	}
	conn := dial(t, b.addr)
	_, err := conn.Write(append(httpHead(mostHeaders+2), "\r\n"...))
	require.NoError(t, err)
	require.Contains(t, string(closes(t, conn)), fmt.Sprint(http.StatusBadRequest))
}
