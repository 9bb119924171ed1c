package store_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus/internal/store"
	"github.com/seed4933/eventbus/internal/redistest"
)

// test is one promise of a script.
type test struct {
	name string
	run  func(b *bed)
	real bool // moves so much that it takes the stand-in too long
}

// The contract of every script, on the stand-in and on a real server.
func TestScripts(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, rdb *redis.Client, real bool) {
		for _, script := range []struct {
			name  string
			tests []test
		}{
			{"Create", creating()},
			{"Edit", editing()},
			{"Send", sending()},
			{"Claim", claiming()},
			{"ClaimShared", claimingShared()},
			{"Take", taking()},
			{"Finish", finishing()},
			{"Retry", retrying()},
			{"Page", paging()},
			{"Read", reading()},
			{"Replay", replaying()},
			{"Discard", discarding()},
			{"Expire", expiring()},
			{"Delay", delaying()},
			{"Transfer", transferring()},
			{"Cancel", cancelling()},
			{"Ring", ringing()},
			{"Lease", leasing()},
			{"Delete", deleting()},
			{"WrongType", wrongTypes()},
		} {
			for _, c := range script.tests {
				if c.real && !real {
					continue
				}
				t.Run(script.name+"/"+c.name, func(t *testing.T) {
					t.Parallel()
					c.run(setup(t, rdb))
				})
			}
		}
	})
}

// onServers runs f over the stand-in and over a real server.
func onServers(t *testing.T, f func(t *testing.T, rdb *redis.Client, real bool)) {
	t.Run("miniredis", func(t *testing.T) {
		t.Parallel()
		_, rdb := redistest.Miniredis(t)
		f(t, rdb, false)
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		f(t, redistest.Start(t, redistest.Options{}).Client(t), true)
	})
}

const (
	group    = "default"
	consumer = "c1"
)

// bed is the world of one test: a namespace of its own and a topic with one
// group in it.
type bed struct {
	*testing.T
	rdb   *redis.Client
	store *store.Store
	ns    string
	topic *store.Topic
	keys  store.Keys // of the group
	claim uint64     // number of the last claim

	stocked []store.Record // failures that stock has read
}

func setup(t *testing.T, rdb *redis.Client) *bed {
	t.Helper()
	// Unique on a server that several tests share, and the same in every run.
	ns := strings.NewReplacer("/", ".", "#", "-").Replace(t.Name())
	s, err := store.Open(rdb, ns)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	b := &bed{T: t, rdb: rdb, store: s, ns: ns}
	b.create(&store.Topic{Name: "orders", Enabled: true, Groups: []store.Group{{Name: group}}})
	return b
}

// create makes a topic, and reads it into the bed.
func (b *bed) create(t *store.Topic) {
	b.Helper()
	if t.Delivery == "" {
		t.Delivery = store.AtLeastOnce
	}
	if t.Wire == "" {
		t.Wire = store.WireCloudEvents
	}
	require.NoError(b, b.store.CreateTopic(b.Context(), t))
	b.read(t.Name)
}

// read reads a topic anew.
func (b *bed) read(name string) {
	b.Helper()
	topic, err := b.store.Topic(b.Context(), name)
	require.NoError(b, err)
	b.topic = topic
	if len(topic.Groups) > 0 {
		b.keys = b.store.Keys(topic, topic.Groups[0])
	}
}

// shared makes another topic, whose group's queue is a list of the user's.
func (b *bed) shared() {
	b.Helper()
	b.create(&store.Topic{Name: "shared", Enabled: true, Groups: []store.Group{{Name: group, QueueKey: b.ns + "-list"}}})
	require.True(b, b.keys.Shared())
}

func (b *bed) edit(set ...string) {
	b.Helper()
	_, err := b.store.EditTopic(b.Context(), b.topic.Name, store.Edit{Set: set})
	require.NoError(b, err)
	b.read(b.topic.Name)
}

// send sends entries to the topic as it was last read.
func (b *bed) send(entries ...string) {
	b.Helper()
	require.NoError(b, b.store.Send(b.Context(), b.topic, raw(entries)))
}

// claimed claims under a new number, and returns the receipts too.
func (b *bed) claimed(most int) (receipts, entries []string) {
	b.Helper()
	b.claim++
	got, err := b.store.Claim(b.Context(), &b.keys, consumer, b.claim, most, most)
	require.NoError(b, err)
	for i, e := range got.Entries {
		receipts = append(receipts, got.Receipts(b.claim)[i])
		entries = append(entries, string(e))
	}
	return receipts, entries
}

