package consume

import (
	"context"
	"errors"
	"time"

	"github.com/seed4933/eventbus/eventbus/internal/link"
	"github.com/seed4933/eventbus/eventbus/internal/poll"
	"github.com/seed4933/eventbus/eventbus/internal/store"
)

// Rhythm of the sweeps, in ticks of poll.SweepEvery.
const (
	searchLostEvery = 5
	inspectEvery    = 2
)

// sweep bounds the lateness of everything that a lost message, token or timer
// could delay. On an idle process it sends three commands a second, however many
// topics there are: one counter for changed settings, one look over all queues,
// one over all retry sets; and each second time it inspects one topic.
func (c *Consumer) sweep(ctx context.Context) {
	ticker := time.NewTicker(poll.SweepEvery)
	defer ticker.Stop()
	var names []string
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		c.deaths.flush(deathLogEvery)
		if c.cfg.Link.Wait(ctx) != nil {
			return
		}
		if len(names) == 0 {
			for name := range c.topics {
				names = append(names, name)
			}
		}
		err := c.catchUp(ctx)
		if err == nil {
			err = c.poller.Sweep(ctx)
		}
		if err == nil {
			err = c.mover.Sweep(ctx)
		}
		if err == nil && n%searchLostEvery == 0 {
			err = c.poller.SearchLost(ctx)
		}
		if err == nil {
			err = c.lookAtFleet(ctx)
		}
		if err == nil && n%inspectEvery == 0 {
			err = c.inspect(ctx, c.topics[names[0]])
			names = names[1:]
		}
		if err == nil {
			err = c.tellBreakers(ctx)
		}
		c.judge(ctx, err)
	}
}

// What the log says of errors that last.
const (
	lookOver     = "a look over the topics met an error; it is repeated"
	lookAt       = "a look at a topic's consumers and dead failures met an error; it is repeated"
	readSettings = "settings of a topic cannot be read; what was read before holds until they can"
)

// judge notes whether Redis served.
func (c *Consumer) judge(ctx context.Context, err error) {
	switch {
	case err == nil:
		c.alive()
		c.complaints.say("", lookOver, nil)
	case ctx.Err() != nil:
	case store.OfTopic(err) || store.OutOfMemory(err):
		c.complaints.say("", lookOver, err)
	default:
		c.cfg.Link.Down(err)
	}
}

func (c *Consumer) sweepHot(ctx context.Context) {
	ticker := time.NewTicker(poll.HotEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if c.cfg.Link.Wait(ctx) != nil {
			return
		}
		if err := c.poller.SweepHot(ctx); err != nil {
			c.judge(ctx, err)
		}
	}
}

// catchUp notices changes of settings whose message was missed.
func (c *Consumer) catchUp(ctx context.Context) error {
	heartbeat, cancel := store.Within(ctx, heartbeatTimeout)
	defer cancel()
	revision, err := c.cfg.Store.Revision(heartbeat)
	if err != nil {
		return err
	}
	c.applying.Lock()
	defer c.applying.Unlock()
	if revision < c.revision && !c.lost {
		c.lost = true
		c.cfg.Log.Error("redis has lost the bus's data, it was emptied or restarted without its files; joining anew")
	}
	if revision == c.revision && !c.lost {
		return c.readUnread(ctx)
	}
	if c.lost {
		if err := c.joinAll(ctx); err != nil {
			return err
		}
	}
	if err := c.reloadLocked(ctx, ""); err != nil {
		return err
	}
	c.revision, c.lost = revision, false
	return nil
}

// heartbeatTimeout is how long Redis may take to answer the second's first call
// before it counts as away.
const heartbeatTimeout = 3 * time.Second

// listen puts changed settings into force as soon as they are announced.
func (c *Consumer) listen(ctx context.Context) {
	changes := c.cfg.Store.NewChanges()
	stop := context.AfterFunc(ctx, func() { _ = changes.Close() })
	defer stop()
	var pause link.Pause
	refused := false
	for ctx.Err() == nil {
		if c.cfg.Link.Wait(ctx) != nil {
			return
		}
		changed, err := changes.Next(ctx)
		if err == nil {
			pause.Reset()
			if changed.Subscribed || c.topics[changed.Payload] != nil {
				err = c.reload(ctx, changed.Payload)
			}
		}
		switch {
		case err == nil || ctx.Err() != nil:
			continue
		case store.OfTopic(err) && !refused:
			refused = true
			c.cfg.Log.Warn("changed settings are not announced to this process; it looks for them each second", "err", err)
		case !store.OfTopic(err) && !errors.Is(err, context.Canceled):
			c.cfg.Link.Suspect() // it may be this connection alone
		}
		if !pause.Wait(ctx) {
			return
		}
	}
}

// inspect looks at one topic for what nothing else would find: entries held by
// consumers that no registry knows, dead failures over their age.
func (c *Consumer) inspect(ctx context.Context, t *served) error {
	if err := c.compare(ctx, t); err != nil {
		return err
	}
	cur := t.current.Load()
	if cur == nil {
		return nil
	}
	err := errors.Join(c.keeper.Inspect(ctx, &cur.keys), c.expire(ctx, cur))
	if err != nil && !store.OfTopic(err) {
		return err
	}
	c.complaints.say(t.name, lookAt, err)
	return nil
}

// tellBreakers writes anew what runs here once a breaker has opened or closed. With
// the sweep it comes at most once a second, however often they do.
func (c *Consumer) tellBreakers(ctx context.Context) error {
	if !c.breakers.Swap(false) {
		return nil
	}
	c.applying.Lock() // or a call of before could write over it
	defer c.applying.Unlock()
	err := c.keeper.Describe(ctx)
	if err != nil {
		c.breakers.Store(true)
	}
	return err
}

// compare notices a change that was not announced, since whoever made it died.
func (c *Consumer) compare(ctx context.Context, t *served) error {
	c.applying.Lock()
	defer c.applying.Unlock()
	before := t.current.Load()
	if err := c.read(ctx, t); err != nil {
		return err
	}
	c.unserved = t.keep(before) || c.unserved
	return c.serveAnew(ctx)
}

func (c *Consumer) expire(ctx context.Context, cur *current) error {
	if cur.topic.DeadAge == 0 && cur.topic.DeadLimit == 0 {
		return nil
	}
	dropped, err := c.cfg.Store.Expire(ctx, &cur.keys, cur.topic)
	if dropped > 0 {
		c.cfg.Log.Warn("dead failures were dropped at the topic's limits", "topic", cur.topic.Name, "group", c.cfg.Group, "dropped", dropped)
	}
	return err
}
