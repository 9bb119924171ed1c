package poll

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus/internal/store"
)

// Lost claims of large entries, beside others that the consumer holds rightly:
// they are put back all and in order, and no reply carries more than one of
// them. The server itself sees to that: it cuts whoever it owes more.
func TestLostClaimsOfLargeEntriesArePutBackInOrder(t *testing.T) {
	t.Parallel()
	b, stubs := setup(t, store.AtLeastOnce, "a")
	k := stubs[0].Keys
	const n, large = 60, 5 << 20
	content := func(i int) string {
		size := 1 << 10
		if i%3 == 0 {
			size = large
		}
		return fmt.Sprintf("%04d%s", i, strings.Repeat("x", size-4))
	}
	for i := range n {
		b.send("a", content(i))
	}
	b.send("a", "behind")
	var claim uint64
	taken := 0
	for taken < n {
		claim++
		got, err := b.store.Claim(t.Context(), k, "c", claim, min(7, n-taken), 1)
		require.NoError(t, err)
		taken += len(got.Entries)
		if taken > n/2 { // these replies are lost
			b.planner.mu.Lock()
			b.planner.lost = append(b.planner.lost, lostClaim{keys: k, consumer: "c", claim: claim, since: time.Now()})
			b.planner.mu.Unlock()
		}
	}
	held, err := b.store.Held(t.Context(), k, "c")
	require.NoError(t, err)
	b.planner.mu.Lock()
	require.Greater(t, len(b.planner.lost), 2)
	first := b.planner.lost[0].claim
	b.planner.mu.Unlock()
	held = slices.DeleteFunc(held, func(receipt string) bool {
		claim, _ := store.Order(receipt)
		return claim >= first
	})
	require.NoError(t, b.rdb.ConfigSet(t.Context(), "client-output-buffer-limit", fmt.Sprintf("normal %d 0 0", large+1<<20)).Err())
	require.NoError(t, b.SearchLost(t.Context()))

	left, err := b.store.Held(t.Context(), k, "c")
	require.NoError(t, err)
	require.ElementsMatch(t, held, left, "what was answered stays in flight")
	for i := len(held); i <= n; i++ {
		entry, err := b.rdb.RPop(t.Context(), k.Queue).Result()
		require.NoError(t, err)
		if i == n {
			require.Equal(t, "behind", entry)
		} else {
			require.True(t, content(i) == entry, "entry %d is %.10q", i, entry)
		}
	}
}
