package consume

import (
	"log/slog"
	"sync"
)

// complaints tells the log of errors that last: of each once, however often it
// is met, until it has changed or is over.
type complaints struct {
	log *slog.Logger

	mu   sync.Mutex
	said map[complaint]string
}

type complaint struct{ topic, what string }

// say notes what became of something that is done again and again; err nil means
// that it went well. topic is "" where it concerns no single one.
func (c *complaints) say(topic, what string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := complaint{topic, what}
	if err == nil {
		delete(c.said, key)
		return
	}
	if c.said[key] == err.Error() {
		return
	}
	if c.said == nil {
		c.said = map[complaint]string{}
	}
	c.said[key] = err.Error()
	c.log.Error(what, "topic", topic, "err", err)
}
