package admin

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
	thriftbus "github.com/seed4933/eventbus/gen-go/eventbusv1"
	"github.com/seed4933/eventbus/internal/idl"
)

// fill sets every field of v to something that is not its zero value, and not the
// same as another's.
func fill(v reflect.Value, n *int) {
	*n++
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.UnixMilli(int64(1_800_000_000_000 + *n)).UTC()))
		return
	case time.Duration:
		v.SetInt(int64(*n) * int64(time.Millisecond))
		return
	case eventbus.Delivery:
		v.SetString(string(eventbus.AtMostOnce))
		return
	case eventbus.Wire:
		v.SetString(string(eventbus.WireRaw))
		return
	case eventbus.FailureState:
		v.SetString(string(eventbus.Retrying))
		return
	case JobKind:
		v.SetString(string(JobDiscard))
		return
	case JobState:
		v.SetString(string(JobInterrupted))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprint("text", *n))
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte{0, byte(*n), 0xff})
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range 2 {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(key, n)
			fill(value, n)
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case reflect.Func: // Progress, which does not travel
	case reflect.Interface:
		v.Set(reflect.ValueOf(eventbus.Raw{Payload: []byte{0, 1, 0xff}, ContentType: "text/x"}))
	default:
		panic(v.Type().String())
	}
}

// whole checks that all of a value arrives, and so does one with nothing in it.
func whole[A, B any](t *testing.T, to func(A) B, from func(B) (A, error), not ...string) {
	t.Helper()
	var empty, full A
	n := 0
	fill(reflect.ValueOf(&full).Elem(), &n)
	for _, name := range not {
		reflect.ValueOf(&full).Elem().FieldByName(name).SetZero()
	}
	for _, v := range []A{empty, full} {
		got, err := from(to(v))
		require.NoError(t, err)
		require.Equal(t, v, got)
	}
}

func sure[A, B any](from func(B) A) func(B) (A, error) {
	return func(b B) (A, error) { return from(b), nil }
}

// A field that is added to the bus's types and forgotten here fails this test.
func TestEveryFieldArrives(t *testing.T) {
	t.Parallel()
	whole(t, toPage, sure(fromPage))
	whole(t, toGroup, sure(fromGroup))
	whole(t, toTopicUpdate, fromTopicUpdate)
	whole(t, toHandlerSettings, sure(fromHandlerSettings))
	whole(t, toHandlerUpdate, fromHandlerUpdate)
	whole(t, toHandler, sure(fromHandler))
	whole(t, idl.Event, sure(fromEvent))
	whole(t, toFailure, sure(fromFailure))
	whole(t, toJob, sure(fromJob))
	whole(t, toStats, sure(fromStats))
	whole(t, func(q eventbus.FailureQuery) *thriftbus.FailureQuery { return toFailureQuery("t", "g", q) }, fromFailureQuery)
	selection := func(f eventbus.FailureFilter) *thriftbus.FailureSelection { return toSelection("t", "g", f) }
	whole(t, selection, fromSelection, "IDs") // which go with nothing else
	got, err := fromSelection(selection(eventbus.FailureFilter{IDs: []string{"a", "b"}}))
	require.NoError(t, err)
	require.Equal(t, eventbus.FailureFilter{IDs: []string{"a", "b"}}, got)

	for _, zero := range []bool{true, false} {
		var topic eventbus.Topic
		var consumer eventbus.Consumer
		var settings eventbus.TopicConfig
		n := 0
		if !zero {
			fill(reflect.ValueOf(&topic).Elem(), &n)
			fill(reflect.ValueOf(&consumer).Elem(), &n)
			fill(reflect.ValueOf(&settings).Elem(), &n)
		}
		topic.Delivery, topic.Wire = eventbus.AtMostOnce, eventbus.WireRaw
		require.Equal(t, topic, fromTopic(toTopic(topic)))
		if zero {
			consumer.Handlers = map[string][]eventbus.RunningHandler{}
		}
		require.Equal(t, consumer, fromConsumer(toConsumer(consumer)))
		sent, err := fromSettings(toSettings(settings))
		require.NoError(t, err)
		require.Equal(t, settings, sent)
	}

	for _, not := range []string{"Delay", "DueAt"} {
		var m eventbus.Message
		n := 0
		fill(reflect.ValueOf(&m).Elem(), &n)
		reflect.ValueOf(&m).Elem().FieldByName(not).SetZero()
		sent, err := toMessage(m)
		require.NoError(t, err)
		got, err := fromMessage(sent)
		require.NoError(t, err)
		require.Equal(t, m, got)
	}
}

