package port

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"net"
	"strings"
	"testing"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/gen-go/eventbusv1"
)

// Each way to speak Thrift: plain and multiplexed calls, declared and other
// errors, an unknown method and an unknown service, all on one connection.
func TestServer_Kinds(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			p := k.over(dial(t, b.addr))
			admin := adminOver(p)
			goodCall := func() {
				got, err := admin.GetTopic(t.Context(), "orders")
				require.NoError(t, err)
				require.Equal(t, "orders", got.Name)
			}
			goodCall()

			for _, size := range []int{0, 1, 1000, chunk - 1, chunk, chunk + 1, 9*chunk + 7, 3 << 20} {
				payload := make([]byte, size)
				for i := range payload {
					payload[i] = byte(i * i >> 7)
				}
				id, err := busOver(p).Send(t.Context(), "orders", &eventbusv1.Message{Payload: payload})
				require.NoError(t, err)
				require.Equal(t, fmt.Sprintf("orders %d %08x", size, crc32.ChecksumIEEE(payload)), id)
			}

			_, err := admin.GetTopic(t.Context(), "missing")
			require.ErrorAs(t, err, new(*eventbusv1.NotFound))
			_, err = admin.GetTopic(t.Context(), "fail")
			requireException(t, err, thrift.INTERNAL_ERROR, "as asked")

			_, err = thrift.NewTStandardClient(p, p).Call(t.Context(), "nonesuch", batchArgs(), &eventbusv1.EventBusSendBatchResult{})
			requireException(t, err, thrift.UNKNOWN_METHOD, "nonesuch")
			goodCall()

			m := thrift.NewTMultiplexedProtocol(p, "Nonesuch")
			_, err = thrift.NewTStandardClient(m, m).Call(t.Context(), "send", batchArgs(), &eventbusv1.EventBusSendBatchResult{})
			requireException(t, err, thrift.UNKNOWN_METHOD, "EventAdmin, EventBus")
			goodCall()

			big, err := admin.GetTopic(t.Context(), "size 5000000")
			require.NoError(t, err)
			require.Len(t, big.Name, 5_000_000)
			_, err = admin.GetTopic(t.Context(), "size 17000000")
			requireException(t, err, thrift.INTERNAL_ERROR, "bytes; ask for less")
			goodCall()
		})
	}
}

func batchArgs() thrift.TStruct {
	text := "text"
	message := &eventbusv1.Message{Payload: []byte("{}"), ID: &text, Headers: map[string]string{"a": "b"}}
	return &eventbusv1.EventBusSendBatchArgs{Topic: "t", Messages: []*eventbusv1.Message{message, message}}
}

func requireException(t *testing.T, err error, kind int32, says string) {
	t.Helper()
	var e thrift.TApplicationException
	require.True(t, errors.As(err, &e), "%v", err)
	require.Equal(t, kind, e.TypeId(), "%v", err)
	require.Contains(t, err.Error(), says)
}

// A client may change from one kind to another between its calls, and the
// headers of one call are not those of the next.
func TestServer_KindsOnOneConnection(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	c := dial(t, b.addr)
	for _, k := range append(kinds(), kinds()...) {
		ctx := thrift.SetWriteHeaderList(thrift.SetHeader(t.Context(), "authorization", "Bearer x"), []string{"authorization"})
		got, err := adminOver(k.over(c)).GetTopic(ctx, "client")
		require.NoError(t, err, k.name)
		want := "true   "
		if strings.HasPrefix(k.name, "THeader") {
			want = "true  Bearer x Bearer x"
		}
		require.Equal(t, want, got.Name, k.name)
	}
}

