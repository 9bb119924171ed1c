package store_test

import (
	"strconv"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus/internal/store"
)

func deleting() []test {
	return []test{
		{name: "LeavesNothing", run: deleteLeavesNothing},
		{name: "CanBeRunAgain", run: deleteCanBeRunAgain},
		{name: "LeavesTheUsersList", run: deleteLeavesTheUsersList},
		{name: "OfAGroupLeavesTheOthers", run: deleteOfAGroupLeavesTheOthers},
		{name: "WorksOverKeysOfOtherTypes", run: deleteWorksOverKeysOfOtherTypes},
		{name: "OfAGroupCanBeCutAnywhere", run: removalCanBeCutAnywhere},
		{name: "OfAGroupSparesANewGroup", run: removalSparesANewGroup},
		{name: "OfAGroupBesideAddingAndSending", run: removalBesideAddingAndSending},
		{name: "OfAGroupLeavesTheUsersList", run: removalLeavesTheUsersList},
		{name: "CanBeCutAnywhere", run: deletionCanBeCutAnywhere},
		{name: "SparesANewTopic", run: deletionSparesANewTopic},
		{name: "IsNotUndoneLate", run: nothingIsBroughtBackLate},
		{name: "LeavesALaterOneToItsEnd", run: deletionLeavesALaterOneToItsEnd},
	}
}

// fill puts something into every place of the topic's group.
func (b *bed) fill() {
	b.Helper()
	b.fail(store.Dead, "d")
	b.fail(store.Retry, "r")
	b.send("held", "waits")
	b.claimed(1)
	require.NoError(b, b.rdb.ZAdd(b.Context(), b.keys.Delayed, redis.Z{Score: 1, Member: "delayed"}).Err())
	require.NoError(b, b.rdb.LPush(b.Context(), b.keys.DelayOrder, "delayed").Err())
}

// rest lists the keys that contain the topic's name.
func (b *bed) rest() []string {
	b.Helper()
	keys, err := b.rdb.Keys(b.Context(), "*"+b.ns+":{"+b.topic.Name+"}*").Result()
	require.NoError(b, err)
	return keys
}

func deleteLeavesNothing(b *bed) {
	b.fill()
	require.NotEmpty(b, b.rest())
	require.NoError(b, b.store.DeleteTopic(b.Context(), "orders"))
	require.Empty(b, b.rest())
	names, err := b.store.Topics(b.Context())
	require.NoError(b, err)
	require.Empty(b, names)
}

// A deletion that was cut short has left its mark, under which nothing moves.
func deleteCanBeRunAgain(b *bed) {
	b.fill()
	require.NoError(b, b.rdb.HSet(b.Context(), b.keys.Config, "deleting", "1", "enabled", "0").Err())
	require.NoError(b, b.rdb.Del(b.Context(), b.keys.Failures).Err())
	require.NoError(b, b.store.DeleteTopic(b.Context(), "orders"))
	require.Empty(b, b.rest())
}

func deleteLeavesTheUsersList(b *bed) {
	b.shared()
	b.fill()
	require.NoError(b, b.store.DeleteTopic(b.Context(), "shared"))
	require.Empty(b, b.rest())
	require.Equal(b, []string{"waits"}, b.list(b.ns+"-list"))
}

func deleteOfAGroupLeavesTheOthers(b *bed) {
	require.NoError(b, b.store.AddGroup(b.Context(), "orders", store.Group{Name: "other"}))
	b.read("orders")
	b.fill()
	_, err := b.store.SetHandler(b.Context(), "orders", "other", "h", `{}`, 0)
	require.NoError(b, err)
	require.NoError(b, b.store.RemoveGroup(b.Context(), "orders", group))
	b.read("orders")
	require.Len(b, b.topic.Groups, 1)
	require.NotEmpty(b, b.topic.Handlers["other"])
	require.ElementsMatch(b, []string{b.keys.Config, b.keys.Queue, b.keys.Bell, b.keys.Counts}, b.rest())
	require.Len(b, b.list(b.keys.Queue), 4)
	require.Equal(b, strconv.Itoa(4), b.total("sent"))
}

func deleteWorksOverKeysOfOtherTypes(b *bed) {
	for _, key := range []string{b.keys.Queue, b.keys.Bell, b.keys.Holders, b.keys.Failures, b.keys.Retry, b.keys.Dead, b.keys.Counts} {
		b.spoil(key)
	}
	require.NoError(b, b.store.DeleteTopic(b.Context(), "orders"))
	require.Empty(b, b.rest())
}
