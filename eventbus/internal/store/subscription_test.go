package store_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
	"github.com/seed4933/eventbus/eventbus/internal/store"
	"github.com/seed4933/eventbus/internal/redistest"
)

// Changed settings are announced, and each new subscription says that something
// may have been missed.
func TestChangesAreHeard(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	s := open(t, server.Client(t))
	changes := s.NewChanges()
	m, err := changes.Next(t.Context())
	require.NoError(t, err)
	require.True(t, m.Subscribed)
	require.NoError(t, s.CreateTopic(t.Context(), &store.Topic{Name: "ä/1"}))
	m, err = changes.Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, store.Message{Channel: m.Channel, Payload: "ä/1"}, m)

	require.NoError(t, server.Admin().ClientKillByFilter(t.Context(), "TYPE", "pubsub").Err())
	again := 0
	for again < 100 {
		again++
		if m, err = changes.Next(t.Context()); err == nil {
			break
		}
	}
	require.NoError(t, err)
	require.True(t, m.Subscribed, "messages may have been missed")
	ended := make(chan error)
	go func() {
		_, err := changes.Next(context.Background())
		ended <- err
	}()
	require.NoError(t, changes.Close())
	require.Error(t, <-ended, "a wait under way ends")
	require.NoError(t, changes.Close())
}

// The channels change while somebody waits, and survive a cut.
func TestSubscriptionFollowsItsChannels(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	sub := open(t, server.Client(t)).NewSubscription("a")
	defer func() { require.NoError(t, sub.Close()) }()
	messages := make(chan store.Message, 100)
	ctx, cancel := context.WithCancel(t.Context())
	var reader sync.WaitGroup
	defer reader.Wait()
	defer cancel()
	reader.Go(func() {
		for ctx.Err() == nil {
			if m, err := sub.Next(ctx); err == nil {
				messages <- m
			}
		}
	})
	defer func() { _ = sub.Close() }() // ends the wait
	next := func() store.Message {
		t.Helper()
		select {
		case m := <-messages:
			return m
		case <-time.After(10 * time.Second):
			require.Fail(t, "nothing came")
		}
		return store.Message{}
	}
	publish := func(channel string) int64 {
		t.Helper()
		n, err := server.Admin().Publish(t.Context(), channel, "x").Result()
		require.NoError(t, err)
		return n
	}
	require.Equal(t, store.Message{Channel: "a", Subscribed: true}, next())
	sub.Set(t.Context(), []string{"b", "c"})
	require.Equal(t, store.Message{Channel: "b", Subscribed: true}, next())
	require.Equal(t, store.Message{Channel: "c", Subscribed: true}, next())
	require.Zero(t, publish("a"))
	require.EqualValues(t, 1, publish("c"))
	require.Equal(t, store.Message{Channel: "c", Payload: "x"}, next())
	require.NoError(t, server.Admin().ClientKillByFilter(t.Context(), "TYPE", "pubsub").Err())
	require.Equal(t, store.Message{Channel: "b", Subscribed: true}, next())
	require.Equal(t, store.Message{Channel: "c", Subscribed: true}, next())
}

// Who may not hear one channel hears the others.
func TestRefusedChannelLeavesTheOthers(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	require.NoError(t, server.Admin().ACLSetUser(t.Context(), "some", "on", "nopass", "~*", "+@all", "resetchannels", "&good*").Err())
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr(), Username: "some", Password: "any"})
	defer func() { require.NoError(t, rdb.Close()) }()
	sub := open(t, rdb).NewSubscription("bad", "good1", "good2")
	defer func() { require.NoError(t, sub.Close()) }()
	var refused error
	heard := map[string]bool{}
	for len(heard) < 2 {
		m, err := sub.Next(t.Context())
		if err != nil {
			require.Nil(t, refused, "said once")
			refused = err
			continue
		}
		heard[m.Channel] = m.Subscribed
	}
	require.True(t, store.OfTopic(refused), "%v", refused)
	require.ErrorContains(t, refused, "ACL")
	require.Equal(t, map[string]bool{"good1": true, "good2": true}, heard)
	require.NoError(t, server.Admin().ACLSetUser(t.Context(), "some", "&bad").Err())
	m, err := sub.Next(t.Context()) // asks again after a silence
	require.NoError(t, err)
	require.Equal(t, store.Message{Channel: "bad", Subscribed: true}, m)
}

// A server that accepts connections and answers nothing, be it from the start or
// when a subscription has to be renewed, holds up Next no longer than a call. The
// bus could not be stopped meanwhile.
func TestChangesDoNotWaitForASilentServer(t *testing.T) {
	t.Parallel()
	const patience = 8 * time.Second // a call's 5 s and what a slow machine adds
	server := redistest.Start(t, redistest.Options{})
	proxy := redistest.NewProxy(t, server.Addr())
	rdb := redis.NewClient(&redis.Options{Addr: proxy.Addr()})
	defer func() { require.NoError(t, rdb.Close()) }()
	s := open(t, rdb)
	for name, before := range map[string]func(*store.Subscription){
		"from the start": func(*store.Subscription) {},
		"when renewed": func(changes *store.Subscription) {
			_, err := changes.Next(t.Context())
			require.NoError(t, err)
			proxy.CutAll()
			for err == nil {
				_, err = changes.Next(t.Context())
			}
		},
		"cut while it is silent": func(changes *store.Subscription) {
			_, err := changes.Next(t.Context())
			require.NoError(t, err)
			proxy.DropReplies(true)
			cut := time.AfterFunc(time.Second, proxy.CutAll) // while Next waits
			t.Cleanup(func() { cut.Stop() })
		},
		"without channels": func(changes *store.Subscription) {
			changes.Set(t.Context(), nil)
		},
	} {
		changes := s.NewChanges()
		before(changes)
		proxy.DropReplies(true)
		began := time.Now()
		_, err := changes.Next(t.Context())
		require.ErrorIs(t, err, errs.Unavailable, name)
		require.Less(t, time.Since(began), patience, name)
		require.NoError(t, changes.Close())
		proxy.DropReplies(false)
	}
}

// A user who is refused two hundred channels, and may stay so for ever, costs one
// question in ten seconds. Once they are allowed, all of them are heard.
func TestRefusedChannelsCostLittle(t *testing.T) {
	t.Parallel()
	const n = 200
	server := redistest.Start(t, redistest.Options{})
	require.NoError(t, server.Admin().ACLSetUser(t.Context(), "some", "on", "nopass", "~*", "+@all", "resetchannels").Err())
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr(), Username: "some", Password: "any"})
	defer func() { require.NoError(t, rdb.Close()) }()
	var channels []string
	for i := range n {
		channels = append(channels, fmt.Sprint("c", i))
	}
	sub := open(t, rdb).NewSubscription(channels...)
	defer func() { require.NoError(t, sub.Close()) }()
	for range n {
		_, err := sub.Next(t.Context())
		require.True(t, store.OfTopic(err), "%v", err)
	}
	require.NoError(t, server.Admin().ConfigResetStat(t.Context()).Err())
	_, err := sub.Next(t.Context()) // after a silence
	require.True(t, store.OfTopic(err), "%v", err)
	require.LessOrEqual(t, server.CommandStats(t)["subscribe"], int64(1))

	require.NoError(t, server.Admin().ACLSetUser(t.Context(), "some", "&*").Err())
	heard := map[string]bool{}
	for len(heard) < n {
		m, err := sub.Next(t.Context())
		require.NoError(t, err)
		require.True(t, m.Subscribed)
		heard[m.Channel] = true
	}
}
