package consume

import (
	"log/slog"

	"github.com/seed4933/eventbus/eventbus/internal/told"
)

// complaints tells the log of errors that last: of each once, however often it
// is met, until it is over.
type complaints struct {
	log  *slog.Logger
	told told.Errors[complaint]
}

type complaint struct{ topic, what string }

// say notes what became of something that is done again and again; err nil means
// that it went well. topic is "" where it concerns no single one.
func (c *complaints) say(topic, what string, err error) {
	key := complaint{topic, what}
	if err == nil {
		c.told.Well(key)
		return
	}
	if c.told.First(key, err) {
		c.log.Error(what, "topic", topic, "err", err)
	}
}
