package handlers

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/stretchr/testify/require"

	thriftbus "github.com/seed4933/eventbus/gen-go/eventbusv1"
)

// reply is an answer as a server would write it.
func reply(t require.TestingT, name string, kind thrift.TMessageType, seq int32, body thrift.TStruct) []byte {
	buffer := thrift.NewTMemoryBuffer()
	p := thrift.NewTBinaryProtocolConf(buffer, nil)
	ctx := context.Background()
	require.NoError(t, p.WriteMessageBegin(ctx, name, kind, seq))
	require.NoError(t, body.Write(ctx, p))
	return buffer.Bytes()
}

func framed(message []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...)
}

func doneReply() *thriftbus.EventHandlerHandleResult {
	return &thriftbus.EventHandlerHandleResult{Success: &thriftbus.HandleResult_{Outcome: thriftbus.Outcome_DONE}}
}

// say answers the first call on each connection with bytes, and then holds the
// connection open, or closes it.
func say(t *testing.T, said []byte, hold bool) (address string) {
	return answering(t, func(conn net.Conn) {
		one := make([]byte, 64<<10)
		if _, err := conn.Read(one); err != nil {
			return
		}
		_, _ = conn.Write(said)
		if hold {
			_, _ = io.Copy(io.Discard, conn)
		}
	})
}

// What is no answer fails the attempt, with a text that tells what it is, and the
// connection is not used again.
func TestThrift_StrangeAnswers(t *testing.T) {
	t.Parallel()
	unframed := ThriftConfig{Unframed: true}
	good := reply(t, "handle", thrift.REPLY, 1, doneReply())
	for name, c := range map[string]struct {
		cfg  ThriftConfig
		said []byte
		hold bool
		says string
	}{
		"nothing":             {ThriftConfig{}, nil, false, "the server closed the connection without one; its log may tell why. If it always does: this side speaks the binary protocol in frames, without TLS; a TThreadPoolServer"},
		"nothing, unframed":   {unframed, nil, false, "a TNonblockingServer or THsHaServer wants frames"},
		"nothing, header":     {ThriftConfig{Protocol: ThriftHeader}, nil, false, "a server in Java has no THeader"},
		"half an answer":      {ThriftConfig{}, framed(good)[:20], false, "EOF"},
		"half, unframed":      {unframed, good[:20], false, "EOF"},
		"without frames":      {ThriftConfig{}, good, true, "the answer is the binary protocol without frames, and this side speaks the binary protocol in frames"},
		"in frames":           {unframed, framed(good), true, "the answer is the binary protocol in frames, and this side speaks the binary protocol without frames"},
		"another protocol":    {ThriftConfig{Protocol: ThriftCompact}, framed(good), true, "the answer is the binary protocol in frames, and this side speaks the compact protocol in frames"},
		"compact":             {unframed, []byte("\x82\x41\x01\x06handle\x00"), true, "the answer is the compact protocol without frames"},
		"THeader":             {unframed, []byte("\x00\x00\x00\x10\x0f\xff\x00\x00\x00\x00\x00\x01"), true, "the answer is THeader"},
		"HTTP":                {ThriftConfig{}, []byte("HTTP/1.1 400 Bad Request\r\n\r\n"), true, "the answer is that of an HTTP server"},
		"HTTP, unframed":      {unframed, []byte("HTTP/1.1 400 Bad Request\r\n\r\n"), true, "the answer is that of an HTTP server"},
		"HTTP, header":        {ThriftConfig{Protocol: ThriftHeader}, []byte("HTTP/1.1 400 Bad Request\r\n\r\n"), true, "the answer is that of an HTTP server"},
		"SSH":                 {ThriftConfig{}, []byte("SSH-2.0-OpenSSH_9.2p1\r\n"), true, `it begins with "SSH-2.0-OpenSSH_", which is not Thrift`},
		"gigabytes":           {ThriftConfig{}, []byte("\x7f\xff\xff\xff"), true, "Incorrect frame size (2147483647)"},
		"gigabytes, unframed": {unframed, []byte("\x80\x01\x00\x02\x7f\xff\xff\xff"), true, "size exceeded max allowed: 2147483647"},
		"gigabytes, header":   {ThriftConfig{Protocol: ThriftHeader}, []byte("\x3f\xff\xff\xff\x0f\xff\x00\x00"), true, "frame too large"},
		"a negative size":     {unframed, []byte("\x80\x01\x00\x02\xff\xff\xff\xff"), true, "negative size"},
		"another call":        {ThriftConfig{}, framed(reply(t, "handle", thrift.REPLY, 2, doneReply())), true, "it answers the call 2, where 1 was asked; the server must answer each call once, in its order"},
		"another method":      {ThriftConfig{}, framed(reply(t, "sing", thrift.REPLY, 1, doneReply())), true, `it answers "sing", where handle was asked`},
		"a call":              {ThriftConfig{}, framed(reply(t, "handle", thrift.CALL, 1, doneReply())), true, "it is a message of type 1, not a reply (2)"},
		"no result":           {ThriftConfig{}, framed(reply(t, "handle", thrift.REPLY, 1, &thriftbus.EventHandlerHandleResult{})), true, "it holds no HandleResult; its method returned nothing: it must return one, DONE where all is well"},
		"TLS":                 {ThriftConfig{}, []byte("\x15\x03\x01\x00\x02\x02\x46"), true, "the answer is TLS, and this side speaks the binary protocol in frames"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := openThrift(t, say(t, c.said, c.hold), c.cfg)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			err := h.Handle(ctx, newEvent("1", "1"))
			var failed *ThriftError
			require.ErrorAs(t, err, &failed)
			require.Equal(t, stepAnswer, failed.Step)
			require.ErrorContains(t, err, c.says)
			require.NoError(t, ctx.Err(), "it is not the timeout that ends it")
			if name != "no result" {
				require.Empty(t, h.kept())
			}
		})
	}
}

