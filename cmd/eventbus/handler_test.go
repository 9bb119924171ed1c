package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

type handlerObject struct {
	Topic, Group, ID string
	Settings         *struct {
		Enabled         bool
		TimeoutMS       int64 `json:"timeout_ms"`
		MaxAttempts     int   `json:"max_attempts"`
		RetryInitialMS  int64 `json:"retry_initial_ms"`
		RetryMaxMS      int64 `json:"retry_max_ms"`
		Concurrency     int
		BreakerFailures int   `json:"breaker_failures"`
		BreakerOpenMS   int64 `json:"breaker_open_ms"`
	}
	Changed   map[string]any
	Consumers []string
}

func TestHandlerLife(t *testing.T) { modes(t, testHandlerLife) }

func testHandlerLife(t *testing.T, b *bed) {
	b.ok("topic", "create", "orders")
	require.Contains(t, b.fails(1, "handler", "show", "orders", "mail"), "known are: none")
	require.Contains(t, b.fails(1, "handler", "list", "nope"), "topic not found")

	b.run("orders", "mail", func(context.Context, *eventbus.Event) error { return nil }, eventbus.HandleConfig{
		Timeout: 3 * time.Second, Retry: eventbus.RetryPolicy{MaxAttempts: 4, Initial: 2 * time.Second, Max: time.Minute},
		Breaker: eventbus.BreakerConfig{Failures: 5, Open: time.Minute},
	})
	show := func() handlerObject {
		return object[handlerObject](b, b.ok("handler", "show", "orders", "mail", "-o", "json"))
	}
	h := show()
	require.Equal(t, "orders", h.Topic)
	require.Equal(t, "default", h.Group)
	require.Len(t, h.Consumers, 1)
	require.Empty(t, h.Changed)
	require.EqualValues(t, 3000, h.Settings.TimeoutMS)
	require.True(t, h.Settings.Enabled)
	table := lines(b.ok("handler", "list", "orders"))
	require.Len(t, table, 2)
	require.Regexp(t, `^mail +on +3s +4 +2s..1m +- +5/1m +1 +-$`, table[1])

	require.Equal(t, "updated handler mail of topic orders in group default\n",
		b.ok("handler", "update", "orders", "mail", "--timeout", "1500ms", "--max-attempts", "1", "--concurrency", "2"))
	require.Equal(t, "disabled handler mail of topic orders in group default\n", b.ok("handler", "disable", "orders", "mail"))
	b.eventually("the running process applies it", func() bool {
		h = show()
		return h.Settings.TimeoutMS == 1500 && !h.Settings.Enabled
	})
	require.Equal(t, map[string]any{"enabled": false, "timeout_ms": 1500.0, "max_attempts": 1.0, "concurrency": 2.0}, h.Changed)
	require.Regexp(t, `(?m)^mail +off +1.5s +1 +none +2 +5/1m +1 +off timeout=1.5s max-attempts=1 concurrency=2$`, b.ok("handler", "list", "orders"))
	sheet := b.ok("handler", "show", "orders", "mail")
	require.Regexp(t, `(?m)^State +off$`, sheet)
	require.Regexp(t, `(?m)^Consumer +[0-9a-f-]{36}$`, sheet)

	require.Equal(t, `{"topic":"orders","group":"default","handler":"mail","action":"enabled"}`+"\n", b.ok("handler", "enable", "orders", "mail", "-o", "json"))
	require.Equal(t, "reset handler mail of topic orders in group default\n", b.ok("handler", "reset", "orders", "mail"))
	b.eventually("what the code says holds again", func() bool {
		h = show()
		return h.Settings.TimeoutMS == 3000 && h.Settings.Enabled && len(h.Changed) == 0
	})

	// before any process runs it
	b.ok("handler", "update", "orders", "later", "--breaker-failures", "3", "--force")
	require.Regexp(t, `(?m)^later +- +- +- +- +- +- +0 +breaker-failures=3$`, b.ok("handler", "list", "orders"))
	require.Contains(t, b.ok("handler", "show", "orders", "later"), "none runs it")
	require.Contains(t, b.fails(1, "handler", "update", "orders", "mail", "--timeout", "1s", "--group", "nope"), "group not found")
	require.Contains(t, b.fails(1, "handler", "update", "orders", "mail", "--timeout", "1s", "--if-revision", "99"), "settings changed meanwhile")
}

