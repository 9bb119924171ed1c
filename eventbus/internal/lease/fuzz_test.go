package lease

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Whatever stands beside a dead consumer's lease: what it held comes back, at the
// latest when its queue is looked at, and it is forgotten.
func FuzzRuns(f *testing.F) {
	for _, text := range []string{
		"", "{", "null", "[]", `{"topics":null}`, `{"topics":{"a":null}}`, `{"topics":{"a":[{"id":1}]}}`, `{"topics":[]}`,
		`{"group":"g","topics":{"a":[]}}`, `{"group":"g","topics":{"":[],"*":[],"{x}":[],"a}":[]}}`, `{"group":"g|x","topics":{"a":[]}}`,
		`{"pid":1e999}`, "\xff", string(runs("a", "b")),
	} {
		f.Add([]byte(text))
	}
	b := setup(f)
	k := b.keeper(time.Minute, "a")
	f.Fuzz(func(t *testing.T, text []byte) {
		b.TB = t // one call at a time
		require.NoError(t, b.rdb.Del(t.Context(), b.keys["a"].Queue).Err())
		entries := b.hold("a", "dead", 2)
		require.NoError(t, b.store.Describe(t.Context(), "dead", text))
		require.NoError(t, b.store.GiveUp(t.Context(), "dead"))
		require.NoError(t, k.reclaim(t.Context(), "dead"))
		require.NoError(t, k.Inspect(t.Context(), b.keys["a"]))
		require.Equal(t, rescued(entries), b.queue("a"))
		all, err := b.store.Consumers(t.Context())
		require.NoError(t, err)
		require.Len(t, all, 1)
	})
}
