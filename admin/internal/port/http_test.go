package port

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/gen-go/eventbusv1"
	"github.com/seed4933/eventbus/internal/protocol"
)

func adminOverHTTP(t *testing.T, url string, k kind, transport *http.Transport, token string) *eventbusv1.EventAdminClient {
	t.Helper()
	client := &http.Client{Transport: transport, Timeout: patience}
	trans, err := thrift.NewTHttpClientWithOptions(url+"/thrift", thrift.THttpClientOptions{Client: client})
	require.NoError(t, err)
	if token != "" {
		trans.(*thrift.THttpClient).SetHeader("Authorization", token)
	}
	p := thrift.TProtocol(thrift.NewTBinaryProtocolConf(trans, nil))
	if strings.Contains(k.name, "compact") {
		p = thrift.NewTCompactProtocolConf(trans, nil)
	}
	return adminOver(p)
}

func TestServer_HTTP(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	for _, k := range kinds()[2:4] {
		transport := &http.Transport{}
		t.Cleanup(transport.CloseIdleConnections)
		admin := adminOverHTTP(t, "http://"+b.addr, k, transport, "Bearer x")
		got, err := admin.GetTopic(t.Context(), "client")
		require.NoError(t, err)
		require.Equal(t, "true  Bearer x Bearer x", got.Name)
		_, err = admin.GetTopic(t.Context(), "missing")
		require.ErrorAs(t, err, new(*eventbusv1.NotFound))
		_, err = admin.GetTopic(t.Context(), "panic")
		requireException(t, err, thrift.INTERNAL_ERROR, "its log says why")
		big, err := admin.GetTopic(t.Context(), "size 5000000")
		require.NoError(t, err)
		require.Len(t, big.Name, 5_000_000)
	}
}

// Every fault as the body of a request, several times: each is answered, as what it
// is, and takes no memory to speak of.
func TestServer_HTTPFaults(t *testing.T) {
	t.Parallel()
	c := startChild(t, 0)
	stillServes(t, c.addr)
	before := c.memory(t, false)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: transport, Timeout: patience}
	for range 3 {
		for _, f := range faults() {
			resp, err := client.Post("http://"+c.addr+"/thrift", "application/x-thrift", bytes.NewReader(f.bytes))
			if len(f.bytes) > maxUnread && err != nil {
				continue // the server closes before it has read all, and the answer may be lost
			}
			require.NoError(t, err, f.name)
			body, err := io.ReadAll(resp.Body)
			require.NoError(t, err, f.name)
			require.NoError(t, resp.Body.Close())
			switch resp.StatusCode {
			case http.StatusOK:
				require.Equal(t, "application/x-thrift", resp.Header.Get("Content-Type"), f.name)
				require.Equal(t, byte(thrift.EXCEPTION), kindOf(body), f.name)
			default:
				require.Equal(t, http.StatusBadRequest, resp.StatusCode, f.name)
				require.Contains(t, string(body), "The call failed: ", f.name)
			}
		}
		stillServes(t, c.addr)
	}
	require.Less(t, c.memory(t, true)-before, int64(maxGrowth))

	resp, err := client.Get("http://" + c.addr + "/thrift")
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusMethodNotAllowed, resp.StatusCode)
	require.Equal(t, "POST", resp.Header.Get("Allow"))
}

// maxUnread is how much of a body the HTTP server still reads that nobody wants.
const maxUnread = 256 << 10

// kindOf is which kind of message an answer is; 0 for what is none.
func kindOf(answer []byte) byte {
	switch {
	case len(answer) < word:
		return 0
	case protocol.IsBinary(answer):
		return answer[3]
	case protocol.IsCompact(answer):
		return answer[1] >> thrift.COMPACT_TYPE_SHIFT_AMOUNT & 7
	}
	return 0
}

// Idle HTTP connections make room, and stopping does not wait for them.
func TestServer_HTTPIdle(t *testing.T) {
	t.Parallel()
	b := setup(t, brief(func(l *Limits) { l.MaxConnections = 1 }))
	c := dial(t, b.addr)
	_, err := c.Write([]byte("GET /nonesuch HTTP/1.1\r\nHost: x\r\n\r\n"))
	require.NoError(t, err)
	_, err = c.Read(make([]byte, 1))
	require.NoError(t, err)
	b.waitFor(t, map[state]int{idle: 1})
	stillServes(t, b.addr)
	closes(t, c)

	b = setup(t, brief(func(*Limits) {}))
	c = dial(t, b.addr)
	_, err = c.Write([]byte("GET /nonesuch HTTP/1.1\r\nHost: x\r\n\r\n"))
	require.NoError(t, err)
	b.waitFor(t, map[state]int{idle: 1})
	require.NoError(t, b.server.Shutdown(t.Context()))
}

