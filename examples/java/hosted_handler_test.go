//go:build java

package java_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/internal/redistest"
)

// wire is a way in which the bus and a hosted handler can speak, with what both are
// told.
type wire struct {
	name     string
	settings string
	options  []string
	jars     []string
}

// wires are those of which each is tested by itself.
var wires = []wire{
	{name: "Default"},
	{name: "Compact", settings: "protocol: compact", options: []string{"--compact"}},
	{name: "Unframed", settings: "framed: false", options: []string{"--unframed"}},
	{name: "UnframedCompact", settings: "framed: false, protocol: compact", options: []string{"--unframed", "--compact"}},
	{name: "NewestLibrary", jars: newestLibrary},
}

// overEach runs a test over each of the wires, with the address of a hosted handler.
func overEach(t *testing.T, ways []wire, test func(t *testing.T, wire wire, address string)) {
	t.Helper()
	for _, wire := range ways {
		t.Run(wire.name, func(t *testing.T) {
			t.Parallel()
			test(t, wire, freeAddress(t))
		})
	}
}

// bill is the hosted handler in the settings file, with more settings of it.
func (w wire) bill(address string, more ...string) string {
	all := append([]string{"id: bill", "type: thrift", fmt.Sprintf("address: %q", address)}, more...)
	if w.settings != "" {
		all = append(all, w.settings)
	}
	return "{" + strings.Join(all, ", ") + "}"
}

// host runs the hosted handler and waits until it serves.
func host(t *testing.T, address string, options, jars []string) *process {
	t.Helper()
	p := startJavaWith(t, jars, nil, "HostedHandler", append([]string{address}, options...)...)
	p.until(`^serving on `)
	return p
}

// send sends a payload under an id.
func (s *server) send(topic, id, payload string) {
	s.t.Helper()
	_, err := s.bus.Send(s.t.Context(), topic, eventbus.Raw{Payload: []byte(payload)}, eventbus.WithID(id))
	require.NoError(s.t, err)
}

// awaitFailure waits for the failure of an event in a state.
func (s *server) awaitFailure(topic, event string, state eventbus.FailureState) (failure eventbus.Failure) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		page, err := s.bus.Failures().List(s.t.Context(), topic, eventbus.FailureQuery{State: state})
		require.NoError(s.t, err)
		for _, f := range page.Failures {
			if f.EventID == event {
				failure = f
				return true
			}
		}
		return false
	}, patience, 10*time.Millisecond, "%s is no failure", event)
	return failure
}

func (s *server) awaitDone(topic string, want int64) {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return s.stats(topic).Done >= want }, patience, 20*time.Millisecond, "events are not handled")
}

// Each thing that a handler can say comes to what it should.
func TestHostedHandler(t *testing.T) {
	t.Parallel()
	overEach(t, wires, func(t *testing.T, wire wire, address string) {
		java := host(t, address, wire.options, wire.jars)
		s := serve(t, fmt.Sprintf(`
topics:
  - name: invoices
    handlers: [%s]
  - name: urgent
    handlers: [%s]
`, wire.bill(address, "retry: {initial: 50ms}"), wire.bill(address, "retry: {max_attempts: 1}", "timeout: 500ms")))

		s.send("invoices", "fine", `{"invoice":1}`)
		s.send("invoices", "later", `{"invoice":2,"bank":["busy","down","paid"]}`)
		s.send("invoices", "wrong", `{"invoice":`)
		s.send("urgent", "slow", `{"invoice":3,"bank":["slow"]}`)
		sent := time.Now()
		s.send("invoices", "pause", `{"invoice":4,"bank":["closed","paid"]}`)

		paused := s.awaitFailure("invoices", "pause", eventbus.Retrying)
		require.Contains(t, paused.Error, "answered RETRY_AFTER: the bank is closed")
		require.GreaterOrEqual(t, paused.NextAttempt.Sub(paused.FailedAt), 2*time.Second)
		java.until(`^pause attempt 2$`)
		require.GreaterOrEqual(t, time.Since(sent), 2*time.Second, "the pause was not kept")

		wrong := s.awaitFailure("invoices", "wrong", eventbus.Dead)
		require.Equal(t, eventbus.ReasonRejected, wrong.Reason)
		require.Equal(t, 1, wrong.Attempts)
		require.Regexp(t, `answered REJECT: this is no JSON: .+`, wrong.Error)

		slow := s.awaitFailure("urgent", "slow", eventbus.Dead)
		require.Equal(t, eventbus.ReasonExhausted, slow.Reason)
		require.Contains(t, slow.Error, "deadline exceeded")
		java.until(`^slow attempt 1: DONE$`) // whatever the bus thinks of it

		s.awaitDone("invoices", 3)
		java.until(`^later attempt 3: DONE$`)
		for line, want := range map[string]int{
			`^fine attempt \d$`: 1, `^fine attempt 1: DONE$`: 1,
			`^later attempt \d$`: 3, `^later attempt 1: RETRY: not handled$`: 1, `^later attempt 2: RETRY: the bank is down$`: 1,
			`^wrong attempt \d$`: 1, `^wrong attempt 1: REJECT: this is no JSON`: 1,
			`^pause attempt \d$`: 2, `^pause attempt 1: RETRY_AFTER: the bank is closed$`: 1, `^pause attempt 2: DONE$`: 1,
			`^slow attempt \d$`: 1,
		} {
			require.Equal(t, want, java.count(line), line)
		}
		stats := s.stats("invoices")
		require.Equal(t, []int64{4, 3, 4, 1, 0}, []int64{stats.Sent, stats.Done, stats.Failed, stats.Dead, stats.Retrying})
		s.process.stop(0)
		java.stop(143)
	})
}

