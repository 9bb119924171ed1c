package port

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/gen-go/eventbusv1"
)

// withToken admits those that have a header Authorization.
func withToken(c *Config) {
	brief(func(*Limits) {})(c)
	c.Admit = func(c Client) error {
		if c.Headers["authorization"] == "" {
			return errors.New("a token is wanted")
		}
		return nil
	}
}

// Large messages of those who may not call are refused at once, though all memory
// is in use and they would have to wait for it: they hold none.
func TestAdmit_Large(t *testing.T) {
	t.Parallel()
	b := setup(t, withToken)
	defer holdAll(t, b.server.budget)()
	m := &eventbusv1.Message{Payload: make([]byte, 100_000)}
	for _, k := range kinds() {
		for _, service := range []string{"EventBus", "Nonesuch"} {
			c := dial(t, b.addr)
			p := k.over(c)
			multiplexed := thrift.NewTMultiplexedProtocol(p, service)
			_, err := eventbusv1.NewEventBusClient(thrift.NewTStandardClient(multiplexed, multiplexed)).Send(t.Context(), "t", m)
			requireException(t, err, thrift.UNKNOWN_APPLICATION_EXCEPTION, "a token is wanted")
			require.Empty(t, closes(t, c), k.name)
		}
	}
	// Nor do a name that is none, and many small things.
	for _, k := range plainKinds() {
		c := dial(t, b.addr)
		_, err := c.Write(message(k, strings.Repeat("n", 100_000), thrift.STRUCT, 1, []byte{0, 0}))
		require.NoError(t, err)
		closes(t, c)
		c = dial(t, b.addr)
		messages := make([]*eventbusv1.Message, 1000)
		for i := range messages {
			messages[i] = &eventbusv1.Message{}
		}
		_, err = busOver(k.over(c)).SendBatch(t.Context(), "t", messages)
		requireException(t, err, thrift.UNKNOWN_APPLICATION_EXCEPTION, "a token is wanted")
	}
	b.logs(t, errLongHead.Error())
}

// The processor refuses small messages, in the terms of its service, and the
// connection stays.
func TestAdmit_Small(t *testing.T) {
	t.Parallel()
	b := setup(t, withToken)
	defer holdAll(t, b.server.budget)()
	for _, k := range kinds() {
		admin := adminOver(k.over(dial(t, b.addr)))
		for range 2 {
			_, err := admin.GetTopic(t.Context(), "missing")
			require.ErrorAs(t, err, new(*eventbusv1.NotFound), k.name)
		}
		// Arguments that leave nothing of the free cost leave room for the answer.
		got, err := admin.GetTopic(t.Context(), strings.Repeat("x", 14_000))
		require.NoError(t, err, k.name)
		require.Len(t, got.Name, 14_000)
		_, err = admin.GetTopic(t.Context(), "size 100000")
		requireException(t, err, thrift.INTERNAL_ERROR, "ask for less")
	}
}

// Each message is decided on by its own headers.
func TestAdmit_Header(t *testing.T) {
	t.Parallel()
	b := setup(t, withToken)
	m := &eventbusv1.Message{Payload: make([]byte, 1_000_000)}
	for _, k := range kinds()[4:] {
		p := k.over(dial(t, b.addr)).(*thrift.THeaderProtocol)
		p.SetWriteHeader("authorization", strings.Repeat("x", 7<<10))
		for range 2 {
			_, err := busOver(p).Send(t.Context(), "t", m)
			require.NoError(t, err, k.name)
		}
		p.ClearWriteHeaders()
		_, err := busOver(p).Send(t.Context(), "t", &eventbusv1.Message{Payload: make([]byte, 100_000)})
		requireException(t, err, thrift.UNKNOWN_APPLICATION_EXCEPTION, "a token is wanted")
	}
}

func TestAdmit_HTTP(t *testing.T) {
	t.Parallel()
	b := setup(t, withToken)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: transport, Timeout: patience}
	post := func(size int, token string) (*http.Response, string) {
		body := kinds()[2].encode(func(ctx context.Context, p thrift.TProtocol) {
			m := thrift.NewTMultiplexedProtocol(p, "EventBus")
			_ = m.WriteMessageBegin(ctx, "send", thrift.CALL, 1) // to memory
			args := eventbusv1.EventBusSendArgs{Topic: "t", Message: &eventbusv1.Message{Payload: make([]byte, size)}}
			_ = args.Write(ctx, m)
			_ = m.WriteMessageEnd(ctx)
		})
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+b.addr+"/thrift", bytes.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/x-thrift")
		if token != "" {
			r.Header.Set("Authorization", token)
		}
		resp, err := client.Do(r)
		require.NoError(t, err)
		defer func() { require.NoError(t, resp.Body.Close()) }()
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp, string(text)
	}
	letGo := holdAll(t, b.server.budget)
	resp, text := post(100_000, "")
	require.Equal(t, http.StatusUnauthorized, resp.StatusCode)
	require.Equal(t, "Bearer", resp.Header.Get("WWW-Authenticate"))
	require.Equal(t, "a token is wanted\n", text)
	resp, text = post(1_000, "") // the processor's
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Contains(t, text, "t 1000")
	letGo()
	resp, text = post(100_000, "Bearer x")
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Contains(t, text, "t 100000")
}
