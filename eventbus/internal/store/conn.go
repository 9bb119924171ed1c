package store

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
)

const (
	// callTimeout bounds every call but the blocking one: dialling, writing and
	// reading each. A peer that has gone silent costs no more than this.
	callTimeout = 5 * time.Second
	// longestCall bounds what a connection may wait for at all: a call ends before
	// that with its own context, or goes on beyond it while its reply still comes.
	longestCall = time.Minute
	// blockSlack is what go-redis adds to a block before it gives the connection
	// up. It must exceed 1000/hz ms, by which the server may end a block late.
	blockSlack = 10 * time.Second
	poolSize   = 32
	// blockPoolSize bounds the blocked connections to one node of a Cluster: one
	// for each topic that is served.
	blockPoolSize = 10_000
)

// Store is the bus's access to Redis, over connections of its own.
type Store struct {
	ns      keyspace
	rdb     redis.UniversalClient
	own     bool // rdb was made here and is closed here
	conns   *connections
	follow  *follower // nil where the server is fixed, or go-redis follows by itself
	block   func() redis.UniversalClient
	spread  bool // keys of several topics cannot stand in one command
	scripts scripts
}

// Open makes a store on connections of its own, with the addresses and
// credentials of rdb, which stays untouched and is never closed. Its own
// connections are what lets it promise deadlines on everything, no retry of a
// call that may have been executed, and that a blocked poller takes no
// connection from the caller. It does no I/O. Where rdb finds its server through
// Sentinel, the connections follow the master (follow.go).
//
// A client of a type other than *redis.Client and *redis.ClusterClient is used
// as it is.
func Open(rdb redis.UniversalClient, namespace string) (*Store, error) {
	s := &Store{ns: keyspace(namespace), conns: newConnections(), scripts: loadScripts()}
	switch c := rdb.(type) {
	case nil:
		return nil, errs.Invalid("redis client", nil, "it is nil; pass a *redis.Client, a *redis.ClusterClient or another redis.UniversalClient")
	case *redis.Client:
		o := *c.Options()
		o.MaxRetries = -1
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout = callTimeout, longestCall, longestCall
		if choosesServer(&o) {
			s.follow = newFollower(&o, s.conns)
			s.follow.hello = func() *redis.PubSub { return s.rdb.Subscribe(context.Background()) }
			o.Dialer = onDemand(s.follow.dial)
		} else {
			o.Dialer = s.conns.dialing(onDemand(o.Dialer))
		}
		o.DialerRetries = 1
		o.ContextTimeoutEnabled = true
		o.PoolSize, o.MinIdleConns, o.MaxIdleConns, o.MaxActiveConns = poolSize, 0, 0, 0
		o.PoolTimeout = callTimeout
		o.ClientSideCache, o.ClientSideCacheConfig, o.AutoPipelineOptions = nil, nil, nil
		o.PushNotificationProcessor = nil
		o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
		s.rdb, s.own = redis.NewClient(&o), true
		s.block = func() redis.UniversalClient { return redis.NewClient(&o) }
	case *redis.ClusterClient:
		o := *c.Options()
		// Each client appends the nodes that it finds; none must do so in the others'.
		o.Addrs = slices.Clip(o.Addrs)
		o.MaxRetries = -1
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout = callTimeout, longestCall, longestCall
		o.ContextTimeoutEnabled = true
		o.PoolSize, o.MinIdleConns, o.MaxIdleConns, o.MaxActiveConns = poolSize, 0, 0, 0
		o.PoolTimeout = callTimeout
		if o.Dialer == nil { // each node's client would make its own
			o.Dialer = redis.NewDialer(&redis.Options{DialTimeout: callTimeout, TLSConfig: o.TLSConfig})
		}
		o.Dialer = s.conns.dialing(onDemand(o.Dialer))
		o.ReadOnly, o.RouteByLatency, o.RouteRandomly = false, false, false
		o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
		s.rdb, s.own, s.spread = redis.NewClusterClient(&o), true, true
		b := o
		b.PoolSize = blockPoolSize
		s.block = func() redis.UniversalClient { return redis.NewClusterClient(&b) }
	default:
		s.rdb, s.spread = rdb, true
	}
	return s, nil
}

// Spread tells that one command cannot name keys of several topics, as on a
// Cluster.
func (s *Store) Spread() bool { return s.spread }

// Close closes the store's own connections, which ends every call under way.
func (s *Store) Close() error {
	if !s.own {
		return nil
	}
	s.Halt() // for good
	if s.follow != nil {
		s.follow.close()
	}
	return s.rdb.Close()
}

// bounded gives a call its deadline.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return Within(ctx, callTimeout)
}

// errSlow is the cause of a context's end that the bus itself has set.
var errSlow = errors.New("redis has not answered in time")

// Within gives calls a deadline of the bus's own: that it passes is an outage, where
// the end of a caller's context is none.
func Within(ctx context.Context, most time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, most, errSlow)
}

// given returns the error of a context that whoever made the call has ended; nil while
// it goes on, and when it is the bus's own deadline that has passed. A connection looks
// at the deadline itself, and may be a moment quicker than the context.
func given(ctx context.Context) error {
	if end, ok := ctx.Deadline(); ok && !time.Now().Before(end) {
		select {
		case <-ctx.Done():
		case <-time.After(time.Second): // some context of another make
			return context.DeadlineExceeded
		}
	}
	if errors.Is(context.Cause(ctx), errSlow) {
		return nil
	}
	return ctx.Err()
}
