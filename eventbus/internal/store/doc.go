// Package store is the only one that knows Redis: its keys, its scripts, its
// error codes. Everything that moves an event from one place to another is one
// script here, so that no crash can fall between two halves of a move.
//
// # The places of an event
//
// In each group an event is in exactly one of these, or done:
//
//	          send                     claim                 finish: done
//	producer ─────▶ queue ───────────────────▶ in flight ──────────────▶ gone
//	                  ▲                            │
//	                  │ reclaim, put back          │ finish: failed
//	                  ├────────────────────────────┤
//	                  │ due, replay                ▼
//	                  └──────────────────── retry set / dead set
//
// # Rules that every script keeps
//
//   - It reads each key with the command of that key's type before its first
//     write. A key of another type in our place therefore fails the script
//     while nothing has been moved.
//   - Where it moves something out of Redis's reach of "OOM", the first write is
//     a removal: Redis refuses only a first write that needs memory, so that
//     consuming goes on, and frees memory, while sending is refused.
//   - Its work is bounded by its arguments, never by the backlog.
//   - It takes the time from Redis.
//   - Statistics are written last and with pcall: they never stop a move.
package store
