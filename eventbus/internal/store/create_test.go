package store_test

import (
	"slices"
	"strconv"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
	"github.com/seed4933/eventbus/eventbus/internal/store"
)

func creating() []test {
	return []test{
		{name: "IsReadAsItWasMade", run: createIsReadAsItWasMade},
		{name: "LeavesAnExistingTopicAlone", run: createLeavesAnExistingTopicAlone},
		{name: "IsRefusedWhileDeleting", run: createIsRefusedWhileDeleting},
		{name: "IndexesATopicThatAnotherLeftUnlisted", run: createIndexesATopicThatAnotherLeftUnlisted},
		{name: "RaisesTheRevisionOfTheNamespace", run: createRaisesTheRevisionOfTheNamespace},
		{name: "RefusesAQueueKeyThatIsNoList", run: createRefusesAQueueKeyThatIsNoList},
	}
}

func createIsReadAsItWasMade(b *bed) {
	want := &store.Topic{
		Name: "all", Enabled: true, Delivery: store.AtMostOnce, Wire: store.WireRaw,
		MaxWaiting: 7, Concurrency: 3, DeadLimit: 11, DeadAge: 90 * time.Second,
		Groups: []store.Group{{Name: "b"}, {Name: "a", QueueKey: b.ns + "-queue"}},
	}
	before := b.now()
	b.create(want)
	got := *b.topic
	require.GreaterOrEqual(b, got.Created.UnixMilli(), before)
	require.LessOrEqual(b, got.Created.UnixMilli(), b.now())
	got.Created = time.Time{}
	require.Equal(b, store.Topic{
		Name: "all", Revision: got.Revision, Enabled: true, Delivery: store.AtMostOnce, Wire: store.WireRaw,
		MaxWaiting: 7, Concurrency: 3, DeadLimit: 11, DeadAge: 90 * time.Second,
		Groups:   []store.Group{{Name: "a", QueueKey: b.ns + "-queue"}, {Name: "b"}},
		Handlers: map[string]map[string]string{},
	}, got)
	names, err := b.store.Topics(b.Context())
	require.NoError(b, err)
	require.Equal(b, []string{"all", "orders"}, names)
}

func createLeavesAnExistingTopicAlone(b *bed) {
	b.edit(store.FieldMaxWaiting, "5")
	before := b.hash(b.keys.Config)
	err := b.store.CreateTopic(b.Context(), &store.Topic{Name: "orders", Groups: []store.Group{{Name: "other"}}})
	require.ErrorIs(b, err, errs.TopicExists)
	require.Equal(b, before, b.hash(b.keys.Config))
}

func createIsRefusedWhileDeleting(b *bed) {
	_, err := b.store.EditTopic(b.Context(), "orders", store.Edit{Set: []string{"deleting", "1"}})
	require.NoError(b, err)
	before := b.dump()
	require.ErrorIs(b, b.store.CreateTopic(b.Context(), &store.Topic{Name: "orders"}), errs.TopicDeleting)
	require.Equal(b, before, b.dump())
}

// Whoever makes a topic may die before it is listed; the next one lists it.
func createIndexesATopicThatAnotherLeftUnlisted(b *bed) {
	require.NoError(b, b.rdb.Del(b.Context(), b.ns+":topics").Err())
	require.ErrorIs(b, b.store.CreateTopic(b.Context(), &store.Topic{Name: "orders"}), errs.TopicExists)
	names, err := b.store.Topics(b.Context())
	require.NoError(b, err)
	require.Equal(b, []string{"orders"}, names)
}

func createRaisesTheRevisionOfTheNamespace(b *bed) {
	before, err := b.store.Revision(b.Context())
	require.NoError(b, err)
	b.create(&store.Topic{Name: "other"})
	after, err := b.store.Revision(b.Context())
	require.NoError(b, err)
	require.Greater(b, after, before)
}

func createRefusesAQueueKeyThatIsNoList(b *bed) {
	require.NoError(b, b.rdb.HSet(b.Context(), b.ns+"-taken", "a", 1).Err())
	before := b.dump()
	taken := store.Group{Name: "g", QueueKey: b.ns + "-taken"}
	for _, err := range []error{
		b.store.CreateTopic(b.Context(), &store.Topic{Name: "other", Groups: []store.Group{taken}}),
		b.store.AddGroup(b.Context(), "orders", taken),
	} {
		require.ErrorIs(b, err, errs.WrongType)
		require.ErrorIs(b, err, errs.InvalidArgument)
		require.ErrorContains(b, err, "hash", "it says what stands there")
	}
	require.Equal(b, before, b.dump())
}

