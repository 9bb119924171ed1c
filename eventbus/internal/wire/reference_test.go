package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// referenceDecode says what an envelope is by means of encoding/json alone,
// without regard to cost. Both paths of Decode are held to it.
func referenceDecode(raw []byte) (e Entry, ok bool) {
	if !json.Valid(raw) {
		return e, false
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if token, err := dec.Token(); err != nil || token != json.Delim('{') {
		return e, false
	}
	values := map[string]json.RawMessage{}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return e, false
		}
		name := token.(string)
		if _, twice := values[name]; twice {
			return e, false
		}
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return e, false
		}
		values[name] = value
	}
	if _, err := dec.Token(); err != nil {
		return e, false
	}
	if _, err := dec.Token(); err != io.EOF {
		return e, false
	}

	str := func(name string) (text string) { // empty if it is no string
		if json.Unmarshal(values[name], &text) != nil {
			return ""
		}
		return text
	}
	optional := func(name string) bool {
		value, there := values[name]
		return !there || value[0] == '"' || string(value) == "null"
	}
	count := func(name string, most int64) int64 {
		text := string(values[name])
		if s := str(name); s != "" {
			text = s
		}
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 && n <= most {
			return n
		}
		return 0
	}
	e = Entry{
		ID: str("id"), Source: str("source"), Type: str("type"), ContentType: str("datacontenttype"), Data: values["data"],
		Handler: str("ebhandler"), Failure: str("ebfailure"), Attempt: int(count("ebattempt", math.MaxInt32)),
		Deliveries: int(count("ebdeliveries", math.MaxInt32)), FailedAt: count("ebfailedat", math.MaxInt64),
	}
	if str("specversion") != "1.0" || e.ID == "" || e.Source == "" || e.Type == "" ||
		!optional("time") || !optional("datacontenttype") || !optional("data_base64") {
		return e, false
	}
	if at, err := time.Parse(time.RFC3339, str("time")); err == nil {
		if at = at.UTC(); at.Year() >= 0 && at.Year() < 10000 {
			e.Time = at
		}
	}
	if value := values["data_base64"]; value != nil && string(value) != "null" {
		data, err := base64.StdEncoding.DecodeString(str("data_base64"))
		if err != nil || values["data"] != nil {
			return e, false
		}
		e.Data = data
	}
	if values["data"] != nil && values["data"][0] == '"' && !isJSONType(e.ContentType) {
		e.Data = []byte(str("data"))
	}
	if e.ContentType == "" {
		e.ContentType = defaultContentType(e.Data)
	}
	for name, value := range values {
		if isField(name) || value[0] == '{' || value[0] == '[' || string(value) == "null" {
			continue
		}
		if e.Headers == nil {
			e.Headers = map[string]string{}
		}
		e.Headers[name] = string(value)
		if value[0] == '"' {
			e.Headers[name] = str(name)
		}
	}
	return e, true
}

// checkPaths holds both paths of Decode to the reference: the general one reads
// just the same, and the fast one either that or nothing.
func checkPaths(t require.TestingT, raw []byte) (fastAccepted bool) {
	want, isEnvelope := referenceDecode(raw)
	general, ok := decodeAny(raw)
	require.Equal(t, isEnvelope, ok, "%q", raw)
	if ok {
		requireSame(t, want, general, "%q", raw)
	}
	var fast Entry
	if !decodeOwn(raw, &fast) {
		require.Equal(t, Entry{}, fast, "it leaves no trace of what it refuses")
		return false
	}
	require.True(t, isEnvelope, "only the fast path accepts %q", raw)
	requireSame(t, want, fast, "%q", raw)
	return true
}

// Envelopes of any order, spelling and spacing, and what is almost one.
func TestPathsAgreeOnForeignEnvelopes(t *testing.T) {
	t.Parallel()
	names := rapid.SampledFrom([]string{
		"specversion", "id", "source", "type", "time", "datacontenttype", "data", "data_base64", "subject", "ebook",
		"ebhandler", "ebattempt", "ebdeliveries", "ebfailure", "ebfailedat", `spec\u0076ersion`, `\u0069d`, "", "\xff", "é",
	})
	values := rapid.OneOf(
		rapid.SampledFrom(jsonTexts()),
		rapid.SampledFrom([]string{
			`"1.0"`, `"2025-08-20T14:30:45.5+02:00"`, `"AAE="`, `"AAE"`, `"x"`, `"\u00e9"`, "\"\xff\"", `7`, `-7`, `"7"`, `"+7"`, `"-7"`, `07`,
			`2147483647`, `2147483648`, `9223372036854775807`, `9223372036854775808`, `1.0`, `null`, `""`, `"null"`,
		}),
	)
	space := rapid.SampledFrom([]string{"", "", "", "", " ", "\n", "\t\r", "\v"})
	rapid.Check(t, func(t *rapid.T) {
		members := []string{`"specversion":"1.0"`, `"id":"1"`, `"source":"s"`, `"type":"t"`}
		if rapid.IntRange(0, 5).Draw(t, "short") == 0 {
			members = members[1:]
		}
		for range rapid.IntRange(0, 4).Draw(t, "more") {
			members = append(members, space.Draw(t, "sp")+`"`+names.Draw(t, "name")+`"`+space.Draw(t, "sp")+":"+
				space.Draw(t, "sp")+values.Draw(t, "value")+space.Draw(t, "sp"))
		}
		members = rapid.Permutation(members).Draw(t, "order")
		raw := []byte(space.Draw(t, "sp") + "{")
		for i, m := range members {
			if i > 0 {
				raw = append(raw, ',')
			}
			raw = append(raw, m...)
		}
		raw = append(raw, "}"+space.Draw(t, "sp")...)
		checkPaths(t, raw)
	})
}

// Both ways stop at the depth at which encoding/json does.
func TestPathsAgreeOnDepth(t *testing.T) {
	t.Parallel()
	for _, depth := range []int{maxDepth, maxDepth + 1, anyDepth - 1, anyDepth, anyDepth + 1, 100000} {
		raw := []byte(`{"specversion":"1.0","id":"1","source":"s","type":"t","datacontenttype":"a/json","data":` +
			strings.Repeat("[", depth) + strings.Repeat("]", depth) + `}`)
		require.Equal(t, depth <= maxDepth, checkPaths(t, raw), "the fast path takes depth %d", depth)
		require.Equal(t, depth >= anyDepth, Decode(raw, givenID).Bare, "depth %d", depth)
	}
}
