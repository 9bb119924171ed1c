package cli

import (
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/seed4933/eventbus/eventbus"
)

// session is a bus for one command.
type session struct {
	bus   *eventbus.Bus
	rdb   redis.UniversalClient
	group string
}

// open makes a bus as flags, environment and file say. It does no I/O but to
// read the file.
func (a *app) open(change ...func(*eventbus.Config)) (*session, error) {
	c, err := a.choose()
	if err != nil {
		return nil, err
	}
	if c.target.IsEmbedded() {
		return nil, wrongUsage("the embedded server lives inside demo, serve and bench, and nothing outlives their process; " +
			"give --redis the URL that eventbus serve --redis embedded prints")
	}
	for _, f := range change {
		f(&c.config)
	}
	rdb := c.target.Client()
	bus, err := eventbus.New(rdb, c.config)
	if err != nil {
		return nil, errors.Join(err, rdb.Close())
	}
	group := c.config.Group
	if group == "" {
		group = eventbus.DefaultGroup
	}
	return &session{bus: bus, rdb: rdb, group: group}, nil
}

func (s *session) close() error {
	if err := errors.Join(s.bus.Close(), s.rdb.Close()); err != nil {
		return fmt.Errorf("close the connection to Redis: %w", err)
	}
	return nil
}

// with runs f with a bus, and writes what f answered.
func (a *app) with(f func(s *session) error, change ...func(*eventbus.Config)) error {
	s, err := a.open(change...)
	if err != nil {
		return err
	}
	err = f(s)
	// What was answered before an error stands: some of the work may be done.
	return errors.Join(a.out.FlushAfter(err), s.close())
}
