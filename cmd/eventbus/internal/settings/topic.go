package settings

import (
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/seed4933/eventbus/eventbus"
)

// Bounds of what a topic may say, as the bus has them.
const (
	maxCount    = 1 << 40
	maxDeadAge  = 100 * 365 * 24 * time.Hour
	maxQueueKey = 1024 // bytes
)

func (r *reader) topic(f *File, n *yaml.Node) {
	t := Topic{line: n.Line}
	u := &t.Update
	ok := r.object(n, "a topic",
		field{"name", r.name("name", &t.Name, r.names.topic)},
		field{"delivery", word(r, "delivery", &u.Delivery, eventbus.AtLeastOnce, eventbus.AtMostOnce)},
		field{"wire", word(r, "wire", &t.Wire, eventbus.WireCloudEvents, eventbus.WireRaw)},
		field{"queue_key", ptr(&t.QueueKey, r.queueKey)},
		field{"max_waiting", ptr(&u.MaxWaiting, func(to *int64) func(*yaml.Node) { return number(r, "max_waiting", to, 0, maxCount) })},
		field{"concurrency", ptr(&u.Concurrency, func(to *int) func(*yaml.Node) {
			return number(r, "concurrency", to, 0, eventbus.MaxConcurrency)
		})},
		field{"dead_limit", ptr(&u.DeadLimit, r.deadLimit)},
		field{"dead_age", ptr(&u.DeadAge, r.deadAge)},
		field{"redisson_order_list", r.toggle("redisson_order_list", &u.RedissonOrderList)},
		field{"redisson_old_clients", r.toggle("redisson_old_clients", &u.RedissonOldClients)},
		// read below, once the topic's name is known
		field{"handlers", r.list("handlers", func(*yaml.Node) {})},
	)
	if !ok {
		return
	}
	if r.missing(n, "a topic", "name") {
		return
	}
	for _, other := range f.Topics {
		if t.Name != "" && other.Name == t.Name {
			r.wrong(n, "topic %q stands twice, first in line %d; once is right", t.Name, other.line)
		}
		if t.QueueKey != nil && *t.QueueKey != "" && other.QueueKey != nil && *other.QueueKey == *t.QueueKey {
			r.wrong(value(n, "queue_key"), "queue_key %q is that of topic %q in line %d too; two topics on one list would take each other's events",
				*t.QueueKey, other.Name, other.line)
		}
	}
	if list := value(n, "handlers"); list != nil && list.Kind == yaml.SequenceNode {
		for _, child := range list.Content {
			r.handler(&t, deref(child))
		}
	}
	f.Topics = append(f.Topics, t)
}

func (r *reader) queueKey(to *string) func(n *yaml.Node) {
	return func(n *yaml.Node) {
		r.text("queue_key", to)(n)
		if len(*to) > maxQueueKey {
			r.wrong(n, "queue_key has %d bytes; at most %d are right", len(*to), maxQueueKey)
		}
	}
}

// deadLimit and deadAge read a limit of which -1 means none.
func (r *reader) deadLimit(to *int64) func(n *yaml.Node) {
	return func(n *yaml.Node) {
		if n.Value == "-1" {
			*to = -1
			return
		}
		before := len(r.problems)
		number(r, "dead_limit", to, 1, maxCount)(n)
		r.orNone(before)
	}
}

func (r *reader) deadAge(to *time.Duration) func(n *yaml.Node) {
	return func(n *yaml.Node) {
		if n.Value == "-1" {
			*to = -1
			return
		}
		before := len(r.problems)
		r.duration("dead_age", to, time.Millisecond, maxDeadAge)(n)
		r.orNone(before)
	}
}

func (r *reader) orNone(before int) {
	for i := before; i < len(r.problems); i++ {
		r.problems[i].Text += ", or -1 for no limit"
	}
}
