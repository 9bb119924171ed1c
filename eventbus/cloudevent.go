package eventbus

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"slices"
	"unicode/utf8"

	"github.com/seed4933/eventbus/eventbus/internal/wire"
)

// CloudEvent returns the event as one CloudEvents 1.0 JSON object (structured
// mode), without the bus's own extensions. The payload stands in "data" as it
// is, if it is JSON in UTF-8 without white space around it, and in
// "data_base64" otherwise: whoever reads the object gets the same bytes. An
// empty Source is written as "eventbus", an empty Type as the topic.
func (e *Event) CloudEvent() []byte {
	return wire.Append(nil, e.entry(e.Payload))
}

// AppendCloudEventLine appends the object that CloudEvent returns, and a
// newline, to dst and returns the extended slice. The object holds no other
// line break (newline-delimited JSON): a payload with one, such as indented
// JSON, stands in "data_base64".
func (e *Event) AppendCloudEventLine(dst []byte) []byte {
	if !bytes.ContainsAny(e.Payload, "\r\n") {
		return append(wire.Append(dst, e.entry(e.Payload)), '\n')
	}
	entry := e.entry(nil)
	if entry.ContentType == "" && utf8.Valid(e.Payload) && json.Valid(e.Payload) {
		entry.ContentType = "application/json" // as for CloudEvent
	}
	// No data is written as an empty data_base64 at the end, which is filled here.
	const end = `"}`
	dst = wire.Append(dst, entry)
	dst = dst[:len(dst)-len(end)]
	dst = slices.Grow(dst, base64.StdEncoding.EncodedLen(len(e.Payload))+len(end)+1)
	dst = base64.StdEncoding.AppendEncode(dst, e.Payload)
	return append(dst, end+"\n"...)
}

func (e *Event) entry(data []byte) *wire.Entry {
	entry := &wire.Entry{
		ID: e.ID, Type: e.Type, Source: e.Source, Time: e.Time,
		ContentType: e.ContentType, Data: data, Headers: e.Headers,
	}
	if entry.Type == "" {
		entry.Type = e.Topic
	}
	return entry
}
