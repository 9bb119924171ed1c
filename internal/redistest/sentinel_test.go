package redistest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSentinelFailsOverAndBack(t *testing.T) {
	t.Parallel()
	s := StartSentinel(t, 10*time.Second, "secret")
	client := s.Client(t)
	require.NoError(t, client.Set(t.Context(), "k", "v", 0).Err())
	require.Same(t, s.Nodes[0], s.Master())
	s.Failover()
	require.Same(t, s.Nodes[1], s.Master())
	s.AwaitOneMaster()
	require.Eventually(t, func() bool { return client.Set(t.Context(), "k", "w", 0).Err() == nil }, patience, 10*time.Millisecond)
	got, err := s.Nodes[1].Client(t).Get(t.Context(), "k").Result()
	require.NoError(t, err)
	require.Equal(t, "w", got)
}
