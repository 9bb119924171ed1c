package consume

import (
	"log/slog"
	"sync"
	"time"
)

// deathLogEvery is how often the log says of one topic that failures went to the
// dead set.
const deathLogEvery = 10 * time.Second

// deaths tells the log that failures went to the dead set: the first of a topic
// at once, and then their number from time to time, however many there are.
type deaths struct {
	log *slog.Logger

	mu     sync.Mutex
	topics map[string]*deathCount
}

type deathCount struct {
	since time.Time // when the log was last told
	n     int       // how many there were since then
}

func (d *deaths) note(topic string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.topics == nil {
		d.topics = map[string]*deathCount{}
	}
	c := d.topics[topic]
	if c == nil {
		c = &deathCount{}
		d.topics[topic] = c
	}
	c.n++
	if now := time.Now(); now.Sub(c.since) >= deathLogEvery {
		d.log.Warn("failures went to the dead set; list them, and replay or discard them", "topic", topic, "failures", c.n)
		c.since, c.n = now, 0
	}
}
