package consume

import (
	"log/slog"
	"sync"
	"time"

	"github.com/seed4933/eventbus/eventbus/internal/record"
)

// deathLogEvery is how often the log says of one topic that failures went to the
// dead set.
const deathLogEvery = 10 * time.Second

// deaths tells the log that failures went to the dead set: the first of a topic
// at once, and from then on how many there were, and what the last was, at most
// every deathLogEvery.
type deaths struct {
	log *slog.Logger

	mu     sync.Mutex
	topics map[string]*deathCount
}

type deathCount struct {
	told time.Time // when the log was last told
	n    int       // how many there were since then
	last []byte    // the record of the last
}

func (d *deaths) note(topic string, meta []byte) {
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
	c.last = meta
	d.tell(topic, c, deathLogEvery)
}

// flush tells what was not told yet: each second what has waited long enough,
// and at a stop, with 0, all of it.
func (d *deaths) flush(after time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for topic, c := range d.topics {
		d.tell(topic, c, after)
	}
}

func (d *deaths) tell(topic string, c *deathCount, after time.Duration) {
	now := time.Now()
	if c.n == 0 || now.Sub(c.told) < after {
		return
	}
	last, err := record.Unmarshal(c.last)
	if err != nil {
		return // it was written here
	}
	d.log.Warn("failures went to the dead set; list them, and replay or discard them", "topic", topic, "failures", c.n,
		"last_handler", last.Handler, "last_event", last.Event, "last_reason", string(last.Reason), "last_error", last.Error)
	c.told, c.n, c.last = now, 0, nil
}
