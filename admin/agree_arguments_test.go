package admin_test

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed4933/eventbus/admin"
	"github.com/seed4933/eventbus/eventbus"
)

// arguments draws the arguments of calls, more of those at the edges than others.
type arguments struct{ *rapid.T }

func (a arguments) name(what string, usual ...string) string {
	return rapid.SampledFrom(append(usual, usual[0], usual[0], "missing", "", "a{b}", "\xff", strings.Repeat("x", 256))).Draw(a.T, what)
}

func (a arguments) text() string {
	return rapid.SampledFrom([]string{"", "a", "b", "é", "\x00", "\xff", strings.Repeat("y", 256)}).Draw(a.T, "text")
}

func (a arguments) int() int {
	edges := []int{0, 1, -1, 2, 10, 11, 100, 101, 1000, 1001, math.MaxInt32, math.MaxInt32 + 1, 1<<32 + 1, math.MinInt32 - 1, math.MaxInt, math.MinInt}
	return rapid.OneOf(rapid.SampledFrom(edges), rapid.Int()).Draw(a.T, "int")
}

func (a arguments) duration() time.Duration {
	const year = 365 * 24 * time.Hour
	edges := []time.Duration{0, 1, -1, -2, 500 * time.Microsecond, time.Millisecond, -time.Millisecond, 1500 * time.Microsecond, time.Second + 1,
		time.Hour, year, year + 1, eventbus.MaxDelay, eventbus.MaxDelay + 1, 100 * year, 100*year + 1, math.MaxInt64, math.MinInt64}
	d := rapid.OneOf(rapid.SampledFrom(edges), rapid.Map(rapid.Int64(), func(n int64) time.Duration { return time.Duration(n) }))
	return d.Draw(a.T, "duration")
}

// time is none that clocks of two calls could lie on both sides of.
func (a arguments) time() time.Time {
	return rapid.SampledFrom([]time.Time{
		{}, time.Unix(0, 0), time.Unix(0, -1), time.Unix(0, 1), time.UnixMilli(1), time.UnixMilli(-1), time.Unix(1, 1),
		time.Now().Add(24 * time.Hour), time.Now().AddDate(9, 0, 0), time.Now().AddDate(11, 0, 0), time.Date(1, 1, 1, 0, 0, 0, 1, time.UTC),
		time.Date(-9999, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(99999, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Unix(math.MaxInt64/1000+1, 0), time.Unix(math.MinInt64/1000-1, 0), time.Unix(math.MaxInt64-62135596801, 999_999_999),
	}).Draw(a.T, "time")
}

func (a arguments) bool() bool { return rapid.Bool().Draw(a.T, "bool") }

func (a arguments) state() eventbus.FailureState {
	return rapid.SampledFrom([]eventbus.FailureState{"", "", eventbus.Dead, eventbus.Retrying, "odd"}).Draw(a.T, "state")
}

func (a arguments) count() int {
	return rapid.SampledFrom([]int{0, 1, 1, 2, 1000, 1001, 10_001}).Draw(a.T, "count")
}

// settings sets some of a struct's fields. More than a few would hide what becomes of
// each: one that is wrong is enough for an error.
func (a arguments) settings(of any) {
	fields := reflect.ValueOf(of).Elem()
	for range rapid.IntRange(0, 3).Draw(a.T, "settings") {
		field := fields.Field(rapid.IntRange(0, fields.NumField()-1).Draw(a.T, "setting"))
		if field.Kind() == reflect.Pointer {
			field.Set(reflect.New(field.Type().Elem()))
			field = field.Elem()
		}
		switch v := field.Addr().Interface().(type) {
		case *bool:
			*v = a.bool()
		case *int:
			*v = a.int()
		case *int64:
			*v = int64(a.int())
		case *time.Duration:
			*v = a.duration()
		case *eventbus.Delivery:
			*v = rapid.SampledFrom([]eventbus.Delivery{"", eventbus.AtLeastOnce, eventbus.AtMostOnce, "odd"}).Draw(a.T, "delivery")
		case *eventbus.Wire:
			*v = rapid.SampledFrom([]eventbus.Wire{"", eventbus.WireCloudEvents, eventbus.WireRaw, "odd"}).Draw(a.T, "wire")
		case *[]eventbus.GroupConfig:
			*v = nil
			for i := range a.count() {
				*v = append(*v, eventbus.GroupConfig{Name: fmt.Sprint("g", i)})
			}
		default:
			require.FailNow(a, "it is not known how to draw this", "%T", v)
		}
	}
}

func (a arguments) filter() (f eventbus.FailureFilter) {
	f.State = a.state()
	if rapid.IntRange(0, 3).Draw(a.T, "by id") == 0 {
		for i := range a.count() {
			f.IDs = append(f.IDs, fmt.Sprint(i))
		}
	}
	f.Handler = rapid.SampledFrom([]string{"", "", "h", "other", "no name"}).Draw(a.T, "handler")
	if a.bool() {
		f.Before = a.time()
	}
	f.All = rapid.IntRange(0, 9).Draw(a.T, "all") == 0
	return f
}

func (a arguments) cursor() string {
	return rapid.SampledFrom([]string{"", "", "", "?", "YQ", "MSBh", "1-00", "YWZ0ZXIgYQ"}).Draw(a.T, "cursor")
}

func (a arguments) page() admin.Page { return admin.Page{Limit: a.int(), Cursor: a.cursor()} }

func (a arguments) messages() []eventbus.Message {
	all := make([]eventbus.Message, a.count())
	for i := range all {
		if i > 1 {
			all[i] = all[1]
			continue
		}
		values := []any{
			eventbus.Raw{}, eventbus.Raw{Payload: []byte("{}")}, eventbus.Raw{Payload: []byte{0xff}, ContentType: "text/x"}, eventbus.Raw{ContentType: "\x00"},
			eventbus.Raw{Payload: make([]byte, 1001)}, &eventbus.Raw{}, nil, 1, "text", []byte("bytes"), map[string]int{"a": 1},
			json.RawMessage(`{"a":1}`), json.RawMessage("{"), json.RawMessage(nil), make(chan int), math.Inf(1),
		}
		all[i] = eventbus.Message{ID: a.text(), Value: values[rapid.IntRange(0, len(values)-1).Draw(a.T, "value")]}
		switch rapid.IntRange(0, 4).Draw(a.T, "option") {
		case 0:
			all[i].Delay = a.duration()
		case 1:
			all[i].DueAt = a.time()
		case 2:
			all[i].Delay, all[i].DueAt = a.duration(), a.time()
		case 3:
			all[i].Headers = map[string]string{rapid.SampledFrom([]string{"a", "", "A", "id", "\xff"}).Draw(a.T, "header"): a.text()}
		}
	}
	return all
}