// An answer without end ends all the same, also where each frame of it is small.
func TestThrift_EndlessAnswer(t *testing.T) {
	t.Parallel()
	skipped := append(reply(t, "handle", thrift.REPLY, 1, emptyStruct{}), bytes.Repeat([]byte("\x08\x00\x07\x00\x00\x00\x00"), 10_000)...)
	for name, c := range map[string]struct {
		cfg  ThriftConfig
		said []byte
	}{
		"empty frames": {ThriftConfig{}, make([]byte, 40_000)},
		"fields":       {ThriftConfig{Unframed: true}, skipped},
	} {
		h := openThrift(t, say(t, c.said, true), c.cfg)
		conn, err := h.dial(t.Context())
		require.NoError(t, err)
		require.Equal(t, 16_384_004, conn.socket.most)
		conn.socket.most = 32_000
		answer := conn.call(t.Context(), &thriftbus.Event{})
		require.ErrorIs(t, answer.err, errAnswerTooLong, name)
		require.False(t, answer.reusable)
		conn.abort()
	}
}

// What follows an answer is nobody's: the connection is not used again, whether it
// has come with the answer or later.
func TestThrift_MoreThanAsked(t *testing.T) {
	t.Parallel()
	good := reply(t, "handle", thrift.REPLY, 1, doneReply())
	more := reply(t, "handle", thrift.REPLY, 2, &thriftbus.EventHandlerHandleResult{
		Success: &thriftbus.HandleResult_{Outcome: thriftbus.Outcome_REJECT},
	})
	h := openThrift(t, say(t, append(append([]byte(nil), good...), more...), true), ThriftConfig{Unframed: true})
	require.NoError(t, h.Handle(t.Context(), newEvent("1", "1")))
	require.NoError(t, h.Handle(t.Context(), newEvent("2", "1")))
	require.Empty(t, h.kept())

	h = openThrift(t, say(t, framed(append(append([]byte(nil), good...), more...)), true), ThriftConfig{})
	require.NoError(t, h.Handle(t.Context(), newEvent("1", "1")))
	require.NoError(t, h.Handle(t.Context(), newEvent("2", "1")))
	require.Empty(t, h.kept())

	later := make(chan struct{})
	address := answering(t, func(conn net.Conn) {
		_, _ = conn.Read(make([]byte, 64<<10))
		_, _ = conn.Write(framed(good))
		<-later
		_, _ = conn.Write(framed(more))
		_, _ = io.Copy(io.Discard, conn)
	})
	h = openThrift(t, address, ThriftConfig{})
	require.NoError(t, h.Handle(t.Context(), newEvent("1", "1")))
	kept := h.kept()
	require.Len(t, kept, 1)
	close(later)
	require.Eventually(t, func() bool { return !kept[0].quiet() }, patience, time.Millisecond)
	require.NoError(t, h.Handle(t.Context(), newEvent("2", "1")), "over a new connection")
}

