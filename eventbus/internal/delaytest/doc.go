// Package delaytest holds no code. Its tests break the delaying of events, with real
// processes and a real redis-server, in the ways in which delayed queues have failed:
// masses that are due at once or overdue at the start, wrong clocks, cut connections,
// killed workers and senders, a restarting or refusing Redis, junk among the members.
// They hold the promises: nothing comes early by Redis's clock, nothing is lost,
// nothing comes twice unless a process died, and a lost wake-up costs a sweep at most.
package delaytest
