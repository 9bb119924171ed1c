package store

import "strings"

// DefaultNamespace is the namespace where none is configured.
const DefaultNamespace = "eventbus"

// keyspace builds the key names of one namespace. All keys of a topic carry the
// topic as their hash tag, so that on a Cluster they share a slot.
type keyspace string

func (ns keyspace) topics() string    { return string(ns) + ":topics" }
func (ns keyspace) layout() string    { return string(ns) + ":layout" }
func (ns keyspace) changes() string   { return string(ns) + ":changes" }
func (ns keyspace) revision() string  { return string(ns) + ":revision" }
func (ns keyspace) consumers() string { return string(ns) + ":consumers" }

// runs is the hash that tells beside the consumers' leases what each runs.
func (ns keyspace) runs() string { return string(ns) + ":consumers:runs" }

// own is how the keys of all topics begin.
func (ns keyspace) own() string { return string(ns) + ":{" }

func (ns keyspace) topic(topic, part string) string {
	return ns.own() + topic + "}:" + part
}

func (ns keyspace) config(topic string) string { return ns.topic(topic, "config") }

// rules are what an ACL must allow a user of the bus, beside commands and the lists
// that are queue keys.
func (ns keyspace) rules() string {
	return "~" + string(ns) + ":* ~" + orderPrefix + "* &" + string(ns) + ":* " + DelayChannels
}

// wake is the list on which a consumer can be woken out of its BLPOP. On a
// Cluster it must share the slot of the keys that it blocks on, so that it is
// then one key a topic.
func (ns keyspace) wake(consumer string) string { return string(ns) + ":wake:" + consumer }

func (ns keyspace) topicWake(topic, consumer string) string {
	return ns.topic(topic, "wake:"+consumer)
}

// Keys names the keys of one topic and group.
type Keys struct {
	Topic string
	Group string

	Config string
	// Queue holds what producers sent.
	Queue string
	// Returns takes what comes back to the queue: retries, replays, what a dead
	// or stopping consumer held. It is the queue itself, unless foreign
	// consumers read the queue too (a raw topic, or a queue key of the user's):
	// they would not understand an entry addressed to one handler.
	Returns  string
	Bell     string
	Holders  string // set of the consumers that may hold entries in flight
	Failures string
	Retry    string
	Dead     string
	Counts   string // totals since the group was made

	Delayed      string // Redisson's three, for delayed events
	DelayOrder   string
	DelayChannel string
	DelayIndex   string // hash that finds them by the events' ids; see delayed.go
	Unreadable   string // list of members of Delayed that are none of Redisson's

	inflight string
}

// Shared tells that the queue is read by others than buses.
func (k *Keys) Shared() bool { return k.Queue != k.Returns }

// Inflight names the hash of what a consumer holds.
func (k *Keys) Inflight(consumer string) string { return k.inflight + consumer }

// groupField is the field of the group in the topic's settings hash. "|" cannot
// stand in a name, so that no group and handler can be mistaken for others.
func groupField(group string) string { return "group|" + group }

func handlerField(group, handler string) string { return "handler|" + group + "|" + handler }

func (ns keyspace) group(topic string, wire Wire, g Group) Keys {
	queue := ns.topic(topic, "queue:"+g.Name)
	if g.QueueKey != "" {
		queue = g.QueueKey
	}
	returns := queue
	if g.QueueKey != "" || wire == WireRaw {
		returns = ns.topic(topic, "returns:"+g.Name)
	}
	return Keys{
		Topic: topic, Group: g.Name,
		Config:       ns.config(topic),
		Queue:        queue,
		Returns:      returns,
		Bell:         ns.topic(topic, "bell:"+g.Name),
		Holders:      ns.topic(topic, "holders:"+g.Name),
		Failures:     ns.topic(topic, "failures:"+g.Name),
		Retry:        ns.topic(topic, "retry:"+g.Name),
		Dead:         ns.topic(topic, "dead:"+g.Name),
		Counts:       ns.topic(topic, "counts:"+g.Name),
		Delayed:      redisson(delayedPrefix, queue),
		DelayOrder:   redisson(orderPrefix, queue),
		DelayChannel: redisson(channelPrefix, queue),
		DelayIndex:   ns.topic(topic, "delayed:"+g.Name),
		Unreadable:   ns.topic(topic, "unreadable:"+g.Name),
		inflight:     ns.topic(topic, "inflight:"+g.Name+":"),
	}
}

// How the keys and the channel of a list's delayed events begin, as Redisson names
// them (RedissonDelayedQueue).
const (
	delayedPrefix = "redisson_delay_queue_timeout"
	orderPrefix   = "redisson_delay_queue"
	channelPrefix = "redisson_delay_queue_channel"
)

// redisson names a key that belongs to a list, as Redisson does it: the list's
// name becomes the hash tag unless it has one (RedissonObject.prefixName).
func redisson(prefix, name string) string {
	if strings.Contains(name, "{") {
		return prefix + ":" + name
	}
	return prefix + ":{" + name + "}"
}
