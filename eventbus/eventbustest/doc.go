// Package eventbustest helps to test programs that use the bus, without a
// server: a bus on an in-memory stand-in for Redis in the test's own process,
// functions that wait for what the program should have sent and handled, and a
// clock that the test moves.
//
//	func TestWelcome(t *testing.T) {
//		bus := eventbustest.New(t)
//		mail.Register(bus.Bus) // the program's own wiring: bus.Handle(…)
//		bus.Start(t)
//
//		signup.Do(bus.Bus, "ada") // sends user.registered
//
//		bus.RequireSent(t, "user.registered", nil)
//		bus.RequireHandled(t, "user.registered", "welcome-mail", 1)
//	}
//
// # The clock
//
// Redis's clock decides when a retry or a delayed event is due, and here that clock
// is the test's: it goes on by itself, and [Clock.Advance] moves it. What becomes due
// by that comes at once, so that a test of an event that is delayed by an hour, or of
// a retry after one, takes a millisecond; [Bus.Drain] does so until nothing is left
// to do. [Bus.Sent] and [Bus.RequireSent] see an event from the moment in which it is
// sent, also while it is delayed.
//
// The timeouts of handlers and the breakers go by the process's own clock, which
// Advance does not move, and so does time.Now: once the clock was moved on, an event
// with eventbus.WithDueAt(time.Now().Add(time.Minute)) is due at once. Give the
// program [Clock.Now] for its time, or let it use eventbus.WithDelay.
//
// # What it is not
//
// The stand-in runs the same scripts as a server, and passes the same suite of
// tests. It knows nothing of failovers, memory limits or slow networks: test
// what depends on those against a server.
package eventbustest