func editing() []test {
	return []test{
		{name: "SetsAndRemovesInOneStep", run: editSetsAndRemovesInOneStep},
		{name: "DemandsARevision", run: editDemandsARevision},
		{name: "DemandsAndForbidsFields", run: editDemandsAndForbidsFields},
		{name: "OfNoTopic", run: editOfNoTopic},
		{name: "OfAGroup", run: editOfAGroup},
		{name: "OfAHandler", run: editOfAHandler},
	}
}

func editSetsAndRemovesInOneStep(b *bed) {
	b.edit("x", "1", "y", "2")
	revision, err := b.store.EditTopic(b.Context(), "orders", store.Edit{
		IfRevision: b.topic.Revision, Require: "x", Forbid: "z",
		Set: []string{"z", "", store.FieldMaxWaiting, "9"}, Remove: []string{"x", "y", "no such field"},
	})
	require.NoError(b, err)
	require.Equal(b, b.topic.Revision+1, revision)
	fields := b.hash(b.keys.Config)
	require.NotContains(b, fields, "x")
	require.NotContains(b, fields, "y")
	require.Contains(b, fields, "z")
	require.Equal(b, strconv.FormatInt(revision, 10), fields["rev"])
	b.read("orders")
	require.EqualValues(b, 9, b.topic.MaxWaiting)
}

// editRefused demands that an edit fails, and changes nothing at all.
func (b *bed) editRefused(topic string, e store.Edit, want error) {
	b.Helper()
	e.Set = append(slices.Clone(e.Set), "refused", "1")
	before := b.dump()
	_, err := b.store.EditTopic(b.Context(), topic, e)
	if want != nil {
		require.ErrorIs(b, err, want)
	} else {
		require.Error(b, err)
	}
	require.Equal(b, before, b.dump())
}

func editDemandsARevision(b *bed) {
	b.edit("x", "1")
	for _, revision := range []int64{b.topic.Revision - 1, b.topic.Revision + 1, 1 << 60} {
		b.editRefused("orders", store.Edit{IfRevision: revision}, errs.Conflict)
	}
	_, err := b.store.EditTopic(b.Context(), "orders", store.Edit{IfRevision: b.topic.Revision})
	require.NoError(b, err)
}

func editDemandsAndForbidsFields(b *bed) {
	b.edit("there", "")
	b.editRefused("orders", store.Edit{Require: "missing"}, nil)
	b.editRefused("orders", store.Edit{Forbid: "there"}, nil)
}

func editOfNoTopic(b *bed) {
	b.editRefused("no such topic", store.Edit{}, errs.TopicNotFound)
	_, err := b.store.EditTopic(b.Context(), "orders", store.Edit{Set: []string{"deleting", "1"}})
	require.NoError(b, err)
	b.editRefused("orders", store.Edit{}, errs.TopicDeleting)
}

func editOfAGroup(b *bed) {
	require.NoError(b, b.store.AddGroup(b.Context(), "orders", store.Group{Name: "new"}))
	before := b.dump()
	err := b.store.AddGroup(b.Context(), "orders", store.Group{Name: "new", QueueKey: b.ns + "-list"})
	require.ErrorIs(b, err, errs.GroupExists)
	require.Equal(b, before, b.dump())
	require.ErrorIs(b, b.store.RemoveGroup(b.Context(), "orders", "no such group"), errs.GroupNotFound)
	require.Equal(b, before, b.dump())
}

func editOfAHandler(b *bed) {
	revision, err := b.store.SetHandler(b.Context(), "orders", group, "h:1", `{"a":1}`, 0)
	require.NoError(b, err)
	b.read("orders")
	require.Equal(b, map[string]map[string]string{group: {"h:1": `{"a":1}`}}, b.topic.Handlers)
	_, err = b.store.SetHandler(b.Context(), "orders", group, "h:1", `{}`, revision-1)
	require.ErrorIs(b, err, errs.Conflict)
	_, err = b.store.SetHandler(b.Context(), "orders", "no such group", "h", `{}`, 0)
	require.ErrorIs(b, err, errs.GroupNotFound)
	_, err = b.store.SetHandler(b.Context(), "orders", group, "h:1", "", revision)
	require.NoError(b, err)
	b.read("orders")
	require.Empty(b, b.topic.Handlers)
}