func (b *bed) finish(ended ...store.Ended) int64 {
	b.Helper()
	n, _, err := b.store.Finish(b.Context(), &b.keys, consumer, 0, ended)
	require.NoError(b, err)
	return n
}

// fail puts a failure of each id into a set; its entry is "entry of" the id.
func (b *bed) fail(kind store.PartKind, ids ...string) {
	b.Helper()
	for _, id := range ids {
		b.send("event of " + id)
		receipts, _ := b.claimed(1)
		require.EqualValues(b, 1, b.finish(store.Ended{Receipt: receipts[0], Parts: []store.Part{failure(kind, id, 0)}}))
	}
}

// score changes the score of a failure, as time would.
func (b *bed) score(key, id string, score float64) {
	b.Helper()
	require.NoError(b, b.rdb.ZAdd(b.Context(), key, redis.Z{Score: score, Member: id}).Err())
}

func (b *bed) list(key string) []string {
	b.Helper()
	all, err := b.rdb.LRange(b.Context(), key, 0, -1).Result()
	require.NoError(b, err)
	return all
}

func (b *bed) hash(key string) map[string]string {
	b.Helper()
	all, err := b.rdb.HGetAll(b.Context(), key).Result()
	require.NoError(b, err)
	return all
}

func (b *bed) zset(key string) []string {
	b.Helper()
	all, err := b.rdb.ZRange(b.Context(), key, 0, -1).Result()
	require.NoError(b, err)
	return all
}

// now is the server's time in epoch ms.
func (b *bed) now() int64 {
	b.Helper()
	now, err := b.store.Now(b.Context())
	require.NoError(b, err)
	return now.UnixMilli()
}

// total reads one of the group's counts.
func (b *bed) total(name string) string { return b.hash(b.keys.Counts)[name] }

// requireBell demands that the bell has its token, or that it has none.
func (b *bed) requireBell(rung bool) {
	b.Helper()
	want := []string{}
	if rung {
		want = []string{"1"}
	}
	require.Equal(b, want, b.list(b.keys.Bell), "tokens of the bell")
}

// requireFailures demands that the failures hash holds exactly the two fields
// of each id.
func (b *bed) requireFailures(ids ...string) {
	b.Helper()
	fields := slices.Collect(maps.Keys(b.hash(b.keys.Failures)))
	var want []string
	for _, id := range ids {
		want = append(want, id, id+"|e")
	}
	require.ElementsMatch(b, want, fields)
}

// dump is all that stands in the bed's namespace, and in its lists outside.
func (b *bed) dump() map[string]string { return dump(b, b.rdb, b.ns) }

func dump(t require.TestingT, rdb *redis.Client, ns string) map[string]string {
	ctx := context.Background()
	all := map[string]string{}
	keys := rdb.Scan(ctx, 0, "*", 1000).Iterator()
	for keys.Next(ctx) {
		key := keys.Val()
		if !strings.Contains(key, ns+":") && !strings.Contains(key, ns+"-") {
			continue
		}
		kind, err := rdb.Type(ctx, key).Result()
		require.NoError(t, err)
		var value any
		switch kind {
		case "string":
			value, err = rdb.Get(ctx, key).Result()
		case "list":
			value, err = rdb.LRange(ctx, key, 0, -1).Result()
		case "hash":
			value, err = rdb.HGetAll(ctx, key).Result() // maps print sorted
		case "zset":
			value, err = rdb.ZRangeWithScores(ctx, key, 0, -1).Result()
		case "set":
			var members []string
			members, err = rdb.SMembers(ctx, key).Result()
			slices.Sort(members)
			value = members
		}
		require.NoError(t, err)
		all[key] = fmt.Sprintf("%s %q", kind, value)
	}
	require.NoError(t, keys.Err())
	return all
}

func raw(entries []string) [][]byte {
	all := make([][]byte, len(entries))
	for i, e := range entries {
		all[i] = []byte(e)
	}
	return all
}

func numbered(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprint("e", i)
	}
	return all
}

func done(receipts ...string) []store.Ended {
	all := make([]store.Ended, len(receipts))
	for i, r := range receipts {
		all[i].Receipt = r
	}
	return all
}
