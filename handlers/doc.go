// Package handlers holds ready-made handlers and middleware for package
// eventbus.
//
// Handlers: File appends each event to a file and has it on disk before it
// reports success, Log writes each event to a stream, and Webhook posts it.
// All three hand on the event as a CloudEvents 1.0 JSON object whose payload
// is byte for byte what was sent. Thrift has another process handle it, in any
// language that Thrift knows; that process says what becomes of the event.
//
// Middleware: Logging writes a log line per run, Deduplicate keeps an event
// that a handler has handled from being handled again, and RateLimit holds a
// handler to so many runs a second.
//
// Delivery is at least once: a handler may see an event again after a crash, so
// a file may hold an event's line twice, and a webhook's receiver or a Thrift
// server may be sent it twice. The event's id is the same each time.
package handlers
