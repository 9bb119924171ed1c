package admin_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/admin"
)

// Strangers cannot fill the log: one of the calls that are refused is worth a warning.
func TestRefusedCallsDoNotFillTheLog(t *testing.T) {
	t.Parallel()
	log := &lines{}
	address, _ := serve(t, &failing{}, admin.ServerConfig{
		Token: "t", Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	const clients, calls = 5, 20
	for range clients {
		c := client(t, admin.ClientConfig{Address: address, Token: "wrong"})
		for range calls {
			require.ErrorIs(t, c.EnableTopic(t.Context(), topic), admin.ErrUnauthenticated)
		}
	}
	require.Equal(t, 1, strings.Count(log.String(), "level=WARN"), log.String())
	require.GreaterOrEqual(t, strings.Count(log.String(), "level=DEBUG"), clients*calls-1)
}
