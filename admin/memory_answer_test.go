package admin_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/admin"
	"github.com/seed4933/eventbus/eventbus"
)

// maxShowing is how much memory the showing of events takes, however many ask at once:
// one of 16 MB stands there as Redis sent it, decoded, and as the answer, with the
// garbage of the one before.
const maxShowing = 96 << 20

// Large events are shown one after another, and what no answer has room for is not read.
func TestShowingEventsCostsNoMoreThanOne(t *testing.T) {
	t.Parallel()
	s, rdb := service(t)
	require.NoError(t, s.CreateTopic(t.Context(), topic, eventbus.TopicConfig{}))
	cfg := eventbus.Config{MaxPayload: 64 << 20}
	stop := run(t, rdb, cfg, reject)
	defer stop()
	sender, err := eventbus.New(rdb, cfg)
	require.NoError(t, err)
	defer sender.Close()
	const shown, tooLarge = 15 << 20, 60 << 20
	for _, size := range []int{shown, tooLarge} {
		_, err = sender.Send(t.Context(), topic, strings.Repeat("x", size))
		require.NoError(t, err)
	}
	ids := map[bool]string{}
	require.Eventually(t, func() bool {
		p, err := s.ListFailures(t.Context(), topic, "", eventbus.FailureQuery{})
		require.NoError(t, err)
		for _, f := range p.Failures {
			ids[f.Size > tooLarge] = f.ID
		}
		return len(ids) == 2
	}, time.Minute, 10*time.Millisecond)

	address, measure := measured(t, rdb.Options().Addr)
	const askers = 8
	var clients []*admin.Client
	for range askers {
		c := client(t, admin.ClientConfig{Address: address})
		require.NoError(t, c.Ping(t.Context()))
		clients = append(clients, c)
	}
	all := func(ask func(c *admin.Client)) (grown int64) {
		measure()
		var wg sync.WaitGroup
		for _, c := range clients {
			wg.Go(func() { ask(c) })
		}
		wg.Wait()
		grown, _ = measure()
		return grown
	}
	grown := all(func(c *admin.Client) {
		_, err := c.GetFailure(t.Context(), topic, "", ids[true])
		if !errors.Is(err, eventbus.ErrInvalidArgument) || !strings.Contains(err.Error(), "its event has") {
			t.Error(err)
		}
	})
	require.Less(t, grown, int64(tooLarge/4), "an event was read that cannot be shown")
	grown = all(func(c *admin.Client) {
		f, err := c.GetFailure(t.Context(), topic, "", ids[false])
		if err != nil || len(f.Event.Payload) < shown {
			t.Error(err)
		}
	})
	require.Less(t, grown, int64(maxShowing))

	whole, err := s.GetFailure(t.Context(), topic, "", ids[true])
	require.NoError(t, err)
	require.Greater(t, len(whole.Event.Payload), tooLarge, "directly there is no such limit")
}

// Long pages are read one after another.
func TestListingCostsNoMoreThanOnePage(t *testing.T) {
	t.Parallel()
	s, rdb := service(t)
	require.NoError(t, s.CreateTopic(t.Context(), topic, eventbus.TopicConfig{}))
	stop := run(t, rdb, eventbus.Config{}, func(context.Context, *eventbus.Event) error {
		return eventbus.Reject(errors.New(strings.Repeat("<", 4<<10))) // six bytes each in JSON
	})
	defer stop()
	batch := make([]eventbus.Message, admin.MaxPage)
	for i := range batch {
		batch[i].Value = i
	}
	_, err := s.SendBatch(t.Context(), topic, batch)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		c, err := s.CountFailures(t.Context(), topic, "")
		require.NoError(t, err)
		return c.Dead == admin.MaxPage
	}, time.Minute, 10*time.Millisecond)

	const many = "many-groups"
	var groups []eventbus.GroupConfig
	for i := range 1000 {
		groups = append(groups, eventbus.GroupConfig{Name: fmt.Sprint("g", i)})
	}
	require.NoError(t, s.CreateTopic(t.Context(), many, eventbus.TopicConfig{Groups: groups}))
	const late = "late"
	require.NoError(t, s.CreateTopic(t.Context(), late, eventbus.TopicConfig{}))
	for i := range batch {
		batch[i] = eventbus.Message{Value: i, ID: fmt.Sprintf("%0255d", i), Delay: time.Hour}
	}
	_, err = s.SendBatch(t.Context(), late, batch)
	require.NoError(t, err)
	for i := range admin.MaxPage - 3 {
		require.NoError(t, s.CreateTopic(t.Context(), fmt.Sprint("other", i), eventbus.TopicConfig{}))
	}

	address, measure := measured(t, rdb.Options().Addr)
	var clients []*admin.Client
	for range 40 {
		c := client(t, admin.ClientConfig{Address: address, CallTimeout: 5 * time.Minute}) // they wait for each other
		require.NoError(t, c.Ping(t.Context()))
		clients = append(clients, c)
	}
	for name, list := range map[string]struct {
		askers int
		most   int64
		ask    func(c *admin.Client) (int, error)
	}{
		"failures": {8, maxGrowth, func(c *admin.Client) (int, error) {
			p, err := c.ListFailures(t.Context(), topic, "", eventbus.FailureQuery{Limit: admin.MaxPage})
			return len(p.Failures), err
		}},
		"topics": {32, maxGrowth / 3, func(c *admin.Client) (int, error) {
			p, err := c.ListTopics(t.Context(), admin.Page{Limit: admin.MaxPage})
			return len(p.Topics), err
		}},
		"delayed": {40, maxGrowth / 3, func(c *admin.Client) (int, error) {
			p, err := c.ListDelayed(t.Context(), late, "", eventbus.DelayedQuery{Limit: admin.MaxPage})
			return len(p.Events), err
		}},
		"figures": {40, maxGrowth / 3, func(c *admin.Client) (int, error) {
			all, err := c.Stats(t.Context(), many)
			return len(all), err
		}},
	} {
		measure()
		var wg sync.WaitGroup
		for _, c := range clients[:list.askers] {
			wg.Go(func() {
				if n, err := list.ask(c); err != nil || n != admin.MaxPage {
					t.Error(name, n, err)
				}
			})
		}
		wg.Wait()
		grown, _ := measure()
		t.Log(name, grown>>20, "MB")
		require.Less(t, grown, list.most, name)
	}
}
