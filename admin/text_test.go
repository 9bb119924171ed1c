package admin

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
	thriftbus "github.com/seed4933/eventbus/gen-go/eventbusv1"
)

// Every text of an exception is bounded, and can be read in every language.
func TestTextsOfExceptionsAreBounded(t *testing.T) {
	t.Parallel()
	for _, filler := range []string{"a", "\x01", "\xff", "é\xff", "訂"} {
		long := strings.Repeat(filler, 1<<20)
		for _, c := range codes {
			bounded(t, toException("send", errors.Join(c.err, errors.New(long))))
		}
		bounded(t, toException("send", errors.New(long)))
		bounded(t, toException("send", &eventbus.ArgumentError{Field: long, Value: long, Reason: long}))
	}
	require.Equal(t, "é?", toException("send", errors.New("é\xff")).Error())
	require.Equal(t, strings.Repeat("訂", 1365)+"… 4098 bytes", toException("send", errors.New(strings.Repeat("訂", 1366))).Error())
}

// Who is told that a server is busy does not look for Redis.
func TestBusyIsNoOutageOfRedis(t *testing.T) {
	t.Parallel()
	exception, ok := toException("listTopics", fmt.Errorf("%w: no room", ErrBusy)).(*thriftbus.Unavailable)
	require.True(t, ok)
	require.Equal(t, "the server is busy: no room", exception.Message)
	meant, _ := fromException(exception)
	require.ErrorIs(t, meant, ErrBusy)
	require.ErrorIs(t, meant, eventbus.ErrUnavailable)
}

func bounded(t *testing.T, err error) {
	t.Helper()
	texts := []string{}
	if e, ok := err.(thrift.TStruct); ok {
		b := thrift.NewTMemoryBuffer()
		require.NoError(t, e.Write(t.Context(), thrift.NewTBinaryProtocolConf(b, nil)))
		require.Less(t, b.Len(), 4*(maxText+100))
		require.Contains(t, err.Error(), "Message")
	} else {
		require.Less(t, len(err.Error()), maxText+100)
	}
	if e := new(thriftbus.InvalidArgument); errors.As(err, &e) {
		texts = append(texts, e.Message, e.Reason, e.Field)
	}
	for _, text := range texts {
		require.LessOrEqual(t, len(text), maxText+100)
		require.True(t, utf8.ValidString(text))
	}
}

// An argument in the log shows what was set first, and how much there was.
func TestArgumentsInTheLogAreShort(t *testing.T) {
	t.Parallel()
	show := func(argument any) string { return text(argument).LogValue().String() }
	limit := int64(5)
	require.Equal(t, `{"max_waiting":5,"groups":[{"name":"g","queue_key":""}]}`,
		show(&thriftbus.TopicSettings{MaxWaiting: &limit, Groups: []*thriftbus.Group{{Name: "g"}}}))
	require.Equal(t, "null", show((*thriftbus.TopicSettings)(nil)))
	for _, filler := range []string{"a", "\x01", "\xff", "訂"} {
		long := strings.Repeat(filler, 1<<20)
		many := &thriftbus.FailureSelection{Topic: "orders"}
		for range 10_000 {
			many.Ids = append(many.Ids, "id")
		}
		for _, argument := range []any{&thriftbus.Group{Name: "g", QueueKey: long}, &thriftbus.FailureSelection{Topic: "orders", Handler: &long}, many} {
			got := show(argument)
			require.Regexp(t, `^\{.*"(orders|g)".*… \d+ bytes of text$`, got)
			require.Less(t, len(got), maxLogged+100)
			require.True(t, utf8.ValidString(got), "%q", got)
		}
	}
}
