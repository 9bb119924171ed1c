// Package port serves Thrift and HTTP on one TCP port that strangers reach.
//
// What a client speaks is told by its first bytes: HTTP goes to an HTTP server
// behind the port; all else is Thrift, framed or not, in the binary or the
// compact protocol, or THeader, told anew for each message.
//
// # Life of a connection
//
//	accept → silent → reading → calling → writing ─┐
//	                     ↑                         │
//	                     └──────── idle ←──────────┘
//
// Each state but calling has a deadline, and each is in the table with how long
// it has lasted: when there are too many connections, one more takes the place
// of the one that can be missed the most. After anything that cannot be read the
// connection is closed, for nobody knows where the next message begins.
//
// # What it survives
//
//   - Bytes that are no message, lengths of gigabytes, sizes below zero or
//     beyond what follows, types that do not exist, nesting without end: an
//     error after the bytes that were sent, at no more cost than those.
//   - Messages that become far more memory than they are bytes: what is made
//     of them is reckoned before it is made (see guard and budget).
//   - Clients that may not call: they are known before their arguments are read,
//     and never get memory that others wait for (see Config.Admit).
//   - Clients that say nothing, or a byte now and then, or take no answers:
//     deadlines, eviction when others want to be served, and a pace for those
//     that have memory which others wait for (see pace).
//   - More connections than there are files: see Server.Serve.
//   - Processors that panic: the caller is told, the log has the stack.
//   - Clients that go away: their calls are ended, not cut off, since half a
//     change is worse than one that nobody waits for.
package port
