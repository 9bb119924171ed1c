package redistest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/internal/redistest"
)

func TestShared(t *testing.T) {
	t.Parallel()
	s, end, err := redistest.Shared(redistest.Options{})
	require.NoError(t, err)
	rdb := s.Client(t)
	require.NoError(t, rdb.Set(t.Context(), "k", "v", 0).Err())
	s.Kill()
	s.Start()
	require.NoError(t, rdb.Ping(t.Context()).Err())
	require.NoError(t, end())
	require.Error(t, rdb.Ping(t.Context()).Err(), "it has ended")
	require.Panics(t, func() { s.SetPassword("x") }, "there is no test to fail")
}
