package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"
)

// anyDepth lets an envelope be nested as deeply as encoding/json reads it.
const anyDepth = 10000

// decodeAny reads any envelope, with its attributes in any order and form. It
// walks through the object rather than unmarshalling it, to see names that
// occur twice and to leave the data where they are. The entry counts only if ok.
func decodeAny(raw []byte) (e Entry, ok bool) {
	// Most bare payloads end here, at the price of a search. An escape is needed
	// to write the name in any other way.
	if !bytes.Contains(raw, []byte(attrSpecVersion)) && !bytes.Contains(raw, []byte(`\u`)) {
		return e, false
	}
	i := skipSpace(raw, 0)
	if i == len(raw) || raw[i] != '{' {
		return e, false
	}
	seen := make(map[string]bool, 8)
	forms := 0 // of the data; two would leave open which of them counts
	for end := false; !end; {
		var rawName, value []byte
		if rawName, value, i = nextMember(raw, i+1); i < 0 {
			return e, false
		}
		end = raw[i] == '}'
		name, ok := stringOf(rawName)
		if !ok || seen[name] {
			return e, false
		}
		seen[name] = true
		switch {
		case name == attrData:
			e.Data = value
			forms++
		case name == attrDataBase64 && !isNull(value):
			if e.Data, ok = base64Of(value); !ok {
				return e, false
			}
			forms++
		case !e.setAttribute(name, value):
			return e, false
		}
	}
	if skipSpace(raw, i+1) != len(raw) {
		return e, false
	}
	if !seen[attrSpecVersion] || e.ID == "" || e.Source == "" || e.Type == "" || forms > 1 {
		return e, false
	}
	if seen[attrData] && forms == 1 && !isJSONType(e.ContentType) {
		if text, isString := stringOf(e.Data); isString {
			e.Data = []byte(text)
		}
	}
	if e.ContentType == "" {
		e.ContentType = defaultContentType(e.Data)
	}
	return e, true
}

// nextMember reads one member of an object from raw[i] on. end is the index of
// the comma or the brace after it, or -1.
func nextMember(raw []byte, i int) (name, value []byte, end int) {
	from := skipSpace(raw, i)
	to := skipString(raw, from)
	colon := skipSpace(raw, to)
	if uint(colon) >= uint(len(raw)) || raw[colon] != ':' {
		return nil, nil, -1
	}
	valueFrom := skipSpace(raw, colon+1)
	valueTo := skipValue(raw, valueFrom, anyDepth-1)
	end = skipSpace(raw, valueTo)
	if uint(end) >= uint(len(raw)) || raw[end] != ',' && raw[end] != '}' {
		return nil, nil, -1
	}
	return raw[from:to], raw[valueFrom:valueTo:valueTo], end
}

// setAttribute returns false if the value means that this is no envelope.
func (e *Entry) setAttribute(name string, value []byte) bool {
	text, isString := stringOf(value)
	switch name {
	case attrSpecVersion:
		return isString && text == specVersion
	case attrID:
		e.ID = text
		return isString
	case attrSource:
		e.Source = text
		return isString
	case attrType:
		e.Type = text
		return isString
	case attrTime:
		if isString {
			e.Time = parseTime(text)
		}
		return isString || isNull(value)
	case attrContentType:
		e.ContentType = text
		return isString || isNull(value)
	case attrDataBase64: // null
	case attrHandler:
		e.Handler = text
	case attrFailure:
		e.Failure = text
	case attrAttempt:
		e.Attempt = int(countOf(value, math.MaxInt32))
	case attrDeliveries:
		e.Deliveries = int(countOf(value, math.MaxInt32))
	case attrFailedAt:
		e.FailedAt = countOf(value, math.MaxInt64)
	default:
		if !isString {
			if isNull(value) || value[0] == '{' || value[0] == '[' {
				return true
			}
			text = string(value)
		}
		if e.Headers == nil {
			e.Headers = make(map[string]string)
		}
		e.Headers[name] = text
	}
	return true
}

// stringOf returns the text of a JSON string.
func stringOf(value []byte) (string, bool) {
	if value[0] != '"' {
		return "", false
	}
	if inner := value[1 : len(value)-1]; isPlain(inner) {
		return string(inner), true
	}
	var text string // declared here, as it escapes
	err := json.Unmarshal(value, &text)
	return text, err == nil
}

func base64Of(value []byte) (data []byte, ok bool) {
	text, ok := stringOf(value)
	if !ok {
		return nil, false
	}
	data, err := base64.StdEncoding.DecodeString(text)
	return data, err == nil
}

func isNull(value []byte) bool { return string(value) == "null" }

// countOf reads a whole number from a JSON number or from the text of a string.
// It returns 0 for everything outside of 0 to most. Counters go up to the
// greatest Integer of CloudEvents, which has 32 bits, so that a forged one
// cannot overflow when the bus counts on.
func countOf(value []byte, most int64) int64 {
	text, isString := stringOf(value)
	if !isString {
		text = string(value)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > most {
		return 0
	}
	return n
}
