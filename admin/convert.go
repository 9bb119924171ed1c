package admin

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/seed4933/eventbus/eventbus"
	thriftbus "github.com/seed4933/eventbus/gen-go/eventbusv1"
)

// What stands here and in the other convert files turns what the IDL describes
// into what the bus knows, and back. toX makes the IDL's, fromX the bus's; only
// what arrives can be wrong.

func timeOf(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// noLimit stands in some settings for a limit that does not hold.
const noLimit = -1

// toMillis is a duration on the wire. What is below 0 and not noLimit stays so: the bus
// refuses it.
func toMillis(d time.Duration) int64 {
	switch {
	case d == noLimit:
		return noLimit
	case d < 0:
		return min(d.Milliseconds(), noLimit-1)
	}
	return roundUp(d)
}

// maxMillis is how many milliseconds a duration can have.
const maxMillis = math.MaxInt64 / int64(time.Millisecond)

// roundUp is a duration of 0 and more in whole milliseconds, as the bus rounds it.
func roundUp(d time.Duration) int64 {
	ms := d.Milliseconds()
	if d > time.Duration(ms)*time.Millisecond && ms < maxMillis {
		ms++
	}
	return ms
}

func fromMillis(field string, ms int64) (time.Duration, error) {
	if ms == noLimit {
		return noLimit, nil
	}
	if ms > maxMillis || ms < -maxMillis {
		return 0, &eventbus.ArgumentError{Field: field, Value: fmt.Sprint(ms), Reason: "it is more milliseconds than a duration can have"}
	}
	return time.Duration(ms) * time.Millisecond, nil
}

// optional applies f to what is set.
func optional[A, B any](v *A, f func(A) B) *B {
	if v == nil {
		return nil
	}
	b := f(*v)
	return &b
}

// deref is what is set, or the zero value.
func deref[T any](v *T) (t T) {
	if v != nil {
		t = *v
	}
	return t
}

// filled is what an argument has that was not sent at all: nothing is set in it.
func filled[T any](v *T) *T {
	if v == nil {
		return new(T)
	}
	return v
}

// each converts a list; an empty one is nil, as the bus has it.
func each[A, B any](list []A, f func(A) B) []B {
	if len(list) == 0 {
		return nil
	}
	out := make([]B, len(list))
	for i, v := range list {
		out[i] = f(v)
	}
	return out
}

// nilIfEmpty is a list as the bus has it: nil when it is empty.
func nilIfEmpty[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}

// emptyIfNil is a list as the generated code must have it: it takes nil for no answer.
func emptyIfNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// names are the values of an enum of the IDL and what the bus calls them.
type names[E ~int64, T ~string] map[E]T

var (
	deliveries = names[thriftbus.Delivery, eventbus.Delivery]{
		thriftbus.Delivery_AT_LEAST_ONCE: eventbus.AtLeastOnce, thriftbus.Delivery_AT_MOST_ONCE: eventbus.AtMostOnce,
	}
	wires = names[thriftbus.Wire, eventbus.Wire]{
		thriftbus.Wire_CLOUDEVENTS: eventbus.WireCloudEvents, thriftbus.Wire_RAW: eventbus.WireRaw,
	}
	failureStates = names[thriftbus.FailureState, eventbus.FailureState]{
		thriftbus.FailureState_RETRYING: eventbus.Retrying, thriftbus.FailureState_DEAD: eventbus.Dead,
	}
	jobKinds = names[thriftbus.JobKind, JobKind]{
		thriftbus.JobKind_REPLAY: JobReplay, thriftbus.JobKind_DISCARD: JobDiscard,
	}
	jobStates = names[thriftbus.JobState, JobState]{
		thriftbus.JobState_RUNNING: JobRunning, thriftbus.JobState_DONE: JobDone, thriftbus.JobState_CANCELLED: JobCancelled,
		thriftbus.JobState_FAILED: JobFailed, thriftbus.JobState_INTERRUPTED: JobInterrupted,
	}
)

// to returns the value that has the name; 0, which no enum has, for another.
func (n names[E, T]) to(name T) E {
	for value, has := range n {
		if has == name {
			return value
		}
	}
	return 0
}

// known returns nil for a name that can be sent, and for none, and else what the bus
// says of it.
func (n names[E, T]) known(field string, name T) error {
	if name == "" || n.to(name) != 0 {
		return nil
	}
	right := slices.Sorted(maps.Values(n))
	return &eventbus.ArgumentError{Field: field, Value: fmt.Sprintf("%.80q", name), Reason: fmt.Sprintf("%q or %q is right", right[0], right[1])}
}

// from returns the name of a value, and an error for one that the IDL lacks.
func (n names[E, T]) from(field string, value E) (T, error) {
	name, ok := n[value]
	if !ok {
		return "", &eventbus.ArgumentError{Field: field, Value: fmt.Sprint(int64(value)), Reason: "the IDL has no such value; right are " + n.all()}
	}
	return name, nil
}

// all lists the values, as "1 (replay), 2 (discard)".
func (n names[E, T]) all() string {
	var all []string
	for _, value := range slices.Sorted(maps.Keys(n)) {
		all = append(all, fmt.Sprintf("%d (%s)", int64(value), n[value]))
	}
	return strings.Join(all, ", ")
}

// fromOptional is from for a value that need not be set: nil then.
func (n names[E, T]) fromOptional(field string, value *E) (*T, error) {
	if value == nil {
		return nil, nil
	}
	name, err := n.from(field, *value)
	return &name, err
}

// fromOptionalMillis is fromMillis for a duration that need not be set: nil then.
func fromOptionalMillis(field string, ms *int64) (*time.Duration, error) {
	if ms == nil {
		return nil, nil
	}
	d, err := fromMillis(field, *ms)
	return &d, err
}
