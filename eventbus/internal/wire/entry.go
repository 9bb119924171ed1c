// Package wire is the codec of one queue entry. An entry is a CloudEvents 1.0
// JSON object (cloudevents.io, "JSON Event Format"), or a bare payload that a
// foreign producer pushed.
//
// Two promises shape it. The payload that a handler gets is byte for byte the
// one that was sent, whatever bytes these are. And no bytes found in a queue
// make Decode fail: what is not an envelope is a payload.
//
// Append writes the attributes in one fixed order with data last. Decode has a
// fast path for exactly that form (own.go), and a general one (any.go) for every
// other envelope. The tests hold both to a third that is built on encoding/json
// alone: the general path reads just the same, the fast one either that or
// nothing.
package wire

import (
	"strings"
	"time"
)

// Entry is one queue entry, decoded.
type Entry struct {
	// ID, Type and Source are the CloudEvents attributes "id", "type" and
	// "source". ID and Type must not be empty when the entry is written.
	ID, Type, Source string
	// Time is the CloudEvents "time", in UTC; zero when unknown.
	Time time.Time
	// ContentType is the CloudEvents "datacontenttype".
	ContentType string
	// Data is the payload, byte for byte. After Decode and Bare it may share
	// memory with the bytes that were decoded.
	Data []byte
	// Headers are the other attributes: optional ones of CloudEvents ("subject",
	// "dataschema") and extensions, without the bus's own. Nil when there are none.
	Headers map[string]string

	// Handler is the one handler that the entry is addressed to ("ebhandler");
	// empty means all of them.
	Handler string
	// Attempt counts the attempts made before ("ebattempt").
	Attempt int
	// Deliveries counts the deliveries that ended with the death of the process
	// that held the entry ("ebdeliveries").
	Deliveries int
	// Failure is the id of the failure that this entry retries ("ebfailure").
	Failure string
	// FailedAt is when the event first failed, in milliseconds since the epoch
	// ("ebfailedat"); 0 means never.
	FailedAt int64

	// Bare tells that the entry was a bare payload. Only Decode and Bare set it,
	// and Append does not look at it.
	Bare bool
}

// specVersion is the only version of CloudEvents that is read or written.
const specVersion = "1.0"

// Attributes of CloudEvents that have a field of their own in Entry, or none.
const (
	attrSpecVersion = "specversion"
	attrID          = "id"
	attrSource      = "source"
	attrType        = "type"
	attrTime        = "time"
	attrContentType = "datacontenttype"
	attrData        = "data"
	attrDataBase64  = "data_base64"
)

// Extension attributes of the bus.
const (
	attrHandler    = "ebhandler"
	attrAttempt    = "ebattempt"
	attrDeliveries = "ebdeliveries"
	attrFailure    = "ebfailure"
	attrFailedAt   = "ebfailedat"
)

// ownPrefix begins the names that are kept for the bus.
const ownPrefix = "eb"

const (
	typeJSON   = "application/json"
	typeBinary = "application/octet-stream"
)

// isField tells whether the attribute has its place in an envelope outside of
// Headers.
func isField(name string) bool { return isCore(name) || isOwn(name) }

func isCore(name string) bool {
	switch name {
	case attrSpecVersion, attrID, attrSource, attrType, attrTime, attrContentType, attrData, attrDataBase64:
		return true
	}
	return false
}

func isOwn(name string) bool {
	switch name {
	case attrHandler, attrAttempt, attrDeliveries, attrFailure, attrFailedAt:
		return true
	}
	return false
}

// isJSONType tells whether content of the type is JSON, by the rule of CloudEvents'
// JSON format (section 3.1): the subtype is "json" or ends with "+json". Content
// without a type counts as JSON there.
func isJSONType(contentType string) bool {
	if contentType == "" || contentType == typeJSON {
		return true
	}
	media, _, _ := strings.Cut(contentType, ";")
	media = strings.ToLower(strings.TrimSpace(media))
	return strings.HasSuffix(media, "/json") || strings.HasSuffix(media, "+json")
}

// defaultContentType is what stands for a missing "datacontenttype". Append,
// Decode and Bare share it, so that an entry keeps its type on the way.
func defaultContentType(data []byte) string {
	if isJSON(data) {
		return typeJSON
	}
	return typeBinary
}

// inRange tells whether RFC 3339 can express t: its years have four digits.
func inRange(t time.Time) bool { return t.Year() >= 0 && t.Year() <= 9999 }
