package port

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/gen-go/eventbusv1"
)

// maxGrowth is how much memory bad input may take, in all.
const maxGrowth = 50 << 20

// fault is bytes that a server must survive.
type fault struct {
	name  string
	bytes []byte
	open  bool // the server waits for more: it is the test that closes
}

func frame(size uint32, payload ...byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, size), payload...)
}

// message returns a call of a method with one field of its arguments, in bytes
// as they are on the wire, in one of the kinds.
func message(k kind, method string, of thrift.TType, id int16, raw []byte) []byte {
	b := k.encode(func(ctx context.Context, p thrift.TProtocol) {
		_ = p.WriteMessageBegin(ctx, method, thrift.CALL, 1) // to memory
		_ = p.WriteStructBegin(ctx, "")
		_ = p.WriteFieldBegin(ctx, "", of, id)
		_, _ = p.Transport().Write(raw)
		_ = p.WriteMessageEnd(ctx)
	})
	return b
}

// plainKinds are those whose bytes can be put together by hand.
func plainKinds() []kind { return kinds()[:4] }

func faults() []fault {
	all := []fault{
		{name: "stray bytes", bytes: []byte("hello, world\r\n")},
		{name: "zeros", bytes: make([]byte, 1<<10)},
		{name: "ones", bytes: bytes.Repeat([]byte{0xff}, 1<<10)},
		{name: "TLS on a plain port", bytes: []byte{0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3}},
		{name: "a frame of a gigabyte", bytes: frame(1<<30, 0x80, 1, 0, 1)},
		{name: "a frame of four gigabytes less one", bytes: frame(1<<32 - 1)},
		{name: "a frame of size -1", bytes: frame(0xffffffff, 0x80, 1, 0, 1)},
		{name: "a frame of nothing", bytes: frame(0, 0, 0, 0)},
		{name: "a frame of 3 bytes", bytes: frame(3, 0x80, 1, 0)},
		{name: "a frame of stray bytes", bytes: frame(12, []byte("hello, world")...)},
		{name: "a frame in a frame", bytes: frame(20, frame(16, make([]byte, 16)...)...)},
		{name: "half a word", bytes: []byte{0, 0}, open: true},
		{name: "a truncated frame", bytes: frame(100, 0x80, 1, 0, 1, 0, 0, 0, 4, 'p'), open: true},
		{name: "a frame that claims all there can be", bytes: frame(DefaultMaxMessage, 0x80, 1, 0, 1), open: true},
		{name: "THeader longer than its frame", bytes: frame(14, 0x0f, 0xff, 0, 0, 0, 0, 0, 1, 0xff, 0xff, 0, 0, 0, 0)},
		{name: "THeader cut off", bytes: frame(18, 0x0f, 0xff, 0, 0, 0, 0, 0, 1, 0, 1, 0x82, 0x82, 0x82, 0x82, 0x80, 1, 0, 1)},
		{name: "THeader with a string of 2^31-1", bytes: frame(22, 0x0f, 0xff, 0, 0, 0, 0, 0, 1, 0, 3, 0, 0, 1, 1, 0xff, 0xff, 0xff, 0xff, 7, 0, 0, 0)},
		{name: "THeader with 2^31-1 transforms", bytes: frame(18, 0x0f, 0xff, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0xff, 0xff, 0xff, 0xff, 7, 0, 0)},
		{name: "THeader of protocol 9", bytes: frame(18, 0x0f, 0xff, 0, 0, 0, 0, 0, 1, 0, 1, 9, 0, 0, 0, 0x80, 1, 0, 1)},
	}
	const million = 1_000_000
	for _, k := range plainKinds() {
		compact := bytes.Contains([]byte(k.name), []byte("compact"))
		huge := []byte{0x7f, 0xff, 0xff, 0xff}
		negative := []byte{0xff, 0xff, 0xff, 0xff}
		nested := bytes.Repeat([]byte{byte(thrift.STRUCT), 0, 1}, million)
		list, strs, maps := []byte{byte(thrift.STRUCT)}, []byte(nil), []byte{byte(thrift.STRING), byte(thrift.STRING)}
		lists := bytes.Repeat([]byte{byte(thrift.LIST), 0, 0, 0, 1}, million)
		badType := []byte{200, 0, 0, 0, 1}
		if compact {
			huge = []byte{0xff, 0xff, 0xff, 0xff, 7}
			negative = []byte{0xff, 0xff, 0xff, 0xff, 15}
			nested = bytes.Repeat([]byte{1<<4 | thrift.COMPACT_STRUCT}, million)
			list, maps = []byte{0xf0 | thrift.COMPACT_STRUCT}, nil
			lists = bytes.Repeat([]byte{1<<4 | thrift.COMPACT_LIST}, million)
			badType = []byte{0x1f}
		}
		mapOf := func(size []byte) []byte {
			if compact {
				return append(slices.Clone(size), thrift.COMPACT_BINARY<<4|thrift.COMPACT_BINARY)
			}
			return slices.Concat(maps, size)
		}
		add := func(name, method string, of thrift.TType, id int16, raw []byte) {
			all = append(all, fault{name: k.name + ": " + name, bytes: message(k, method, of, id, raw)})
		}
		for _, claim := range []struct {
			name string
			size []byte
		}{{"2^31-1", huge}, {"-1", negative}} {
			add("a list of "+claim.name, "EventBus:sendBatch", thrift.LIST, 2, slices.Concat(list, claim.size))
			add("a string of "+claim.name, "getTopic", thrift.STRING, 1, slices.Concat(strs, claim.size))
			for _, of := range []thrift.TType{thrift.LIST, thrift.SET} {
				add("an unknown collection of "+claim.name, "nonesuch", of, 1, slices.Concat(list, claim.size))
			}
			add("an unknown map of "+claim.name, "nonesuch", thrift.MAP, 1, mapOf(claim.size))
			add("an unknown string of "+claim.name, "nonesuch", thrift.STRING, 1, claim.size)
		}
		for _, method := range []string{"nonesuch", "Nonesuch:nonesuch", "getTopic"} {
			add("a million nested structs to "+method, method, thrift.STRUCT, 9, nested)
			add("a million nested lists to "+method, method, thrift.LIST, 9, lists)
			add("a type that does not exist to "+method, method, thrift.STRUCT, 9, badType)
		}
		all = append(all, fault{name: k.name + ": a name of a megabyte", bytes: message(k, string(bytes.Repeat([]byte("n"), 1<<20)), thrift.STRUCT, 1, []byte{0, 0})})
	}
	return all
}