// What is no limit stays so, and nothing is due earlier than was said.
func TestEdgesOfDurations(t *testing.T) {
	t.Parallel()
	const most = math.MaxInt64 / int64(time.Millisecond)
	for age, want := range map[time.Duration]time.Duration{
		-1: -1, 0: 0, 1: time.Millisecond, 500 * time.Microsecond: time.Millisecond, time.Millisecond: time.Millisecond,
		math.MaxInt64: time.Duration(most) * time.Millisecond,
		// What is refused arrives as something that is refused.
		-2: -2 * time.Millisecond, -time.Millisecond: -2 * time.Millisecond, -time.Hour: -time.Hour,
		math.MinInt64: time.Duration(-most) * time.Millisecond,
	} {
		u, err := fromTopicUpdate(toTopicUpdate(eventbus.TopicUpdate{DeadAge: &age}))
		require.NoError(t, err)
		require.Equal(t, want, *u.DeadAge, age)
	}

	for delay, ms := range map[time.Duration]int64{
		1: 1, time.Millisecond: 1, time.Millisecond + 1: 2, math.MaxInt64: most, math.MaxInt64 - time.Millisecond: most,
	} {
		m, err := toMessage(eventbus.Message{Value: eventbus.Raw{}, Delay: delay})
		require.NoError(t, err)
		require.Equal(t, ms, m.GetDelayMs(), delay)
	}
	for _, delay := range []time.Duration{-1, -time.Millisecond, math.MinInt64} {
		m, err := toMessage(eventbus.Message{Value: eventbus.Raw{Payload: []byte{}}, Delay: delay})
		require.NoError(t, err)
		got, err := fromMessage(m)
		require.NoError(t, err)
		require.Negative(t, got.Delay, delay) // which is at once, too
	}
	due := time.Date(2030, 1, 1, 0, 0, 0, 1, time.UTC)
	for due, ms := range map[time.Time]int64{
		due: due.UnixMilli() + 1,
		// Times that no milliseconds can tell stay far off.
		time.Unix(math.MaxInt64-62135596801, 999_999_999): math.MaxInt64,
		time.Unix(math.MaxInt64/1000+1, 0):                math.MaxInt64,
		time.Unix(math.MinInt64/1000-1, 0):                math.MinInt64,
	} {
		m, err := toMessage(eventbus.Message{Value: eventbus.Raw{}, DueAt: due})
		require.NoError(t, err)
		require.Equal(t, ms, m.GetDueAtMs())
	}
}

// A number that is too large for the wire does not become a small one.
func TestNumbersAreNotCutOff(t *testing.T) {
	t.Parallel()
	huge := 1<<32 + 1
	require.EqualValues(t, math.MaxInt32, toPage(Page{Limit: huge}).GetLimit())
	require.EqualValues(t, math.MaxInt32, toSettings(eventbus.TopicConfig{Concurrency: huge}).GetConcurrency())
	require.EqualValues(t, math.MaxInt32, toTopicUpdate(eventbus.TopicUpdate{Concurrency: &huge}).GetConcurrency())
	require.EqualValues(t, math.MaxInt32, toHandlerUpdate(eventbus.HandlerUpdate{MaxAttempts: &huge}).GetMaxAttempts())
	require.EqualValues(t, math.MaxInt32, toHandlerSettings(eventbus.HandlerSettings{Concurrency: huge}).Concurrency)
	require.EqualValues(t, math.MinInt32, toPage(Page{Limit: -huge}).GetLimit())
}