func TestServer_Transform(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	p := thrift.NewTHeaderProtocolConf(thrift.NewTSocketFromConnConf(dial(t, b.addr), nil),
		&thrift.TConfiguration{THeaderTransforms: []thrift.THeaderTransformID{thrift.TransformZlib}})
	require.NoError(t, p.WriteMessageBegin(t.Context(), "ping", thrift.CALL, 7))
	require.NoError(t, p.WriteStructBegin(t.Context(), ""))
	require.NoError(t, p.WriteFieldStop(t.Context()))
	require.NoError(t, p.WriteStructEnd(t.Context()))
	require.NoError(t, p.WriteMessageEnd(t.Context()))
	_, kind, seq, err := p.ReadMessageBegin(t.Context())
	require.NoError(t, err)
	require.Equal(t, thrift.EXCEPTION, kind)
	require.EqualValues(t, 7, seq)
	e := thrift.NewTApplicationException(0, "")
	require.NoError(t, e.Read(t.Context(), p))
	require.EqualValues(t, thrift.INVALID_TRANSFORM, e.TypeId())
	require.Contains(t, e.Error(), "without")
	stillServes(t, b.addr)
}

// An answer to a call that wants none would be taken for the next one's.
func TestServer_Oneway(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	for _, k := range kinds() {
		p := k.over(dial(t, b.addr))
		for _, method := range []string{"ping", "nonesuch"} {
			require.NoError(t, p.WriteMessageBegin(t.Context(), method, thrift.ONEWAY, 1))
			writeNothing(t.Context(), p)
		}
		_, err := adminOver(p).GetTopic(t.Context(), "orders")
		require.NoError(t, err, k.name)
	}
}

// writeNothing writes empty arguments and ends the message.
func writeNothing(ctx context.Context, p thrift.TProtocol) {
	_ = p.WriteStructBegin(ctx, "") // what is lost is missed by the server
	_ = p.WriteFieldStop(ctx)
	_ = p.WriteStructEnd(ctx)
	_ = p.WriteMessageEnd(ctx)
	_ = p.Flush(ctx)
}

func TestServer_Panic(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	for _, k := range kinds() {
		_, err := adminOver(k.over(dial(t, b.addr))).GetTopic(t.Context(), "panic")
		requireException(t, err, thrift.INTERNAL_ERROR, "its log says why")
		m := thrift.NewTMultiplexedProtocol(k.over(dial(t, b.addr)), "EventAdmin")
		_, err = adminOver(m).GetTopic(t.Context(), "panic")
		requireException(t, err, thrift.INTERNAL_ERROR, "its log says why")
	}
	require.Contains(t, b.log.String(), "level=ERROR")
	require.Contains(t, b.log.String(), "fakeAdmin")
	stillServes(t, b.addr)
}

// The greatest answer fits what clients take, in a frame with what THeader puts
// before it; one byte more is an error, and not a longer frame.
func TestServer_GreatestAnswer(t *testing.T) {
	t.Parallel()
	require.Equal(t, 16_384_000, DefaultMaxMessage, "the default of Java's frames")
	const limit = 100_000
	b := setup(t, func(c *Config) { c.Limits.MaxMessage = limit })
	conf := &thrift.TConfiguration{MaxFrameSize: limit}
	for name, protocol := range map[string]func(c net.Conn) thrift.TProtocol{
		"framed": func(c net.Conn) thrift.TProtocol {
			return thrift.NewTBinaryProtocolConf(thrift.NewTFramedTransportConf(thrift.NewTSocketFromConnConf(c, nil), conf), conf)
		},
		"THeader": func(c net.Conn) thrift.TProtocol {
			return thrift.NewTHeaderProtocolConf(thrift.NewTSocketFromConnConf(c, nil), conf)
		},
	} {
		admin := adminOver(protocol(dial(t, b.addr)))
		answered := false
		for size := limit; !answered; size-- { // what stands around the name is different in each
			require.Greater(t, size, limit-300, name)
			got, err := admin.GetTopic(t.Context(), fmt.Sprintf("size %d", size))
			if answered = err == nil; answered {
				require.Len(t, got.Name, size)
			} else {
				requireException(t, err, thrift.INTERNAL_ERROR, "ask for less")
			}
		}
	}
}
