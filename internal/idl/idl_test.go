package idl_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed4933/eventbus/eventbus"
	thriftbus "github.com/seed4933/eventbus/gen-go/eventbusv1"
	"github.com/seed4933/eventbus/internal/idl"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEvent(t *testing.T) {
	t.Parallel()
	require.Nil(t, idl.Event(nil))
	require.Equal(t, &thriftbus.Event{}, idl.Event(&eventbus.Event{}))
	e := &eventbus.Event{Payload: []byte("1"), Time: time.Unix(2, 0), Attempt: math.MaxInt}
	wire := idl.Event(e)
	require.Equal(t, &thriftbus.Event{Payload: []byte("1"), TimeMs: 2000, Attempt: math.MaxInt32}, wire)
	require.Same(t, &e.Payload[0], &wire.Payload[0], "a payload may have hundreds of megabytes")
}

// What the wire cannot carry is the nearest that it can.
func TestNearest(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]int32{0: 0, -1: -1, math.MaxInt32 + 1: math.MaxInt32, math.MinInt: math.MinInt32} {
		require.Equal(t, want, idl.Int32(n))
	}
	for at, want := range map[time.Time]int64{
		{}: 0, time.UnixMilli(-1): -1, time.Unix(math.MaxInt64/1000+1, 0): math.MaxInt64, time.Unix(math.MinInt64/1000-1, 0): math.MinInt64,
	} {
		require.Equal(t, want, idl.Millis(at), at)
	}
	require.EqualValues(t, -62135596800000, idl.UnixMilli(time.Time{}))
}
