package wire

import (
	"bytes"
	"encoding/base64"
	"math"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// decodeOwn is the fast path of Decode. It reads exactly what Append and
// AppendPending write: the known attributes in their known order, strings without escapes, no white
// space, data last. It returns false, without having touched e, for everything
// else, and leaves the judgement to decodeAny.
//
// It costs no memory: the strings are cut out of raw itself. Headers cost a map,
// base64 its decoded bytes.
//
// The data must be one JSON value that reaches to the last brace. That is what
// keeps a crafted tail from passing attributes off as data, or data as
// attributes: everything before it has been read in order, and nothing comes
// after it.
func decodeOwn(raw []byte, e *Entry) bool {
	c := cursor{b: raw}
	c.want(`{"specversion":"` + specVersion + `","id":"`)
	id := c.text()
	c.want(`,"source":"`)
	source := c.text()
	c.want(`,"type":"`)
	kind := c.text()
	var at span
	if c.skip(`,"time":"`) {
		at = c.text()
	}
	var contentType span
	pending := !c.skip(`,"datacontenttype":"`)
	if !pending {
		contentType = c.text()
	}
	if c.failed || id.empty() || source.empty() || kind.empty() || !pending && contentType.empty() {
		return false
	}

	headers, count := c.headers()

	var handler, failure span
	var attempt, deliveries, failedAt int64
	if c.skip(`,"` + attrHandler + `":"`) {
		handler = c.text()
	}
	if c.skip(`,"` + attrAttempt + `":`) {
		attempt = c.number()
	}
	if c.skip(`,"` + attrDeliveries + `":`) {
		deliveries = c.number()
	}
	if c.skip(`,"` + attrFailure + `":"`) {
		failure = c.text()
	}
	if c.skip(`,"` + attrFailedAt + `":`) {
		failedAt = c.number()
	}
	end := c.i
	if c.next(`,"`+attrData+`":`) && !isJSONType(textOf(raw[contentType.from:contentType.to])) {
		return false // it is the text of a JSON string
	}
	if pending && !c.next(`,"`+attrData+`":`) {
		return false // what its type is depends on the data
	}
	data := c.data()
	if c.failed || attempt > math.MaxInt32 || deliveries > math.MaxInt32 {
		return false
	}

	if !utf8.Valid(raw[id.from:end]) {
		return false
	}
	cut := func(s span) string { return textOf(raw[s.from:s.to]) }
	e.ID, e.Source, e.Type = cut(id), cut(source), cut(kind)
	if !at.empty() {
		e.Time = parseTime(cut(at))
	}
	if e.ContentType = cut(contentType); pending {
		e.ContentType = defaultContentType(data)
	}
	e.Data = data
	if count > 0 {
		e.Headers = splitHeaders(cut(headers), count)
	}
	e.Handler, e.Failure = cut(handler), cut(failure)
	e.Attempt, e.Deliveries, e.FailedAt = int(attempt), int(deliveries), failedAt
	return true
}

// textOf returns bytes as a string without copying them: nobody changes what was
// decoded, see Decode.
func textOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// splitHeaders cuts `,"a":"1","b":"2"` up, whose form cursor.headers has seen.
func splitHeaders(text string, count int) map[string]string {
	headers := make(map[string]string, count)
	for text != "" {
		name, rest, _ := strings.Cut(text[len(`,"`):], `"`)
		value, after, _ := strings.Cut(rest[len(`:"`):], `"`)
		headers[name] = value
		text = after
	}
	return headers
}

// span is a part of cursor.b.
type span struct{ from, to int }

func (s span) empty() bool { return s.from == s.to }

// cursor reads b from the left. Once it has failed it stays so, and what it
// returns means nothing.
type cursor struct {
	b      []byte
	i      int
	failed bool
}

// next tells whether literal comes next.
func (c *cursor) next(literal string) bool {
	return !c.failed && len(c.b)-c.i >= len(literal) && string(c.b[c.i:c.i+len(literal)]) == literal
}

// skip goes past literal, if that comes next.
func (c *cursor) skip(literal string) bool {
	if !c.next(literal) {
		return false
	}
	c.i += len(literal)
	return true
}

func (c *cursor) want(literal string) {
	if !c.skip(literal) {
		c.failed = true
	}
}

// text reads the rest of a string whose opening quote has been read, and goes
// past its closing one. It fails at an escape.
func (c *cursor) text() span {
	if c.failed {
		return span{}
	}
	i := nextSpecial(c.b, c.i)
	if i == len(c.b) || c.b[i] != '"' {
		c.failed = true
		return span{}
	}
	s := span{c.i, i}
	c.i = i + 1
	return s
}

// number reads a whole number without sign, of at most 18 digits, as it fits
// in an int64.
func (c *cursor) number() (n int64) {
	start := c.i
	for c.i < len(c.b) && isDigit(c.b[c.i]) && c.i-start <= 18 {
		n = n*10 + int64(c.b[c.i]-'0')
		c.i++
	}
	digits := c.i - start
	if digits == 0 || digits > 18 || digits > 1 && c.b[start] == '0' {
		c.failed = true
	}
	return n
}

// headers goes past all attributes that have no field in Entry. Their names
// must ascend, and thus none occurs twice.
func (c *cursor) headers() (all span, count int) {
	all = span{c.i, c.i}
	var last []byte
	for c.skip(`,"`) {
		s := c.text()
		if c.failed {
			return all, 0
		}
		name := c.b[s.from:s.to]
		if isField(string(name)) {
			c.i = all.to
			return all, count
		}
		if count > 0 && bytes.Compare(last, name) >= 0 {
			c.failed = true
			return all, 0
		}
		c.want(`:"`)
		c.text()
		last, all.to = name, c.i
		count++
	}
	return all, count
}

// data reads the last attribute and the end of the envelope.
func (c *cursor) data() []byte {
	if c.skip(`,"` + attrData + `":`) {
		end := len(c.b) - 1
		if c.i > end || c.b[end] != '}' || !isValue(c.b[c.i:end]) {
			c.failed = true
			return nil
		}
		return c.b[c.i:end:end]
	}
	c.want(`,"` + attrDataBase64 + `":"`)
	end := len(c.b) - len(`"}`)
	if c.failed || c.i > end || string(c.b[end:]) != `"}` {
		c.failed = true
		return nil
	}
	text := c.b[c.i:end]
	data := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(data, text)
	// The decoder passes over line breaks, which no JSON string may contain.
	if err != nil || bytes.IndexByte(text, '\r') >= 0 || bytes.IndexByte(text, '\n') >= 0 {
		c.failed = true
		return nil
	}
	return data[:n]
}