// A server that announces much and sends it slowly costs no more memory than what
// it has sent.
func TestThrift_MemoryFollowsWhatArrives(t *testing.T) {
	// not parallel: it measures
	announced := map[string]struct {
		cfg  ThriftConfig
		said []byte
	}{
		"frame":  {ThriftConfig{}, binary.BigEndian.AppendUint32(nil, MaxThriftMessage)},
		"string": {ThriftConfig{Unframed: true}, binary.BigEndian.AppendUint32([]byte("\x80\x01\x00\x02"), MaxThriftMessage)},
		"header": {ThriftConfig{Protocol: ThriftHeader}, append(binary.BigEndian.AppendUint32(nil, MaxThriftMessage), "\x0f\xff\x00\x00"...)},
		"list": {ThriftConfig{}, framed(append(reply(t, "handle", thrift.REPLY, 1, emptyStruct{}),
			"\x0f\x00\x09\x0c\x7f\xff\xff\xff"...))},
	}
	for name, c := range announced {
		h := openThrift(t, say(t, c.said, true), c.cfg)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		require.Error(t, h.Handle(ctx, newEvent("1", "1")), name)
		cancel()
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4<<20), name)
	}
}

// emptyStruct writes nothing, not even its end.
type emptyStruct struct{}

func (emptyStruct) Write(context.Context, thrift.TProtocol) error { return nil }
func (emptyStruct) Read(context.Context, thrift.TProtocol) error  { return nil }

// Whatever a server says, a call ends with an error or an outcome.
func FuzzThriftAnswer(f *testing.F) {
	good := reply(f, "handle", thrift.REPLY, 1, doneReply())
	f.Add(uint8(0), framed(good))
	f.Add(uint8(2), good)
	f.Add(uint8(3), []byte("\x82\x41\x01\x06handle\x00"))
	f.Add(uint8(4), []byte("\x00\x00\x00\x10\x0f\xff\x00\x00\x00\x00\x00\x01\x00\x01\x00\x00\x00\x00\x00\x00"))
	f.Add(uint8(0), []byte("HTTP/1.1 200 OK\r\n\r\n"))
	cfgs := []ThriftConfig{
		{}, {Protocol: ThriftCompact}, {Unframed: true}, {Unframed: true, Protocol: ThriftCompact}, {Protocol: ThriftHeader},
	}
	f.Fuzz(func(t *testing.T, which uint8, said []byte) {
		h, err := NewThrift("127.0.0.1:9", cfgs[int(which)%len(cfgs)])
		require.NoError(t, err)
		conn := saidConn{bytes.NewReader(said)}
		answer := h.speak(conn, conn).call(context.Background(), &thriftbus.Event{})
		require.True(t, (answer.err == nil) != (answer.result == nil))
		if answer.err == nil {
			_ = h.outcome("h", answer.result)
		} else {
			require.NotEmpty(t, answer.err.Error())
		}
		require.NoError(t, h.Close())
	})
}

// saidConn is a connection whose peer has said all it will say.
type saidConn struct{ *bytes.Reader }

func (saidConn) Write(p []byte) (int, error)      { return len(p), nil }
func (saidConn) Close() error                     { return nil }
func (saidConn) LocalAddr() net.Addr              { return nil }
func (saidConn) RemoteAddr() net.Addr             { return nil }
func (saidConn) SetDeadline(time.Time) error      { return nil }
func (saidConn) SetReadDeadline(time.Time) error  { return nil }
func (saidConn) SetWriteDeadline(time.Time) error { return nil }
