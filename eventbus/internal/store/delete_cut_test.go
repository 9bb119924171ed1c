package store_test

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
	"github.com/seed4933/eventbus/eventbus/internal/store"
)

// gone deletes the topic, if it is not, and demands that nothing is left.
func (b *bed) gone() {
	b.Helper()
	err := b.store.DeleteTopic(b.Context(), "orders")
	require.True(b, err == nil || errors.Is(err, errs.TopicNotFound), "%v", err)
	require.Empty(b, b.rest())
}

// stage makes the topic anew, with two groups, the first of which has something
// in each place, with two consumers.
func (b *bed) stage() {
	b.Helper()
	b.gone()
	b.create(&store.Topic{Name: "orders", Enabled: true, Groups: []store.Group{{Name: group}, {Name: "other"}}})
	b.fill()
	_, err := b.store.Claim(b.Context(), &b.keys, "c2", 1, 1, 1)
	require.NoError(b, err)
	b.send("waits too")
	_, err = b.store.SetHandler(b.Context(), "orders", group, "h", `{}`, 0)
	require.NoError(b, err)
	b.read("orders")
}

// ofGroup lists what the settings and the keys of the topic know of a group.
func (b *bed) ofGroup(group string) []string {
	b.Helper()
	var found []string
	for _, name := range slices.Concat(b.rest(), slices.Collect(maps.Keys(b.hash(b.keys.Config)))) {
		if strings.Contains(name, ":"+group) || strings.Contains(name, "|"+group) {
			found = append(found, name)
		}
	}
	return found
}

// requireNew demands that the group holds the entries, the first of them in
// flight and no more, and knows of nothing else.
func (b *bed) requireNew(entries ...string) {
	b.Helper()
	b.read("orders")
	waiting := slices.Clone(entries[1:])
	slices.Reverse(waiting)
	require.Equal(b, waiting, b.list(b.keys.Queue))
	require.Equal(b, []string{entries[0]}, slices.Collect(maps.Values(b.hash(b.keys.Inflight(consumer)))))
	require.Equal(b, map[string]string{"sent": "3"}, b.hash(b.keys.Counts))
	require.Empty(b, b.topic.Handlers[group])
	require.ElementsMatch(b, []string{b.keys.Queue, b.keys.Bell, b.keys.Holders, b.keys.Counts, b.keys.Inflight(consumer), "group|" + group, "since|" + group}, b.ofGroup(group))
}

// begin has the group, new, take three entries, the first of them into flight.
func (b *bed) begin() []string {
	b.Helper()
	b.read("orders")
	entries := []string{"new 1", "new 2", "new 3"}
	b.send(entries...)
	b.claimed(1)
	return entries
}

// Wherever the removal of a group is cut short: it can be repeated, its topic can
// be deleted, and the group can be added anew and starts empty.
func removalCanBeCutAnywhere(b *bed) {
	for _, replyLost := range []bool{false, true} {
		for then, goOn := range map[string]func(){
			"repeated": func() {
				err := b.store.RemoveGroup(b.Context(), "orders", group)
				if replyLost && errors.Is(err, errs.GroupNotFound) {
					err = nil // it was complete
				}
				require.NoError(b, err)
				require.Empty(b, b.ofGroup(group))
				require.ErrorIs(b, b.store.RemoveGroup(b.Context(), "orders", group), errs.GroupNotFound)
				require.NotEmpty(b, b.ofGroup("other"))
			},
			"added": func() {
				err := b.store.AddGroup(b.Context(), "orders", store.Group{Name: group})
				if errors.Is(err, errs.GroupExists) {
					require.NotEmpty(b, b.list(b.keys.Queue), "it has not begun")
					return
				}
				require.NoError(b, err)
				require.ElementsMatch(b, []string{"group|" + group, "since|" + group}, b.ofGroup(group))
				b.requireNew(b.begin()...)
			},
			"deleted": func() {
				require.NoError(b, b.store.DeleteTopic(b.Context(), "orders"))
				require.Empty(b, b.rest())
			},
		} {
			for n := 1; ; n++ {
				b.stage()
				s, trap := b.cutAt(n, replyLost)
				err := s.RemoveGroup(b.Context(), "orders", group)
				if !trap.sprung() {
					require.NoError(b, err)
					require.Greater(b, n, 3)
					break
				}
				require.ErrorIs(b, err, errs.Unavailable, "%s after cut %d", then, n)
				_, removed := b.hash(b.keys.Config)["group|"+group]
				b.read("orders")
				_, there := b.topic.Group(group)
				require.Equal(b, removed, there, "a group that is half removed is not shown")
				b.Logf("call %d is cut, then %s", n, then)
				goOn()
			}
		}
	}
}

// Wherever a removal stands still, a group of the same name that is added
// meanwhile loses nothing to it.
func removalSparesANewGroup(b *bed) {
	for n := 1; ; n++ {
		b.stage()
		var added error
		var entries []string
		err, ok := b.stalled(n, func(s *store.Store) error { return s.RemoveGroup(b.Context(), "orders", group) }, func() {
			if added = b.store.AddGroup(b.Context(), "orders", store.Group{Name: group}); added == nil {
				entries = b.begin()
			}
		})
		require.NoError(b, err)
		if !ok {
			require.Greater(b, n, 3)
			return
		}
		if errors.Is(added, errs.GroupExists) {
			require.Empty(b, b.ofGroup(group), "it had not begun")
			continue
		}
		require.NoError(b, added)
		b.Logf("call %d is late", n)
		b.requireNew(entries...)
	}
}

