// Package failuretest holds no code. Its tests run a whole bus, over a real
// redis-server, against handlers, payloads, failures and keys that behave as
// badly as they can: handlers that end or block their process, floods of
// failures, replays that are killed, junk in the queues and in the bus's own
// places. Whatever happens to one event or one topic, the others go on, nothing
// is lost, nothing runs in a loop, and Redis is never blocked for long.
package failuretest
