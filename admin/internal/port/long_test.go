package port

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/gen-go/eventbusv1"
)

// A client that has sent a message which is too long is told so, in its own terms, and
// the log warns of it: it may be a client of this house. It reads only once it has
// written all.
func TestServer_LongMessage(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config) { c.Limits.MaxMessage = 1 << 20 })
	for _, k := range kinds() {
		if strings.HasPrefix(k.name, "un") {
			continue // what has no length is told while it comes: see TestLimits_MaxMessage
		}
		c := dial(t, b.addr)
		_, err := busOver(k.over(c)).Send(t.Context(), "t", &eventbusv1.Message{Payload: make([]byte, 15<<20)})
		requireException(t, err, thrift.PROTOCOL_ERROR, "and at most 1048576 are taken")
		require.ErrorContains(t, err, "the message has 1572", k.name)
		closes(t, c)
	}
	b.logs(t, "level=WARN msg=\"a client was turned away\"")
	require.Contains(t, b.log.String(), "at most 1048576 are taken")
	require.Equal(t, 1, strings.Count(b.log.String(), "level=WARN"), "one a minute")

	// A length beyond reason is none, and nor is one that no message follows.
	for _, stray := range [][]byte{frame(maxMaxMessage+1, 0x80, 1, 0, 1), frame(maxMaxMessage, 'h', 't', 't', 'p')} {
		c := dial(t, b.addr)
		_, err := c.Write(stray)
		require.NoError(t, err)
		require.Empty(t, closes(t, c))
	}
}

// What an HTTP client is refused for it reads as it stands, however much of its body it
// still has to send before it reads.
func TestServer_RefusesLargeBodies(t *testing.T) {
	t.Parallel()
	const size = 12 << 20
	call := message(kinds()[2], "getTopic", thrift.STRING, 1, append(binary.BigEndian.AppendUint32(nil, size), make([]byte, size+1)...))
	post := fmt.Sprintf("POST /thrift HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", len(call))
	chunked := "POST /thrift HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
	chunks := fmt.Appendf(nil, "%x\r\n%s\r\n0\r\n\r\n", len(call), call)
	admitted := func(*Config) {}
	short := func(c *Config) { c.Limits.MaxMessage = 1 << 20 }
	for name, c := range map[string]struct {
		change func(*Config)
		head   string
		body   []byte
		status int
		text   string
	}{
		"nobody knows it":   {withToken, post, call, http.StatusUnauthorized, "a token is wanted"},
		"too long":          {short, post, call, http.StatusRequestEntityTooLarge, fmt.Sprintf("the message has %d bytes, and at most 1048576 are taken", len(call))},
		"too long, chunked": {short, chunked, chunks, http.StatusOK, "longer than what the message may still have"}, // a Thrift exception
		"framed":            {admitted, post, frame(uint32(len(call)-word), call[:len(call)-word]...), http.StatusBadRequest, "has no frame"},
		"no such path":      {admitted, strings.Replace(post, "/thrift", "/", 1), call, http.StatusNotFound, "404"},
		"no such method":    {admitted, strings.Replace(post, "POST", "PUT", 1), call, http.StatusMethodNotAllowed, "POST"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, c.change)
			conn := dial(t, b.addr)
			_, err := io.WriteString(conn, c.head)
			require.NoError(t, err)
			_, err = conn.Write(c.body)
			require.NoError(t, err)
			answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
			require.NoError(t, err)
			require.Equal(t, c.status, answer.StatusCode)
			text, err := io.ReadAll(answer.Body)
			require.NoError(t, err)
			require.NoError(t, answer.Body.Close())
			require.Contains(t, string(text), c.text)
			if c.status == http.StatusRequestEntityTooLarge {
				b.logs(t, "level=WARN")
			}
		})
	}
}

// A client that asks first whether it may send a body is not waited for.
func TestServer_RefusesBeforeTheBody(t *testing.T) {
	t.Parallel()
	b := setup(t, withToken)
	c := dial(t, b.addr)
	began := time.Now()
	_, err := io.WriteString(c, "POST /nonesuch HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n")
	require.NoError(t, err)
	require.Contains(t, string(closes(t, c)), "404")
	require.Less(t, time.Since(began), soon)
}

// A client that goes on sending what is refused is read for some time only.
func TestServer_RefusedForEver(t *testing.T) {
	t.Parallel()
	b := setup(t, brief(func(l *Limits) { l.MaxMessage = 1 << 20 }))
	c := dial(t, b.addr)
	_, err := c.Write(frame(maxMaxMessage, 0x80, 1, 0, 1, 0, 0, 0, 1, 'x', 0, 0, 0, 1))
	require.NoError(t, err)
	junk := make([]byte, 1<<20)
	sent := 0
	for err == nil && sent < maxMaxMessage {
		var n int
		n, err = c.Write(junk)
		sent += n
	}
	require.Error(t, err, "all was read")
	require.Less(t, sent, lingerBytes+64<<20)
}
