package wire

import (
	"encoding/base64"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// defaultSource stands for an empty Source, which CloudEvents does not allow.
const defaultSource = "eventbus"

// Append appends e to dst as a CloudEvents 1.0 JSON object and returns the
// extended slice. It allocates at most once, and not at all where dst has room.
// dst must not share memory with e.Data.
//
// The payload stands in "data" as it is, if it is JSON (valid, in UTF-8, nested
// no deeper than 512, without white space around it) and its type says so, and in
// "data_base64" otherwise. So Decode gives back the same bytes always, and every
// other reader of CloudEvents does.
//
// e.ID and e.Type must not be empty: what is written would be read as a bare
// payload. An empty Source is written as "eventbus", and an empty ContentType
// as "application/json" or "application/octet-stream", whichever the payload
// is. Headers should have passed CheckHeaders; one that bears the name of a
// field of Entry is left out. A Time outside of the years 0 to 9999 is left out.
// Invalid UTF-8 in strings becomes U+FFFD.
func Append(dst []byte, e *Entry) []byte { return appendEntry(dst, e, false) }

func appendEntry(dst []byte, e *Entry, pending bool) []byte {
	verbatim := isVerbatim(e)
	contentType := e.ContentType
	if contentType == "" {
		contentType = typeJSON
		if !verbatim {
			contentType = defaultContentType(e.Data)
		}
	}
	source := e.Source
	if source == "" {
		source = defaultSource
	}

	dst = slices.Grow(dst, sizeOf(e, source, contentType, verbatim))
	dst = append(dst, `{"specversion":"`+specVersion+`","id":`...)
	dst = appendString(dst, e.ID)
	dst = append(dst, `,"source":`...)
	dst = appendString(dst, source)
	dst = append(dst, `,"type":`...)
	dst = appendString(dst, e.Type)
	if !e.Time.IsZero() && !(pending && e.Time.Equal(TimeOf(e.ID))) {
		if t := e.Time.UTC(); inRange(t) {
			dst = append(dst, `,"time":"`...)
			dst = t.AppendFormat(dst, time.RFC3339Nano)
			dst = append(dst, '"')
		}
	}
	if !pending || !verbatim || contentType != typeJSON {
		dst = append(dst, `,"datacontenttype":`...)
		dst = appendString(dst, contentType)
	}
	if len(e.Headers) > 0 {
		dst = appendHeaders(dst, e.Headers)
	}
	dst = appendOwn(dst, e)
	if verbatim {
		dst = append(dst, `,"data":`...)
		dst = append(dst, e.Data...)
		return append(dst, '}')
	}
	dst = append(dst, `,"data_base64":"`...)
	dst = base64.StdEncoding.AppendEncode(dst, e.Data)
	return append(dst, `"}`...)
}

// isVerbatim tells whether the payload may stand in "data".
func isVerbatim(e *Entry) bool {
	return isJSONType(e.ContentType) && isValue(e.Data) && utf8.Valid(e.Data)
}

// appendHeaders writes the headers in the order of their names, so that equal
// entries are equal bytes and Decode can tell a name that occurs twice.
func appendHeaders(dst []byte, headers map[string]string) []byte {
	var buf [MaxHeaders]string
	names := buf[:0]
	for name := range headers {
		if !isField(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		dst = append(dst, ',')
		dst = appendString(dst, name)
		dst = append(dst, ':')
		dst = appendString(dst, headers[name])
	}
	return dst
}

// appendOwn writes the attributes of the bus that are not zero.
func appendOwn(dst []byte, e *Entry) []byte {
	if e.Handler != "" {
		dst = append(dst, `,"`+attrHandler+`":`...)
		dst = appendString(dst, e.Handler)
	}
	if e.Attempt > 0 {
		dst = append(dst, `,"`+attrAttempt+`":`...)
		dst = strconv.AppendInt(dst, int64(e.Attempt), 10)
	}
	if e.Deliveries > 0 {
		dst = append(dst, `,"`+attrDeliveries+`":`...)
		dst = strconv.AppendInt(dst, int64(e.Deliveries), 10)
	}
	if e.Failure != "" {
		dst = append(dst, `,"`+attrFailure+`":`...)
		dst = appendString(dst, e.Failure)
	}
	if e.FailedAt > 0 {
		dst = append(dst, `,"`+attrFailedAt+`":`...)
		dst = strconv.AppendInt(dst, e.FailedAt, 10)
	}
	return dst
}

// sizeOf returns at least the length of what Append writes, and little more
// unless strings have to be escaped.
func sizeOf(e *Entry, source, contentType string, verbatim bool) int {
	const (
		names    = len(`{"specversion":"1.0","id":,"source":,"type":,"time":"","datacontenttype":,"data_base64":""}`)
		ownNames = len(`,"ebhandler":,"ebattempt":,"ebdeliveries":,"ebfailure":,"ebfailedat":`)
		ownInts  = 3 * len("9223372036854775807")
	)
	n := names + len(time.RFC3339Nano) +
		quotedLen(e.ID) + quotedLen(source) + quotedLen(e.Type) + quotedLen(contentType)
	for name, value := range e.Headers {
		n += quotedLen(name) + quotedLen(value) + len(`,:`)
	}
	if e.Handler != "" || e.Attempt > 0 || e.Deliveries > 0 || e.Failure != "" || e.FailedAt > 0 {
		n += ownNames + ownInts + quotedLen(e.Handler) + quotedLen(e.Failure)
	}
	if verbatim {
		return n + len(e.Data)
	}
	return n + base64.StdEncoding.EncodedLen(len(e.Data))
}
