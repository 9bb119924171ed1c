package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"time"

	"github.com/seed4933/eventbus/admin/internal/port"
	thriftbus "github.com/seed4933/eventbus/gen-go/eventbusv1"
)

// face is the Thrift side of an API: it translates, asks who calls, and keeps the
// log of who changed what. EventAdmin and EventBus are two of it.
type face struct {
	api     API
	token   string
	log     *slog.Logger
	refused port.Seldom
	failed  port.Seldom
}

// quietly carries out a call that changes nothing, or sends events, of which there
// may be thousands a second.
func quietly[T any](ctx context.Context, f *face, op string, do func(ctx context.Context) (T, error)) (T, error) {
	return call(ctx, f, slog.LevelDebug, op, do)
}

// changes carries out a call that changes something; what says which thing, in
// pairs of names and values.
func changes[T any](ctx context.Context, f *face, op string, do func(ctx context.Context) (T, error), what ...any) (T, error) {
	return call(ctx, f, slog.LevelInfo, op, do, what...)
}

func call[T any](ctx context.Context, f *face, level slog.Level, op string, do func(ctx context.Context) (T, error), what ...any) (T, error) {
	who, _ := port.ClientFrom(ctx)
	if err := authenticate(who, f.token); err != nil {
		f.refused.Log(f.log, slog.LevelDebug, "admin call refused", "call", op, "by", callerName(who), "err", err)
		var none T
		return none, toException(op, err)
	}
	began := time.Now()
	v, err := do(ctx)
	exception := toException(op, err)
	fails := err != nil && isOurs(exception)
	if fails || f.log.Enabled(ctx, level) {
		args := append([]any{"call", op, "by", callerName(who), "took", time.Since(began).Round(time.Microsecond)}, what...)
		if err != nil {
			args = append(args, "err", err.Error())
		}
		for i, arg := range args {
			if s, ok := arg.(string); ok {
				args[i] = clip(s, maxLogged)
			}
		}
		if fails {
			f.failed.Log(f.log, level, "admin call failed", args...)
		} else {
			f.log.Log(ctx, level, "admin call", args...)
		}
	}
	return v, exception
}

// nothing is what a call returns that returns nothing.
type nothing struct{}

// done turns what returns only an error into what a call does.
func done(do func(ctx context.Context) error) func(ctx context.Context) (nothing, error) {
	return func(ctx context.Context) (nothing, error) { return nothing{}, do(ctx) }
}

// maxLogged is how many bytes of each value a line of the log has.
const maxLogged = 1 << 10

// text is an argument as the log shows it: what is set in it, as JSON. It is written
// only where a line is.
func text(argument any) slog.LogValuer { return logged{argument} }

type logged struct{ argument any }

func (l logged) LogValue() slog.Value {
	left := maxLogged
	b, err := json.Marshal(shortened(reflect.ValueOf(l.argument), &left).Interface())
	switch {
	case err != nil:
		return slog.AnyValue(err)
	case left < 0:
		return slog.StringValue(fmt.Sprintf("%s… %d bytes of text", b[:min(len(b), maxLogged)], maxLogged-left))
	}
	return slog.StringValue(clip(string(b), maxLogged))
}

// shortened returns a copy of what is left of a value when no text of it counts beyond
// as many bytes as are left; after that, those that were missing are below 0. An
// element of a list counts as a byte at least. As JSON the whole could be six times as
// long as the message in which it came.
func shortened(v reflect.Value, left *int) reflect.Value {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return v
		}
		short := reflect.New(v.Type().Elem())
		short.Elem().Set(shortened(v.Elem(), left))
		return short
	case reflect.Struct:
		short := reflect.New(v.Type()).Elem()
		for i := range v.NumField() {
			short.Field(i).Set(shortened(v.Field(i), left))
		}
		return short
	case reflect.Slice:
		short := reflect.Zero(v.Type())
		for i := range v.Len() {
			keep := *left > 0
			*left--
			if element := shortened(v.Index(i), left); keep {
				short = reflect.Append(short, element)
			}
		}
		return short
	case reflect.String:
		text := v.String()
		kept := text[:max(min(len(text), *left), 0)]
		*left -= len(text)
		return reflect.ValueOf(kept).Convert(v.Type())
	}
	return v
}

// topicAfter reads a topic as a change has left it.
func (f *face) topicAfter(ctx context.Context, topic string, change error) (*thriftbus.Topic, error) {
	if change != nil {
		return nil, change
	}
	t, err := f.api.GetTopic(ctx, topic)
	if err != nil {
		return nil, fmt.Errorf("it is done; reading the topic again: %w", err)
	}
	return toTopic(t), nil
}
