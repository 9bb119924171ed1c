// Package conformance is the suite that the bus must pass on every kind of
// Redis: each promise of the package documentation that can be seen from
// outside, without killing a process, is one test here. The tests of package
// eventbus run it over an in-memory stand-in, a server, and a Cluster.
//
// The tests look at the bus through its public interface. Where they touch
// Redis themselves, they do what foreign producers and operators do: push onto
// a list, read one, look which keys there are.
package conformance

import (
	"testing"

	"github.com/redis/go-redis/v9"
)

// test is one promise.
type test struct {
	name string
	run  func(e *env)
}

// Run runs the suite on the Redis that connect returns a client of. It is called
// once; all tests share the server, each in a namespace of its own, and run in
// parallel.
func Run(t *testing.T, connect func(t *testing.T) redis.UniversalClient) {
	rdb := connect(t)
	for _, group := range []struct {
		name  string
		tests []test
	}{
		{"Send", sending()},
		{"Event", events()},
		{"Order", order()},
		{"Outcome", outcomes()},
		{"Retry", retries()},
		{"Delayed", delayed()},
		{"Payload", payloads()},
		{"Topic", topics()},
		{"Delete", deletion()},
		{"Group", groups()},
		{"Foreign", foreign()},
		{"Raw", raw()},
		{"AtMostOnce", atMostOnce()},
		{"Failures", failures()},
		{"Replay", replays()},
		{"Limits", limits()},
		{"Settings", settings()},
		{"Disabled", disabled()},
		{"Breaker", breakers()},
		{"Figures", figures()},
		{"Life", life()},
		{"Stop", stops()},
		{"Names", names()},
		{"Server", server()},
	} {
		t.Run(group.name, func(t *testing.T) {
			t.Parallel()
			for _, c := range group.tests {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					c.run(setup(t, rdb))
				})
			}
		})
	}
}