// Every fault at once and each on its own connection, several times: the
// server closes them, serves others meanwhile, and takes no memory to speak of.
func TestServer_Faults(t *testing.T) {
	t.Parallel()
	c := startChild(t, 0)
	stillServes(t, c.addr)
	before := c.memory(t, false)
	for range 3 {
		var attack sync.WaitGroup
		for _, f := range faults() {
			attack.Go(func() {
				conn, err := net.Dial("tcp", c.addr)
				if err != nil {
					t.Errorf("%s: %v", f.name, err)
					return
				}
				defer func() { _ = conn.Close() }()
				_, _ = conn.Write(f.bytes) // the server may close before it has taken all
				if !f.open {
					closes(t, conn)
				}
			})
		}
		stillServes(t, c.addr)
		attack.Wait()
		stillServes(t, c.addr)
	}
	require.Less(t, c.memory(t, true)-before, int64(maxGrowth))
}

// What follows a message in its frame would be read as the next one.
func TestServer_TrailingBytes(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	call := kinds()[2].encode(func(ctx context.Context, p thrift.TProtocol) {
		_ = p.WriteMessageBegin(ctx, "ping", thrift.CALL, 1)
		writeNothing(ctx, p)
	})
	c := dial(t, b.addr)
	_, err := c.Write(frame(uint32(len(call)+4), append(slices.Clone(call), 0, 0, 0, 1)...))
	require.NoError(t, err)
	closes(t, c)
	b.logs(t, "4 bytes follow")
}

