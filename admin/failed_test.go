package admin_test

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/admin"
	"github.com/seed4933/eventbus/eventbus"
)

// What the server is to blame for, or its Redis, is warned of, once a minute: clients are
// told that the log says more. What a client does wrong is not.
func TestFailingCallsAreWarnedOf(t *testing.T) {
	t.Parallel()
	api := &failing{}
	log := &lines{}
	address, _ := serve(t, api, admin.ServerConfig{Logger: slog.New(slog.NewTextHandler(log, nil))})
	c := client(t, admin.ClientConfig{Address: address})
	for _, theirs := range []error{
		eventbus.ErrTopicNotFound, eventbus.ErrTopicExists, &eventbus.ArgumentError{Field: "name"}, eventbus.ErrTopicDisabled, eventbus.ErrConflict,
		admin.ErrUnauthenticated,
	} {
		api.with.Store(fmt.Errorf("as asked: %w", theirs))
		_, err := c.GetTopic(t.Context(), topic)
		require.Error(t, err)
		require.Error(t, c.EnableTopic(t.Context(), topic))
	}
	require.NotContains(t, log.String(), "level=WARN")
	require.Equal(t, 6, strings.Count(log.String(), "enableTopic"))

	for _, ours := range []error{fmt.Errorf("read it: %w: connection refused", eventbus.ErrUnavailable), fmt.Errorf("broken: %w", io.ErrUnexpectedEOF)} {
		log := &lines{}
		address, _ := serve(t, api, admin.ServerConfig{Logger: slog.New(slog.NewTextHandler(log, nil))})
		c := client(t, admin.ClientConfig{Address: address})
		api.with.Store(ours)
		for range 10 {
			_, err := c.GetTopic(t.Context(), topic)
			require.Error(t, err)
			require.Error(t, c.EnableTopic(t.Context(), topic))
		}
		require.Equal(t, 1, strings.Count(log.String(), "level=WARN"))
		require.Contains(t, strings.Split(log.String(), "\n")[0], ours.Error())
		require.Equal(t, 10, strings.Count(log.String(), "call=enableTopic"), "each that was to change something is logged")
		require.Equal(t, 1, strings.Count(log.String(), "call=getTopic"))
	}
}