// What the IDL lacks, and what no duration can hold, is refused (nothing of it is
// taken for something else).
func TestWrongValuesAreRefused(t *testing.T) {
	t.Parallel()
	huge := int64(1) << 62
	two := []*thriftbus.Message{{Payload: []byte{}}, {Payload: []byte{}, DelayMs: &huge}}
	for field, err := range map[string]error{
		"delivery":         problem(fromSettings(&thriftbus.TopicSettings{Delivery: new(thriftbus.Delivery(3))})),
		"wire":             problem(fromSettings(&thriftbus.TopicSettings{Wire: new(thriftbus.Wire(0))})),
		"dead_age_ms":      problem(fromSettings(&thriftbus.TopicSettings{DeadAgeMs: &huge})),
		"timeout_ms":       problem(fromHandlerUpdate(&thriftbus.HandlerUpdate{TimeoutMs: &huge})),
		"retry_initial_ms": problem(fromHandlerUpdate(&thriftbus.HandlerUpdate{RetryInitialMs: &huge})),
		"retry_max_ms":     problem(fromHandlerUpdate(&thriftbus.HandlerUpdate{RetryMaxMs: new(-huge)})),
		"breaker_open_ms":  problem(fromHandlerUpdate(&thriftbus.HandlerUpdate{BreakerOpenMs: &huge})),
		"state":            problem(fromSelection(&thriftbus.FailureSelection{State: new(thriftbus.FailureState(-1))})),
		"delay_ms":         problem(fromMessages(two)),
		"value":            problem(toMessage(eventbus.Message{Value: &eventbus.Raw{}})),
	} {
		var argument *eventbus.ArgumentError
		require.ErrorAs(t, err, &argument, field)
		require.Equal(t, field, argument.Field)
	}
	for _, ms := range []int64{-huge, time.Time{}.UnixMilli(), 0} {
		f, err := fromSelection(&thriftbus.FailureSelection{BeforeMs: &ms, Handler: new("h")})
		require.NoError(t, err)
		require.ErrorIs(t, f.Validate(), eventbus.ErrInvalidArgument, ms)
	}
	_, err := fromFailureQuery(&thriftbus.FailureQuery{State: new(thriftbus.FailureState(9))})
	require.ErrorContains(t, err, "right are 1 (retry), 2 (dead)")
	require.ErrorContains(t, problem(fromMessages(two)), "event 2 of 2")
}

func problem[T any](_ T, err error) error { return err }

// Arguments that were not sent at all are empty ones.
func TestMissingStructs(t *testing.T) {
	t.Parallel()
	require.Zero(t, fromPage(nil))
	require.Zero(t, fromGroup(nil))
	for _, err := range []error{problem(fromSettings(nil)), problem(fromTopicUpdate(nil)), problem(fromHandlerUpdate(nil))} {
		require.NoError(t, err)
	}
	// An event without a payload is somebody's mistake.
	for _, m := range []*thriftbus.Message{nil, {}} {
		var argument *eventbus.ArgumentError
		require.ErrorAs(t, problem(fromMessage(m)), &argument)
		require.Equal(t, "payload", argument.Field)
	}
	require.NoError(t, problem(fromMessage(&thriftbus.Message{Payload: []byte{}})))
}

func TestErrorsKeepWhatTheyAre(t *testing.T) {
	t.Parallel()
	for _, c := range codes {
		err := fmt.Errorf("do something to %q: %w", "x", c.err)
		got, ok := fromException(toException("updateTopic", err))
		require.True(t, ok, c.code)
		require.Equal(t, err.Error(), got.Error())
		if c.code != "unavailable" { // which stands for the ends of contexts as well
			require.ErrorIs(t, got, c.err)
		}
	}
	// An exception whose code is new has the meaning of its kind.
	got0, _ := fromException(&thriftbus.Unavailable{Message: "x", Code: "of the future"})
	require.ErrorIs(t, got0, eventbus.ErrUnavailable)
	// Of several wrong arguments none is named alone.
	several, _ := toException("updateTopic", errors.Join(&eventbus.ArgumentError{Field: "Wire", Reason: "a"}, &eventbus.ArgumentError{Field: "Delivery", Reason: "b"})).(*thriftbus.InvalidArgument)
	require.Empty(t, several.Field)
	require.Equal(t, "invalid wire: a\ninvalid delivery: b", several.Reason)
	argument := &eventbus.ArgumentError{Field: "limit", Value: "1", Reason: "2 is right"}
	got, _ := fromException(toException("updateTopic", fmt.Errorf("do: %w", argument)))
	var sent *eventbus.ArgumentError
	require.ErrorAs(t, got, &sent)
	require.Equal(t, argument, sent)
	require.Equal(t, `do: invalid limit 1: 2 is right`, got.Error())
	require.NoError(t, toException("updateTopic", nil))
}
