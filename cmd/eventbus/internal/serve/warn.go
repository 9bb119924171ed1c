package serve

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed4933/eventbus/cmd/eventbus/internal/settings"
	"github.com/seed4933/eventbus/eventbus"
)

// What was set at run time goes before the file, and stays so when the file is
// edited. Who edits it must be told, or would think that the file holds.

// warn tells what of a topic and of its handlers stands in Redis otherwise than
// in the file, each with the command that takes it back. It comes after apply: of
// a topic only what the file leaves out can differ then, and its switch.
func (t *topics) warn(ctx context.Context, want *settings.Topic) error {
	has, err := t.bus.Topics().Get(ctx, want.Name)
	if err != nil {
		return err
	}
	if has.Disabled {
		t.log.Warn("topic is disabled: nothing of it is handed out", "topic", want.Name, "enable", t.command("topic enable", want.Name))
	}
	t.warnOfTopic(want, has)
	if len(want.Handlers) == 0 {
		return nil
	}
	all, err := t.bus.Handlers().List(ctx, want.Name)
	if err != nil {
		return err
	}
	for _, h := range all {
		for i := range want.Handlers {
			if want.Handlers[i].ID == h.ID {
				t.warnOfHandler(want.Name, &want.Handlers[i], h.Changed)
			}
		}
	}
	return nil
}

// warnOfTopic tells of settings that the file leaves out and that are not the
// defaults: the file alone would not make the topic so.
func (t *topics) warnOfTopic(want *settings.Topic, has eventbus.Topic) {
	var found, flags []any
	left := func(out bool, key string, value, fallback any) {
		if out && value != fallback {
			if value == time.Duration(-1) {
				value = -1 // no limit
			}
			found = append(found, key, fmt.Sprintf("%v, default %v", value, fallback))
			flags = append(flags, fmt.Sprintf("--%s=%v", strings.ReplaceAll(key, "_", "-"), fallback))
		}
	}
	u := want.Update
	left(u.Delivery == nil, "delivery", has.Delivery, eventbus.AtLeastOnce)
	left(u.MaxWaiting == nil, "max_waiting", has.MaxWaiting, int64(0))
	left(u.Concurrency == nil, "concurrency", has.Concurrency, 0)
	left(u.DeadLimit == nil, "dead_limit", has.DeadLimit, int64(eventbus.DefaultDeadLimit))
	left(u.DeadAge == nil, "dead_age", has.DeadAge, eventbus.DefaultDeadAge)
	left(u.RedissonOrderList == nil, "redisson_order_list", has.RedissonOrderList, false)
	left(u.RedissonOldClients == nil, "redisson_old_clients", has.RedissonOldClients, false)
	if len(found) == 0 {
		return
	}
	reset := t.command("topic update", want.Name, flags...)
	t.log.Warn("topic keeps settings of which the settings file says nothing",
		append(append([]any{"topic", want.Name}, found...), "reset", reset)...)
}

// warnOfHandler tells of settings that hold in place of the file's.
func (t *topics) warnOfHandler(topic string, want *settings.Handler, changed eventbus.HandlerUpdate) {
	c := want.Config
	found := []any{}
	on := true
	against(&found, "enabled", changed.Enabled, on, on)
	against(&found, "timeout", changed.Timeout, c.Timeout, eventbus.DefaultTimeout)
	against(&found, "retry.max_attempts", changed.MaxAttempts, c.Retry.MaxAttempts, eventbus.DefaultMaxAttempts)
	against(&found, "retry.initial", changed.RetryInitial, c.Retry.Initial, eventbus.DefaultRetryInitial)
	against(&found, "retry.max", changed.RetryMax, c.Retry.Max, max(eventbus.DefaultRetryMax, c.Retry.Initial))
	against(&found, "concurrency", changed.Concurrency, c.Concurrency, 0)
	against(&found, "max_abandoned", changed.MaxAbandoned, c.MaxAbandoned, eventbus.DefaultMaxAbandoned)
	against(&found, "breaker.failures", changed.BreakerFailures, c.Breaker.Failures, 0)
	against(&found, "breaker.open", changed.BreakerOpen, c.Breaker.Open, eventbus.DefaultBreakerOpen)
	if len(found) == 0 {
		return
	}
	t.log.Warn("handler keeps what was set at run time, which goes before the settings file",
		append(append([]any{"topic", topic, "handler", want.ID}, found...), "reset", t.command("handler reset", topic+" "+want.ID))...)
}

// against notes a setting of run time that is not what the file says, or its
// default where the file says nothing.
func against[T int | bool | time.Duration](found *[]any, key string, set *T, file, fallback T) {
	var none T
	if file == none {
		file = fallback
	}
	if set != nil && *set != file {
		*found = append(*found, key, fmt.Sprintf("%v, by the file %v", *set, file))
	}
}

// command is one that a reader of the log can call.
func (t *topics) command(name, of string, flags ...any) string {
	parts := []string{"eventbus", name, of}
	for _, f := range flags {
		parts = append(parts, fmt.Sprint(f))
	}
	reach := t.reach
	if at := slices.Index(reach, "--group"); at >= 0 && strings.HasPrefix(name, "topic ") {
		reach = slices.Delete(slices.Clone(reach), at, at+2) // it works in every group, and refuses the flag
	}
	return strings.Join(append(parts, reach...), " ")
}
