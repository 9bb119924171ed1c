//go:build java

package java_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The codecs that the README names pass a payload on as it is, both ways.
func TestCodecsLeavePayloadsAsTheyAre(t *testing.T) {
	t.Parallel()
	const payload = `{"id":130775545883395173,"name":"Grüße","list":[],"object":{}}`
	for _, r := range redissons {
		for _, codec := range []string{"string", "bytes", "json"} {
			t.Run(r.name+"/"+codec, func(t *testing.T) {
				t.Parallel()
				b := setup(t, shapes[0], r)
				offer := b.start("offer", "--type", codec)
				b.offer(offer, payload, time.Hour, nil)
				require.Empty(t, offer.finish())
				events := b.delayed()
				require.Len(t, events, 1)
				require.Equal(t, len(payload), events[0].Size)
				set, _, _ := b.shape.redissonKeys()
				members, err := b.rdb.ZRange(t.Context(), set, 0, -1).Result()
				require.NoError(t, err)
				require.Equal(t, payload, members[0][len(members[0])-len(payload):])

				b.send(payload, 0)
				taken := b.start("take", "--type", codec).finish()
				require.Len(t, taken, 1)
				require.Equal(t, payload, *taken[0].Taken)
			})
		}
	}
}
