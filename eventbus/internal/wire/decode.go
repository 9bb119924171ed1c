package wire

import "time"

// Decode reads one entry. It never fails: bytes that are an envelope are read
// as one, and all others are a bare payload, as Bare takes it; newID is called
// for those alone.
//
// An envelope is a JSON object whose "specversion" is "1.0" and whose "id",
// "source" and "type" are strings that are not empty. It is none when an
// attribute occurs twice, when both "data" and "data_base64" are there, when
// "time" or "datacontenttype" is not a string, or when "data_base64" is not
// base64; null stands for an attribute that is missing, except in "data".
//
//   - Data is the value of "data" as it stands there, not compacted, or the
//     decoded bytes of "data_base64", or empty.
//   - Time is zero where "time" is not a timestamp of RFC 3339.
//   - A missing content type is filled in as Append does.
//   - Attributes of the bus that have the wrong type, or are negative or
//     greater than their field allows, count as missing. Their numbers may come
//     as strings.
//   - All other attributes are Headers: strings as they are, numbers and
//     booleans as their JSON text. Objects, arrays and null are ignored.
//
// Data may share memory with raw, which must not be changed while the entry is
// in use; nothing else does.
func Decode(raw []byte, newID func() string) Entry {
	var e Entry
	if decodeOwn(raw, &e) {
		return e
	}
	if e, ok := decodeAny(raw); ok {
		return e
	}
	return Bare(raw, newID)
}

// Bare makes an entry of a bare payload: Data is raw itself, not a copy, the id
// is newID(), and the content type is "application/json" if raw is a JSON text
// and "application/octet-stream" otherwise.
func Bare(raw []byte, newID func() string) Entry {
	return Entry{
		ID:          newID(),
		ContentType: defaultContentType(raw),
		Data:        raw[:len(raw):len(raw)],
		Bare:        true,
	}
}

// parseTime returns the zero time for what is not a timestamp, and for one that
// Append could not write in UTC.
func parseTime(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}
	}
	if t = t.UTC(); !inRange(t) {
		return time.Time{}
	}
	return t
}