// An open circuit breaker is seen from outside, and in which process.
func TestHandlerBreaker(t *testing.T) { modes(t, testHandlerBreaker) }

func testHandlerBreaker(t *testing.T, b *bed) {
	b.ok("topic", "create", "orders")
	cfg := eventbus.HandleConfig{Breaker: eventbus.BreakerConfig{Failures: 1, Open: time.Hour}}
	b.run("orders", "mail", func(context.Context, *eventbus.Event) error { return errors.New("down") }, cfg)
	b.ok("send", "orders", "--data", "1")
	const one = `(?m)^mail +on, breaker open in 1 of 1 process +`
	b.eventually("it is open", func() bool { return regexp.MustCompile(one).MatchString(b.ok("handler", "list", "orders")) })
	b.run("orders", "mail", func(context.Context, *eventbus.Event) error { return nil }, cfg)

	type handler struct {
		Consumers    []string
		OpenBreakers []string `json:"open_breakers"`
	}
	h := object[handler](b, b.ok("handler", "show", "orders", "mail", "-o", "json"))
	require.Len(t, h.Consumers, 2)
	require.Equal(t, h.Consumers[:1], h.OpenBreakers)
	sheet := b.ok("handler", "show", "orders", "mail")
	require.Regexp(t, `(?m)^State +on, breaker open in 1 of 2 processes$`, sheet)
	require.Regexp(t, `(?m)^Consumer +`+h.Consumers[0]+` \(breaker open\)$`, sheet)
	require.Regexp(t, `(?m)^Consumer +`+h.Consumers[1]+`$`, sheet)
	consumers := b.ok("consumers")
	require.Regexp(t, `(?m)^`+h.Consumers[0]+` .* orders mail \(breaker open\)$`, consumers)
	require.Regexp(t, `(?m)^`+h.Consumers[1]+` .* orders mail$`, consumers)
	require.Equal(t, 1, strings.Count(b.ok("consumers", "-o", "json"), `"open_breaker":true`))

	b.ok("handler", "disable", "orders", "mail")
	b.eventually("it is off", func() bool {
		return regexp.MustCompile(`(?m)^State +off$`).MatchString(b.ok("handler", "show", "orders", "mail"))
	})
	require.Contains(t, b.ok("handler", "enable", "--help"), "disable and enable have it tried at once")
	b.ok("handler", "enable", "orders", "mail")
	b.eventually("its breakers are closed", func() bool {
		return regexp.MustCompile(`(?m)^State +on$`).MatchString(b.ok("handler", "show", "orders", "mail"))
	})
}

// A handler that nothing knows is refused, with those that are known, and nothing
// is stored for it.
func TestHandlerUnknown(t *testing.T) { modes(t, testHandlerUnknown) }

func testHandlerUnknown(t *testing.T, b *bed) {
	b.ok("topic", "create", "orders")
	b.ok("handler", "disable", "orders", "mail", "--force")
	for _, args := range [][]string{{"update", "--timeout", "3s"}, {"enable"}, {"disable"}, {"reset"}} {
		args = append([]string{"handler", args[0], "orders", "mial"}, args[1:]...)
		line := b.fails(1, args...)
		says := "--force sets one that no process runs yet"
		if args[1] == "reset" {
			says = "nothing is set for it that could be reset"
		}
		require.Contains(t, line, `handler "mial" of topic "orders", group "default": handler not found; known are: mail; `+says)
		require.Contains(t, line, "("+b.where()+")")
	}
	require.NotContains(t, b.ok("handler", "list", "orders"), "mial")
	require.Contains(t, b.fails(1, "handler", "disable", "orders", "mail", "--group", "nope"), "group not found")
	b.ok("handler", "update", "orders", "mail", "--timeout", "3s") // something is stored for it
	b.ok("handler", "reset", "orders", "mail")
	require.NotContains(t, b.ok("handler", "list", "orders"), "mail")
}

// A pause before a retry is checked beside what was set before, too.
func TestHandlerPauses(t *testing.T) { modes(t, testHandlerPauses) }

