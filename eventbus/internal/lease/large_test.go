package lease

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/internal/redistest"
)

// A dead consumer that held many large entries, and small ones between them:
// all come back, each once and in order. No reply and no request carries more
// than 4 MiB or one entry, and each may take the longer the more it carries.
func TestReclaimOfLargeEntriesIsBounded(t *testing.T) {
	t.Parallel()
	const (
		large, small = 40, 2000
		each         = small/large + 1 // one large in so many
		largeSize    = 5 << 20
		slack        = 64 << 10 // what is around the entries
	)
	content := func(i int) string {
		size := 1 << 10
		if i%each == each/2 {
			size = largeSize
		}
		return fmt.Sprintf("%04d%s", i, strings.Repeat("x", size-4))
	}
	m := &meter{}
	server := redistest.Start(t, redistest.Options{})
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr(), Dialer: m.dial})
	t.Cleanup(func() { require.NoError(t, rdb.Close()) })
	b := setupOn(t, rdb)
	dead, k := b.keeper(time.Minute, "a"), b.keeper(time.Minute, "a")
	claim, claimed := uint64(0), 0
	for from := 0; from < large+small; from += each {
		var entries [][]byte
		for i := from; i < from+each; i++ {
			entries = append(entries, []byte(content(i)))
		}
		require.NoError(t, b.store.Send(t.Context(), b.topic("a"), entries))
		for claimed < from+each {
			claim++
			got, err := b.store.Claim(t.Context(), b.keys["a"], dead.ID(), claim, each, 4)
			require.NoError(t, err)
			claimed += len(got.Entries)
		}
	}
	require.NoError(t, b.store.GiveUp(t.Context(), dead.ID()))

	m.reset()
	require.NoError(t, k.reclaim(t.Context(), dead.ID()))
	m.mu.Lock()
	require.LessOrEqual(t, m.reply, largeSize+slack)
	require.LessOrEqual(t, m.request, largeSize+slack)
	require.Empty(t, m.short, "replies had too little time")
	m.mu.Unlock()

	require.Zero(t, b.held("a", dead.ID()))
	n, err := b.rdb.LLen(t.Context(), b.keys["a"].Queue).Result()
	require.NoError(t, err)
	require.EqualValues(t, large+small, n)
	for from := int64(0); from < n; from += each {
		part, err := b.rdb.LRange(t.Context(), b.keys["a"].Queue, -from-each, -from-1).Result()
		require.NoError(t, err)
		slices.Reverse(part)
		require.Len(t, part, each)
		for i, entry := range part {
			require.True(t, content(int(from)+i)+"!" == entry, "entry %d is %.10q", int(from)+i, entry)
		}
	}
}
