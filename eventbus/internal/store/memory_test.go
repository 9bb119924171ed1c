package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
	"github.com/seed4933/eventbus/eventbus/internal/store"
	"github.com/seed4933/eventbus/internal/redistest"
)

// A server over its maxmemory refuses to send. Everything that takes events out
// of their places goes on, so that memory gets free again; what is refused is
// refused whole.
func TestOutOfMemory(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	for _, m := range moves() {
		t.Run(m.name, func(t *testing.T) {
			b := setup(t, server.Client(t))
			b.stock()
			setMaxMemory(t, server, "1kb")
			before := b.dump()
			err := m.call(b.Context(), b)
			after := b.dump()
			if m.name == "send" || m.name == "delay" {
				require.True(t, store.OutOfMemory(err))
				require.ErrorIs(t, err, errs.Unavailable)
				require.Equal(t, before, after)
			} else {
				require.NoError(t, err)
				require.NotEqual(t, before, after)
			}
			setMaxMemory(t, server, "0")
		})
	}
	t.Run("renew", func(t *testing.T) {
		b := setup(t, server.Client(t))
		b.enroll(consumer)
		setMaxMemory(t, server, "1kb")
		held, _ := b.renew(consumer)
		require.True(t, held)
		setMaxMemory(t, server, "0")
	})
	t.Run("remove", func(t *testing.T) {
		b := setup(t, server.Client(t))
		b.stage()
		setMaxMemory(t, server, "1kb")
		require.NoError(t, b.store.RemoveGroup(t.Context(), "orders", group))
		require.Empty(t, b.ofGroup(group))
		require.NoError(t, b.store.DeleteTopic(t.Context(), "orders"))
		require.Empty(t, b.rest())
		setMaxMemory(t, server, "0")
	})
	// Nothing is removed for the failure of an entry that was taken for good, so
	// that it is refused: whole, to be tried again.
	t.Run("finish taken", func(t *testing.T) {
		b := setup(t, server.Client(t))
		b.stock()
		setMaxMemory(t, server, "1kb")
		before := b.dump()
		parts := []store.Part{failure(store.Dead, "new", 0), {Kind: store.BackFirst, Entry: []byte("back")}}
		_, _, err := b.store.Finish(t.Context(), &b.keys, "", 0, []store.Ended{{Parts: parts}})
		require.True(t, store.OutOfMemory(err))
		require.Equal(t, before, b.dump())
		setMaxMemory(t, server, "0")
	})
}

func setMaxMemory(t *testing.T, server *redistest.Server, limit string) {
	t.Helper()
	require.NoError(t, server.Admin().ConfigSet(t.Context(), "maxmemory", limit).Err())
}

// A server that has lost its scripts, by a restart or SCRIPT FLUSH, is given
// them again within the call.
func TestScriptsAreLoadedAgain(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	for _, m := range moves() {
		t.Run(m.name, func(t *testing.T) {
			b := setup(t, server.Client(t))
			b.stock()
			before := b.dump()
			require.NoError(t, b.rdb.ScriptFlush(t.Context()).Err())
			require.NoError(t, m.call(t.Context(), b))
			require.NotEqual(t, before, b.dump())
		})
	}
}
