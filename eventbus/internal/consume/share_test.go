package consume

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestRoomForOneTopicIsAll(t *testing.T) {
	t.Parallel()
	require.Equal(t, 64, roomFor(64, 0, 0, 0, nil))
	require.Equal(t, 4, roomFor(64, 60, 60, 0, nil))
	require.Equal(t, 0, roomFor(64, 64, 64, 0, nil))
	require.Equal(t, 2, roomFor(64, 3, 3, 5, nil), "up to the topic's own limit")
	require.Equal(t, 0, roomFor(64, 9, 9, 5, nil), "a limit that was lowered")
}

func TestRoomLeavesAReserveForOthers(t *testing.T) {
	t.Parallel()
	require.Equal(t, 56, roomFor(64, 0, 0, 0, []int{0}))
	require.Equal(t, 64-10-6, roomFor(64, 10, 8, 0, []int{2}), "what another one uses of it already is not kept twice")
	require.Equal(t, 64-30, roomFor(64, 30, 10, 0, []int{20}))
	require.Equal(t, 48, roomFor(64, 0, 0, 0, make([]int, 100)), "all together no more than a quarter")
	require.Equal(t, 1, roomFor(1, 0, 0, 0, []int{0}), "a pool too small to share goes to whoever comes first")
}

func TestRoomIsBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 1000).Draw(t, "size")
		others := rapid.SliceOfN(rapid.IntRange(0, 300), 0, 20).Draw(t, "others")
		own := rapid.IntRange(0, 300).Draw(t, "own")
		limit := rapid.IntRange(0, 300).Draw(t, "limit")
		running := own
		for _, n := range others {
			running += n
		}
		room := roomFor(size, running, own, limit, others)
		require.GreaterOrEqual(t, room, 0)
		require.LessOrEqual(t, room, max(0, size-running))
		if limit > 0 {
			require.LessOrEqual(t, room, max(0, limit-own))
		}
		if limit == 0 && running == own {
			require.GreaterOrEqual(t, room, size-size/4-own, "a topic alone under load gets three quarters at least")
		}
	})
}

// However events come and go, an idle topic finds a slot at once: as long as
// there are no more topics than a quarter of the pool has slots.
func TestAnIdleTopicFindsRoom(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(4, 200).Draw(t, "size")
		names := make([]string, rapid.IntRange(2, min(12, size/4+1)).Draw(t, "topics"))
		load := map[string]int{}
		for i := range names {
			names[i] = string(rune('a' + i))
			load[names[i]] = 0
		}
		running := func() (sum int) {
			for _, n := range load {
				sum += n
			}
			return sum
		}
		room := func(topic string) int {
			var others []int
			for _, name := range slices.Sorted(maps.Keys(load)) {
				if name != topic {
					others = append(others, load[name])
				}
			}
			return roomFor(size, running(), load[topic], 0, others)
		}
		t.Repeat(map[string]func(*rapid.T){
			"fill": func(t *rapid.T) {
				topic := rapid.SampledFrom(names).Draw(t, "topic")
				load[topic] += room(topic)
			},
			"start one": func(t *rapid.T) {
				topic := rapid.SampledFrom(names).Draw(t, "topic")
				load[topic] += min(1, room(topic))
			},
			"end some": func(t *rapid.T) {
				topic := rapid.SampledFrom(names).Draw(t, "topic")
				load[topic] -= rapid.IntRange(0, load[topic]).Draw(t, "ended")
			},
			"": func(t *rapid.T) {
				require.LessOrEqual(t, running(), size)
				for _, topic := range names {
					if load[topic] == 0 {
						require.Positive(t, room(topic), "topic %s of %v, size %d", topic, load, size)
					}
				}
			},
		})
	})
}
