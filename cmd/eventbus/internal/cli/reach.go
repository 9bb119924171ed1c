package cli

import (
	"github.com/redis/go-redis/v9"

	"github.com/seed4933/eventbus/cmd/eventbus/internal/embedded"
	"github.com/seed4933/eventbus/cmd/eventbus/internal/redisurl"
)

// reached is a server for a command that may bring its own.
type reached struct {
	rdb      redis.UniversalClient
	embedded *embedded.Server // nil where the server stands elsewhere
}

// reach returns a client of the target, and starts the server first where it is
// the embedded one.
func reach(target redisurl.Target) (*reached, error) {
	r := &reached{}
	if target.IsEmbedded() {
		s, err := embedded.Start()
		if err != nil {
			return nil, err
		}
		r.embedded = s
		if target, err = redisurl.Parse(s.URL()); err != nil {
			panic(err) // an address of our own making
		}
	}
	r.rdb = target.Client()
	return r, nil
}

func (r *reached) close() error {
	err := r.rdb.Close()
	if r.embedded != nil {
		r.embedded.Close()
	}
	return err
}