// A group whose queue is the user's list leaves that list, however often the
// removal is cut short.
func removalLeavesTheUsersList(b *bed) {
	for n := 1; ; n++ {
		b.shared()
		b.send("kept")
		s, trap := b.cutAt(n, false)
		err := s.RemoveGroup(b.Context(), "shared", group)
		if err == nil {
			require.False(b, trap.sprung())
		} else {
			require.NoError(b, b.store.RemoveGroup(b.Context(), "shared", group))
		}
		require.Equal(b, []string{b.keys.Config}, b.rest())
		require.Len(b, b.list(b.ns+"-list"), n)
		if !trap.sprung() {
			return
		}
		require.NoError(b, b.store.DeleteTopic(b.Context(), "shared"))
	}
}

// Wherever a deletion is cut short, it can be repeated and leaves nothing.
func deletionCanBeCutAnywhere(b *bed) {
	for _, replyLost := range []bool{false, true} {
		for n := 1; ; n++ {
			b.stage()
			half, _ := b.cutAt(3, false) // and a group is half removed
			require.Error(b, half.RemoveGroup(b.Context(), "orders", "other"))
			s, trap := b.cutAt(n, replyLost)
			err := s.DeleteTopic(b.Context(), "orders")
			if trap.sprung() {
				require.ErrorIs(b, err, errs.Unavailable, "cut %d", n)
				b.gone()
			} else {
				require.NoError(b, err)
				require.Empty(b, b.rest())
			}
			names, err := b.store.Topics(b.Context())
			require.NoError(b, err)
			require.Empty(b, names, "cut %d", n)
			if !trap.sprung() {
				require.Greater(b, n, 5)
				break
			}
		}
	}
}

// Wherever a deletion stands still while another one completes: a topic of the
// same name that is made then loses nothing to it, its place in the index
// included.
func deletionSparesANewTopic(b *bed) {
	for n := 1; ; n++ {
		b.stage()
		var before map[string]string
		err, ok := b.stalled(n, func(s *store.Store) error { return s.DeleteTopic(b.Context(), "orders") }, func() {
			b.gone()
			b.create(&store.Topic{Name: "orders", Enabled: true, Groups: []store.Group{{Name: group}, {Name: "second"}}})
			b.begin()
			before = b.world()
		})
		if !ok {
			require.NoError(b, err)
			require.Greater(b, n, 5)
			return
		}
		require.NoError(b, err)
		b.Logf("call %d is late", n)
		if n == 1 { // its mark, which the new topic got
			require.Empty(b, b.rest())
			continue
		}
		require.Equal(b, before, b.world())
	}
}

// A deletion that stands still does not end a later one of a topic made anew,
// which has groups that it does not know of.
func deletionLeavesALaterOneToItsEnd(b *bed) {
	for n := 2; ; n++ {
		b.stage()
		_, ok := b.stalled(n, func(s *store.Store) error { return s.DeleteTopic(b.Context(), "orders") }, func() {
			b.gone()
			b.create(&store.Topic{Name: "orders", Enabled: true, Groups: []store.Group{{Name: group}, {Name: "second"}}})
			b.begin()
			later, _ := b.cutAt(2, false)
			require.Error(b, later.DeleteTopic(b.Context(), "orders"))
		})
		if !ok {
			return
		}
		b.Logf("call %d is late", n)
		b.gone()
	}
}

// world is the dump without the counter of changes, which a deletion raises.
func (b *bed) world() map[string]string {
	b.Helper()
	all := b.dump()
	delete(all, b.ns+":revision")
	return all
}

// What is reported late, of an entry that was taken for good, and a sweep late
// bring nothing back, neither after a removal or a deletion nor half way.
func nothingIsBroughtBackLate(b *bed) {
	for removed, remove := range map[string]func(s *store.Store) error{
		"group": func(s *store.Store) error { return s.RemoveGroup(b.Context(), "shared", group) },
		"topic": func(s *store.Store) error { return s.DeleteTopic(b.Context(), "shared") },
	} {
		late := func() {
			parts := []store.Part{failure(store.Dead, "late", 0)}
			_, _, err := b.store.Finish(b.Context(), &b.keys, "", 0, []store.Ended{{Parts: parts}})
			require.NoError(b, err)
			_, _, err = b.store.Ring(b.Context(), &b.keys)
			require.NoError(b, err)
		}
		for n := 1; ; n++ {
			b.shared()
			b.send("stays in the user's list")
			err, ok := b.stalled(n, remove, late)
			require.NoError(b, err)
			late()
			b.Logf("%s, call %d is late", removed, n)
			if removed == "group" {
				require.Equal(b, []string{b.keys.Config}, b.rest())
				require.NoError(b, b.store.DeleteTopic(b.Context(), "shared"))
			}
			require.Empty(b, b.rest())
			if !ok {
				break
			}
		}
	}
}
