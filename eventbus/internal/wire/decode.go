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
//     decoded bytes of "data_base64", or empty. Where the content type says that
//     it is no JSON, a string in "data" stands for its text (CloudEvents JSON
//     format, section 3.1).
//   - Where "time" is not a timestamp of RFC 3339, Time is that of an id that is a
//     UUIDv7, and else zero.
//   - A missing content type is filled in as Append does.
//   - Attributes of the bus that have the wrong type, or are negative or
//     greater than their field allows, count as missing. Their numbers may come
//     as strings.
//   - All other attributes are Headers: strings as they are, numbers and
//     booleans as their JSON text. Objects, arrays and null are ignored.
//
// Data and the strings may share memory with raw, which must not be changed while
// they are in use, but not with one another: whoever writes into Data changes
// nothing else.
func Decode(raw []byte, newID func() string) Entry {
	var e Entry
	if !decodeOwn(raw, &e) {
		var ok bool
		if e, ok = decodeAny(raw); !ok {
			return Bare(raw, newID)
		}
	}
	if e.Time.IsZero() {
		e.Time = TimeOf(e.ID)
	}
	return e
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
	if t, ok := parseUTC(s); ok {
		return t
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}
	}
	if t = t.UTC(); !inRange(t) {
		return time.Time{}
	}
	return t
}

// parseUTC is the fast path of parseTime, for what Append writes: a time in UTC
// with up to nine digits behind the second.
func parseUTC(s string) (t time.Time, ok bool) {
	const form = "2006-01-02T15:04:05Z"
	if len(s) < len(form) || s[len(s)-1] != 'Z' {
		return t, false
	}
	var n [6]int // year to second
	at := 0
	for i, digits := range [6]int{4, 2, 2, 2, 2, 2} {
		for range digits {
			if !isDigit(s[at]) {
				return t, false
			}
			n[i] = n[i]*10 + int(s[at]-'0')
			at++
		}
		if i < 5 && s[at] != form[at] {
			return t, false
		}
		if i < 5 {
			at++
		}
	}
	nano, unit := 0, int(time.Second)
	if fraction := s[at : len(s)-1]; fraction != "" {
		if fraction[0] != '.' || len(fraction) == 1 || len(fraction) > 10 {
			return t, false
		}
		for _, c := range []byte(fraction[1:]) {
			if !isDigit(c) {
				return t, false
			}
			unit /= 10
			nano += int(c-'0') * unit
		}
	}
	if n[3] > 23 || n[4] > 59 || n[5] > 59 {
		return t, false
	}
	t = time.Date(n[0], time.Month(n[1]), n[2], n[3], n[4], n[5], nano, time.UTC)
	// A month or day that does not exist has become another one.
	return t, int(t.Month()) == n[1] && t.Day() == n[2] && inRange(t)
}
