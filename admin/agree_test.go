package admin_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed4933/eventbus/admin"
	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/internal/redistest"
)

// Service and Client give the same answers and the same errors, whatever they are
// asked: the same calls are made of two buses, of one directly, of the other through
// a server.
func TestServiceAndClientAgree(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t, redistest.Options{}).Client(t)
	of := func(namespace string) *admin.Service {
		s, err := admin.New(rdb, eventbus.Config{Namespace: namespace, MaxPayload: 1000})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		require.NoError(t, s.CreateTopic(t.Context(), "failed", eventbus.TopicConfig{}))
		buryIn(t, rdb, s, namespace, 20)
		return s
	}
	service, served := of("one"), of("two")
	address, _ := serve(t, served, admin.ServerConfig{})
	c := client(t, admin.ClientConfig{Address: address})
	var runs atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		a := arguments{t}
		topic := fmt.Sprint("topic-", runs.Add(1))
		if cfg := (eventbus.TopicConfig{}); a.bool() {
			require.NoError(t, service.CreateTopic(t.Context(), topic, cfg))
			require.NoError(t, c.CreateTopic(t.Context(), topic, cfg))
		}
		for range rapid.IntRange(1, 15).Draw(t, "calls") {
			what, ask := a.question(topic)
			want, wrong := ask(service)
			got, err := ask(c)
			require.Equal(t, classOf(wrong), classOf(err), "%s: %v: %v", what, wrong, err)
			if !errors.Is(err, eventbus.ErrPayloadTooLarge) { // of which an exception names the field
				// What no message can carry is told alone, before the server sees the rest.
				require.Subset(t, fieldsOf(wrong), fieldsOf(err), "%s: %v: %v", what, wrong, err)
				require.Equal(t, fieldsOf(wrong) == nil, fieldsOf(err) == nil, "%s: %v: %v", what, wrong, err)
			}
			if errors.Is(err, eventbus.ErrMarshal) { // no server has said this
				require.Equal(t, reason(wrong), reason(err))
			}
			require.Equal(t, want, got, what)
		}
	})
}

// fieldsOf are the arguments that an error says something of.
func fieldsOf(err error) (fields []string) {
	switch e := err.(type) {
	case *eventbus.ArgumentError:
		return []string{e.Field}
	case interface{ Unwrap() error }:
		return fieldsOf(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			fields = append(fields, fieldsOf(one)...)
		}
	}
	return fields
}

// reason is what an ErrMarshal says but what was being done.
func reason(err error) string {
	_, why, _ := strings.Cut(err.Error(), eventbus.ErrMarshal.Error())
	return why
}

// buryIn makes dead failures in the topic "failed" of a namespace.
func buryIn(t *testing.T, rdb *redis.Client, s admin.API, namespace string, n int) {
	t.Helper()
	stop := runOn(t, rdb, "failed", eventbus.Config{Namespace: namespace}, reject)
	defer stop()
	batch := make([]eventbus.Message, n)
	for i := range batch {
		batch[i].Value = i
	}
	_, err := s.SendBatch(t.Context(), "failed", batch)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		c, err := s.CountFailures(t.Context(), "failed", "")
		require.NoError(t, err)
		return c.Dead == int64(n)
	}, time.Minute, 10*time.Millisecond)
}
