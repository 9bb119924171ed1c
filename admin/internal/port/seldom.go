package port

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// warnEvery is how often what others can make happen at will is worth a warning.
const warnEvery = time.Minute

// Seldom logs what others can make happen at will, all of one kind: the first at level
// warn, and then one a minute, with how many there were in between as "more"; those at a
// lower level, or they would fill the log. It may be used by several goroutines at once.
type Seldom struct {
	mu   sync.Mutex
	last time.Time // of the last warning
	more int       // since then
}

// Log logs one, at the level otherwise where it is not worth a warning.
func (s *Seldom) Log(log *slog.Logger, otherwise slog.Level, what string, args ...any) {
	more, worth := s.worth()
	switch {
	case !worth:
		log.Log(context.Background(), otherwise, what, args...)
	case more > 0:
		log.Warn(what, append(args, "more", more)...)
	default:
		log.Warn(what, args...)
	}
}

func (s *Seldom) worth() (more int, worth bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if !s.last.IsZero() && now.Sub(s.last) < warnEvery {
		s.more++
		return 0, false
	}
	more, s.more, s.last = s.more, 0, now
	return more, true
}

// warnings are those of a server.
type warnings struct{ slow, long, tls, handshake, accept Seldom }

// turnedAway logs why a client was closed that may be one of this house, by a kind's
// warnings; one that has only gone at level debug.
func (s *Server) turnedAway(kind *Seldom, client Client, err error) {
	if isEnd(err) {
		return
	}
	kind.Log(s.log, slog.LevelDebug, "a client was turned away", "client", client.Addr, "err", err)
}

// closed logs at level debug why a connection of a stranger was closed: strangers must
// not fill the log.
func (s *Server) closed(client Client, err error) {
	if !isEnd(err) {
		s.log.LogAttrs(context.Background(), slog.LevelDebug, "a connection was closed", slog.String("client", client.Addr), slog.Any("err", err))
	}
}