// A process that dies takes no event with it: what it was at, and what comes while
// it is away, is handled once it is back. The breaker keeps the attempts.
func TestHostedHandlerDies(t *testing.T) {
	t.Parallel()
	overEach(t, wires[1:3], func(t *testing.T, wire wire, address string) {
		java := host(t, address, wire.options, wire.jars)
		s := serve(t, fmt.Sprintf(`
topics:
  - name: invoices
    handlers:
      - %s
`, wire.bill(address, "retry: {max_attempts: 5, initial: 50ms}", "breaker: {failures: 3, open: 3s}")))
		s.send("invoices", "begun", `{"invoice":1,"bank":["slow"]}`)
		java.until(`^begun attempt 1$`)
		java.kill()
		for i := range 20 {
			s.send("invoices", fmt.Sprintf("i-%d", i), fmt.Sprintf(`{"invoice":%d}`, 100+i))
		}
		s.until(`a circuit breaker has opened.* handler=bill`)
		require.Zero(t, s.stats("invoices").Done)

		java = host(t, address, wire.options, wire.jars)
		s.awaitDone("invoices", 21)
		require.Equal(t, 21, java.count(`^\S+ attempt \d: DONE$`), "each is handled once")
		stats := s.stats("invoices")
		require.Equal(t, []int64{0, 0, 0}, []int64{stats.Dead, stats.Retrying, stats.Died})
		require.Positive(t, stats.Failed)
		require.NotContains(t, java.said(), "begun attempt 1\n")
		s.process.stop(0)
		java.stop(143)
	})
}

// A restart between two events costs no attempt.
func TestHostedHandlerRestarts(t *testing.T) {
	t.Parallel()
	overEach(t, wires[1:3], func(t *testing.T, wire wire, address string) {
		s := serve(t, fmt.Sprintf("topics: [{name: invoices, handlers: [%s]}]", wire.bill(address)))
		for i := range 3 {
			java := host(t, address, wire.options, wire.jars)
			id := fmt.Sprintf("i-%d", i)
			s.send("invoices", id, fmt.Sprintf(`{"invoice":%d}`, i))
			java.until(`^` + id + ` attempt 1: DONE$`)
			s.awaitDone("invoices", int64(i+1))
			java.stop(143)
		}
		require.Zero(t, s.stats("invoices").Failed)
		s.process.stop(0)
	})
}

// A process that is asked to stop answers what it is at first. What comes meanwhile
// it takes no more: that is handled by the next one.
func TestHostedHandlerStopsSoftly(t *testing.T) {
	t.Parallel()
	overEach(t, wires, func(t *testing.T, wire wire, address string) {
		java := host(t, address, wire.options, wire.jars)
		s := serve(t, fmt.Sprintf("topics: [{name: invoices, handlers: [%s]}]", wire.bill(address, "retry: {initial: 50ms}")))
		s.send("invoices", "slow", `{"invoice":1,"bank":["slow"]}`)
		java.until(`^slow attempt 1$`)
		require.NoError(t, java.cmd.Process.Signal(syscall.SIGTERM))
		java.until(`^stopping$`)
		s.send("invoices", "late", `{"invoice":2}`)
		require.Contains(t, s.awaitFailure("invoices", "late", eventbus.Retrying).Error, "answered RETRY: the process is stopping")
		require.Equal(t, 143, java.wait())
		require.Equal(t, 1, java.count(`^slow attempt 1: DONE$`))
		s.awaitDone("invoices", 1)
		require.Zero(t, java.count(`^late `))

		next := host(t, address, wire.options, wire.jars)
		s.awaitDone("invoices", 2)
		require.Equal(t, 1, next.count(`^late attempt \d+: DONE$`))
		require.Zero(t, next.count(`^slow `), "it was answered")
		s.process.stop(0)
		next.stop(143)
	})
}

func TestHostedHandlerSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	taken := redistest.Start(t, redistest.Options{}).Client(t).Options().Addr
	for args, says := range map[string]string{
		"127.0.0.1":           `^HostedHandler: HOST:PORT is needed, got 127\.0\.0\.1$`,
		"127.0.0.1:0 --token": `^HostedHandler: option --token needs a value$`,
		"127.0.0.1:0 --tls":   `^HostedHandler: --tls and --token are for clients$`,
		taken:                 `^HostedHandler: Could not create ServerSocket on address `,
	} {
		java := startJava(t, nil, "HostedHandler", strings.Fields(args)...)
		require.NotZero(t, java.wait())
		java.until(says)
	}
}