// A body that comes slowly is no call yet, and gives way.
func TestServer_HTTPSlowBody(t *testing.T) {
	t.Parallel()
	b := setup(t, brief(func(l *Limits) { l.MaxConnections = 3 }))
	for i := range 3 {
		c := dial(t, b.addr)
		if i == 0 { // not the first request of its connection
			_, err := c.Write([]byte("GET /nonesuch HTTP/1.1\r\nHost: x\r\n\r\n"))
			require.NoError(t, err)
			b.waitFor(t, map[state]int{idle: 1})
		}
		_, err := c.Write([]byte("POST /thrift HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n\x80\x01"))
		require.NoError(t, err)
	}
	b.waitFor(t, map[state]int{reading: 3})
	stillServes(t, b.addr)
}

// unfinished is a request whose body goes on after its message.
func unfinished(headers string) string {
	call := message(kinds()[2], "getTopic", thrift.STRING, 1, []byte{0, 0, 0, 1, 'x', 0})
	return fmt.Sprintf("POST /thrift HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n%s\r\n%x\r\n%s\r\n", headers, len(call), call)
}

// A body that does not come to its end gives way once its call is answered.
func TestServer_HTTPUnfinishedBody(t *testing.T) {
	t.Parallel()
	for _, headers := range []string{"", "Expect: 100-continue\r\n"} {
		b := setup(t, brief(func(l *Limits) { l.MaxConnections = 1 }))
		c := dial(t, b.addr)
		_, err := io.WriteString(c, unfinished(headers))
		require.NoError(t, err)
		for answer := bufio.NewScanner(c); answer.Scan() && !strings.Contains(answer.Text(), " 200 "); {
		}
		b.waitFor(t, map[state]int{reading: 1})
		stillServes(t, b.addr)
	}
}

// What follows a body that has not come to its end is no request: it may be the rest of
// the body, which others may write than who sends the requests.
func TestServer_HTTPRestOfABody(t *testing.T) {
	t.Parallel()
	const request = "GET /nonesuch HTTP/1.1\r\nHost: x\r\n\r\n"
	for name, c := range map[string]struct {
		headers, more string
		late          bool
	}{
		"late":           {late: true, more: request},
		"late, asked":    {late: true, more: request, headers: "Expect: 100-continue\r\n"},
		"no chunk":       {more: "zz\r\n" + request},
		"no chunk, long": {more: "zz\r\n" + strings.Repeat(request, 1000)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, nil)
			conn := dial(t, b.addr)
			_, err := io.WriteString(conn, unfinished(c.headers))
			require.NoError(t, err)
			if c.late {
				b.waitFor(t, map[state]int{reading: 1})
				b.waitFor(t, map[state]int{reading: 0, calling: 0})
			}
			_, _ = io.WriteString(conn, c.more) // it may be closed
			_ = conn.SetReadDeadline(time.Now().Add(patience))
			answers, _ := io.ReadAll(conn)
			require.NotContains(t, string(answers), " 404 ")
		})
	}
}

// A call over HTTP goes on when its client goes away.
func TestServer_HTTPClientGoesAway(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, err := adminOverHTTP(t, "http://"+b.addr, kinds()[2], transport, "").GetTopic(ctx, "block")
		gone <- err
	}()
	<-b.admin.entered
	cancel()
	require.Error(t, <-gone)
	require.Never(t, b.admin.cut.Load, 100*time.Millisecond, 5*time.Millisecond)
	close(b.admin.release)
	b.waitFor(t, map[state]int{calling: 0})
	require.False(t, b.admin.cut.Load())
}

// A call over HTTP is waited for when the server stops, while there is time.
func TestServer_HTTPShutdown(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	answered := make(chan error, 1)
	go func() {
		_, err := adminOverHTTP(t, "http://"+b.addr, kinds()[2], transport, "").GetTopic(context.Background(), "block")
		answered <- err
	}()
	<-b.admin.entered
	stopped := make(chan error, 1)
	go func() { stopped <- b.server.Shutdown(context.Background()) }()
	b.waitFor(t, map[state]int{calling: 1})
	close(b.admin.release)
	require.NoError(t, <-answered)
	require.NoError(t, <-stopped)

	b = setup(t, nil)
	go func() {
		_, err := adminOverHTTP(t, "http://"+b.addr, kinds()[2], transport, "").GetTopic(context.Background(), "block")
		answered <- err
	}()
	<-b.admin.entered
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, b.server.Shutdown(ctx), context.DeadlineExceeded)
	require.Error(t, <-answered)
}
