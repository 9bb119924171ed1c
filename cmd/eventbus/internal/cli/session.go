package cli

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"

	"github.com/seed4933/eventbus/admin"
	"github.com/seed4933/eventbus/eventbus"
)

// session is the administration of a bus for one command.
type session struct {
	api   admin.API
	group string // "" for that of the server
	end   func() error
}

// open gives the administration that flags, environment and file say: on Redis
// itself, or through the admin port of a server.
func (a *app) open(change ...func(*eventbus.Config)) (*session, error) {
	c, err := a.chooseNames()
	if err != nil {
		return nil, err
	}
	through, err := a.chooseAdmin()
	if err != nil {
		return nil, err
	}
	for _, f := range change {
		f(&c.config)
	}
	if through != nil {
		a.where, a.remote = "admin service at "+through.Address, true
		a.secure = through.TLS != nil
		c.config.Namespace = "" // the server has its own
	} else if err := a.chooseRedis(&c); err != nil {
		return nil, err
	}
	// No bus is made of names for the admin service, which would check them.
	if err := checkNames(c.config); err != nil {
		return nil, err
	}
	if through != nil {
		return dial(*through, c.config.Group)
	}
	if c.target.IsEmbedded() {
		return nil, wrongUsage("the embedded server lives inside demo, serve and bench, and nothing outlives their process; " +
			"give --redis the URL that eventbus serve --redis embedded prints")
	}
	c.config.Logger = slog.New(&lineHandler{tell: a.tell})
	rdb := c.target.Client()
	service, err := admin.New(rdb, c.config)
	if err != nil {
		return nil, errors.Join(err, rdb.Close())
	}
	return &session{api: service, group: cmp.Or(c.config.Group, eventbus.DefaultGroup), end: func() error {
		if err := errors.Join(service.Close(), rdb.Close()); err != nil {
			return fmt.Errorf("close the connection to Redis: %w", err)
		}
		return nil
	}}, nil
}

// dial gives the administration through the admin port of a server, which its first
// call connects to.
func dial(c admin.ClientConfig, group string) (*session, error) {
	client, err := admin.NewClient(c)
	if err != nil {
		return nil, err
	}
	return &session{api: client, group: group, end: func() error {
		if err := client.Close(); err != nil {
			return fmt.Errorf("close the connection to the admin service: %w", err)
		}
		return nil
	}}, nil
}

// with runs f with the administration of a bus, and writes what f answered.
func (a *app) with(f func(s *session) error, change ...func(*eventbus.Config)) error {
	s, err := a.open(change...)
	if err != nil {
		return err
	}
	err = f(s)
	// What was answered before an error stands: some of the work may be done.
	return errors.Join(a.out.FlushAfter(err), s.end())
}

// each reads a list page by page, as long as one is called the next.
func each(read func(page admin.Page) (next string, err error)) error {
	for page := (admin.Page{Limit: admin.MaxPage}); ; {
		next, err := read(page)
		if err != nil || next == "" {
			return err
		}
		page.Cursor = next
	}
}