// A frame that ends before its message does must not go on in the next frame.
func TestServer_ShortFrame(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	call := kinds()[2].encode(func(ctx context.Context, p thrift.TProtocol) {
		_ = p.WriteMessageBegin(ctx, "ping", thrift.CALL, 1)
		writeNothing(ctx, p)
	})
	c := dial(t, b.addr)
	_, err := c.Write(append(frame(uint32(len(call)-1)), call...))
	require.NoError(t, err)
	closes(t, c)
	b.logs(t, "after the end of its frame")
}

func TestServer_WrongPort(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config) { c.HTTP = nil })
	c := dial(t, b.addr)
	_, err := c.Write([]byte("GET /thrift HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"))
	require.NoError(t, err)
	require.Regexp(t, `(?s)^HTTP/1.1 404 .*This port speaks Thrift`, string(closes(t, c)))

	c = dial(t, b.addr)
	_, err = c.Write([]byte{0x16, 3, 1, 2, 0, 1})
	require.NoError(t, err)
	require.Empty(t, closes(t, c))
	b.logs(t, "speaks TLS, and this port does not")
	require.Contains(t, b.log.String(), "level=WARN", "it may be a client of this house")
}

// After arguments that could not be skipped the rest of them must not be taken
// for the next call; and the answer arrives, though more is sent than was read.
func TestServer_Unskippable(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	k := kinds()[2]
	call := k.encode(func(ctx context.Context, p thrift.TProtocol) {
		_ = p.WriteMessageBegin(ctx, "ping", thrift.CALL, 2)
		writeNothing(ctx, p)
	})
	// The 65th level is one too many, and its first field is not read any more.
	deep := bytes.Repeat([]byte{byte(thrift.STRUCT), 0, 1}, 64)
	for _, method := range []string{"nonesuch", "EventBus:nonesuch", "Nonesuch:nonesuch"} {
		c := dial(t, b.addr)
		_, err := c.Write(slices.Concat(message(k, method, thrift.STRUCT, 1, deep[3:]), bytes.Repeat(call, 2000)))
		require.NoError(t, err)
		answers, err := io.ReadAll(c)
		require.NoError(t, err, "a reset may overtake the answer")
		require.NotContains(t, string(answers), "ping", method)
		want := "Unknown function nonesuch"
		if method == "Nonesuch:nonesuch" {
			want = "Depth limit exceeded"
		}
		require.Contains(t, string(answers), want)
	}
}

// Who calls a method of a service without naming the service is told which one.
func TestServer_ServiceIsNotNamed(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	for _, k := range kinds() {
		p := k.over(dial(t, b.addr))
		bus := eventbusv1.NewEventBusClient(thrift.NewTStandardClient(p, p))
		for range 2 {
			_, err := bus.Send(t.Context(), "t", &eventbusv1.Message{Payload: []byte("1")})
			requireException(t, err, thrift.UNKNOWN_METHOD, "send is a method of EventBus, which the call does not name")
		}
		require.NoError(t, adminOver(p).Ping(t.Context()), "the connection goes on")
	}
}

func TestLimits_MaxContainer(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config) { c.Limits.MaxContainer = 100 })
	for _, k := range kinds() {
		send := func(n int) error {
			messages := slices.Repeat([]*eventbusv1.Message{{Payload: []byte("1")}}, n)
			_, err := busOver(k.over(dial(t, b.addr))).SendBatch(t.Context(), "t", messages)
			return err
		}
		require.NoError(t, send(100), k.name)
		requireException(t, send(101), thrift.PROTOCOL_ERROR, "exceeds the limit of 100")
	}
}
