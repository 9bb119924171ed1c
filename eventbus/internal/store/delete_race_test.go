package store_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
	"github.com/seed4933/eventbus/eventbus/internal/store"
)

// Groups are removed and added at once, and sent to: a group that is there in the
// end has all that was sent since it was added, and one that is not has left
// nothing.
func removalBesideAddingAndSending(b *bed) {
	const rounds = 40
	require.NoError(b, b.store.AddGroup(b.Context(), "orders", store.Group{Name: "other"}))
	stayed := 0
	for round := range rounds {
		var removals sync.WaitGroup
		for range 2 {
			removals.Go(func() {
				if err := b.store.RemoveGroup(b.Context(), "orders", group); err != nil && !errors.Is(err, errs.GroupNotFound) {
					b.Error(err)
				}
			})
		}
		for {
			err := b.store.AddGroup(b.Context(), "orders", store.Group{Name: group})
			if err == nil {
				break
			}
			require.ErrorIs(b, err, errs.GroupExists)
		}
		var sent []string
		for i := range 3 {
			entry := fmt.Sprint(round, ".", i)
			if b.sendToGroup(entry) {
				sent = append(sent, entry)
			}
		}
		removals.Wait()
		topic, err := b.store.Topic(b.Context(), "orders")
		require.NoError(b, err)
		if g, ok := topic.Group(group); ok {
			stayed++
			k := b.store.Keys(topic, g)
			queue := b.list(k.Queue)
			slices.Reverse(queue)
			require.Equal(b, sent, queue)
			require.Len(b, sent, 3)
			continue
		}
		require.Empty(b, b.ofGroup(group))
		require.NoError(b, b.store.AddGroup(b.Context(), "orders", store.Group{Name: group}))
	}
	b.Logf("the group stayed in %d rounds of %d", stayed, rounds)
}

// sendToGroup sends an entry while the topic has the group, and tells whether it
// had it then.
func (b *bed) sendToGroup(entry string) bool {
	b.Helper()
	for {
		topic, err := b.store.Topic(b.Context(), "orders")
		require.NoError(b, err)
		if _, ok := topic.Group(group); !ok {
			return false
		}
		err = b.store.Send(b.Context(), topic, raw([]string{entry}))
		if err == nil {
			return true
		}
		require.ErrorIs(b, err, store.ErrStale)
	}
}