func testHandlerPauses(t *testing.T, b *bed) {
	b.ok("topic", "create", "orders")
	b.ok("handler", "update", "orders", "mail", "--retry-max", "5m", "--force")
	require.Contains(t, b.fails(2, "handler", "update", "orders", "mail", "--retry-initial", "10m"),
		"invalid --retry-initial 10m0s: it is over the greatest pause that was set before, 5m0s, which caps it")
	b.ok("handler", "update", "orders", "mail", "--retry-initial", "5m")
	require.Contains(t, b.fails(2, "handler", "update", "orders", "mail", "--retry-max", "1m"),
		"invalid --retry-max 1m0s: it is below the first pause that was set before, 5m0s, which it would cap")
	require.Contains(t, b.ok("handler", "list", "orders"), "retry-initial=5m retry-max=5m")
	b.ok("handler", "update", "orders", "mail", "--retry-initial", "10m", "--retry-max", "20m")
}

func TestConsumers(t *testing.T) { modes(t, testConsumers) }

func testConsumers(t *testing.T, b *bed) {
	require.Empty(t, b.ok("consumers", "-o", "json"))
	b.ok("topic", "create", "orders")
	b.run("orders", "mail", func(context.Context, *eventbus.Event) error { return nil })
	type consumer struct {
		ID, Group, Host  string
		PID              int
		Started, Expires time.Time
		Expired          bool
		Handlers         []struct{ Topic, ID string }
	}
	c := object[consumer](b, b.ok("consumers", "-o", "json"))
	require.Equal(t, "default", c.Group)
	require.Positive(t, c.PID)
	require.False(t, c.Expired)
	require.WithinDuration(t, time.Now(), c.Started, time.Minute)
	require.Equal(t, []struct{ Topic, ID string }{{"orders", "mail"}}, c.Handlers)
	table := lines(b.ok("consumers"))
	require.Len(t, table, 2)
	require.Regexp(t, `^CONSUMER +GROUP +HOST +PID +STARTED +LEASE UNTIL +RUNS$`, table[0])
	require.Contains(t, table[1], "orders mail")

	// A group that no process runs is told of where no topic has it either.
	b.ok("topic", "update", "orders", "--add-group", "mail")
	require.Len(t, lines(b.ok("consumers", "--group", "mail")), 1)
	r := b.call(nil, "consumers", "--group", "other")
	require.Equal(t, 0, r.code)
	require.Len(t, lines(r.out), 1)
	require.Equal(t, "eventbus: no topic has the group other; there are: default, mail", b.oneLine(r.err))
}

// Figures of a group that no topic has are none, and that is told; of a topic that is
// named it is an error.
func TestStatsOfNoGroup(t *testing.T) { modes(t, testStatsOfNoGroup) }

func testStatsOfNoGroup(t *testing.T, b *bed) {
	r := b.call(nil, "stats", "--group", "other", "-o", "json")
	require.Equal(t, result{0, "", "eventbus: no topic has the group other; there are: none\n"}, r)
	bus, err := eventbus.New(b.rdb, eventbus.Config{Namespace: b.namespace})
	require.NoError(t, err)
	defer func() { require.NoError(t, bus.Close()) }()
	for i := range 21 {
		require.NoError(t, bus.Topics().Create(t.Context(), fmt.Sprintf("t%02d", i), eventbus.TopicConfig{Groups: []eventbus.GroupConfig{{Name: fmt.Sprintf("g%02d", i)}}}))
	}
	r = b.call(nil, "stats", "--group", "other")
	require.Equal(t, 0, r.code)
	require.Len(t, lines(r.out), 1)
	require.Regexp(t, "^eventbus: no topic has the group other; there are: g00, g01, .*, g19 and 1 more$", b.oneLine(r.err))
	require.Len(t, lines(b.ok("stats", "--group", "g07", "--interval", "0")), 2)
	require.Contains(t, b.fails(1, "stats", "t03", "--group", "other"), `topic "t03", group "other": group not found; the topic has: g03`)

	p := b.start(nil, "stats", "--group", "other", "--watch", "--interval", "100ms")
	require.Equal(t, strings.TrimSuffix(r.err, "\n"), p.err.next())
	p.signal(os.Interrupt)
	require.Equal(t, 0, p.wait())
	require.Empty(t, p.err.rest(), "once")
}
