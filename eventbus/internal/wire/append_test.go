package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestAppendGolden(t *testing.T) {
	t.Parallel()
	at := time.Date(2025, 8, 20, 14, 30, 45, 120000000, time.FixedZone("", 2*60*60))
	cases := map[string]struct {
		entry Entry
		want  string
	}{
		"plain": {
			Entry{ID: "1", Source: "billing", Type: "orders", Time: at, ContentType: "application/json", Data: []byte(`{"id":1}`)},
			`{"specversion":"1.0","id":"1","source":"billing","type":"orders","time":"2025-08-20T12:30:45.12Z","datacontenttype":"application/json","data":{"id":1}}`,
		},
		"everything": {
			Entry{
				ID: "1", Source: "billing", Type: "orders", Time: at, ContentType: "application/cloud+json", Data: []byte(`[]`),
				Headers: map[string]string{"traceparent": "00-ab-cd-01", "subject": "größe \"x\"", "a": ""},
				Handler: "mail", Attempt: 3, Deliveries: 2, Failure: "f/1", FailedAt: 1755693045120,
			},
			`{"specversion":"1.0","id":"1","source":"billing","type":"orders","time":"2025-08-20T12:30:45.12Z","datacontenttype":"application/cloud+json",` +
				`"a":"","subject":"größe \"x\"","traceparent":"00-ab-cd-01",` +
				`"ebhandler":"mail","ebattempt":3,"ebdeliveries":2,"ebfailure":"f/1","ebfailedat":1755693045120,"data":[]}`,
		},
		"defaults, JSON": {
			Entry{ID: "1", Type: "orders", Data: []byte(`1`)},
			`{"specversion":"1.0","id":"1","source":"eventbus","type":"orders","datacontenttype":"application/json","data":1}`,
		},
		"defaults, JSON that cannot stand as it is": {
			Entry{ID: "1", Type: "orders", Data: []byte("1\n")},
			`{"specversion":"1.0","id":"1","source":"eventbus","type":"orders","datacontenttype":"application/json","data_base64":"MQo="}`,
		},
		"defaults, bytes": {
			Entry{ID: "1", Type: "orders", Data: []byte{0, 1, 254, 255}},
			`{"specversion":"1.0","id":"1","source":"eventbus","type":"orders","datacontenttype":"application/octet-stream","data_base64":"AAH+/w=="}`,
		},
		"empty": {
			Entry{ID: "1", Type: "orders"},
			`{"specversion":"1.0","id":"1","source":"eventbus","type":"orders","datacontenttype":"application/octet-stream","data_base64":""}`,
		},
		"line breaks inside of JSON": {
			Entry{ID: "1", Type: "orders", Data: []byte("{\r\n \"a\" : [ ]\n}")},
			`{"specversion":"1.0","id":"1","source":"eventbus","type":"orders","datacontenttype":"application/json","data":` + "{\r\n \"a\" : [ ]\n}}",
		},
		"escapes": {
			Entry{ID: "a\"b\\c/d\n\x00\x7f<é😀\u2028\ufffd\xff", Type: "t", Data: []byte(`null`)},
			`{"specversion":"1.0","id":"a\"b\\c/d\u000a\u0000` + "\x7f<é😀\u2028\ufffd\ufffd" + `","source":"eventbus","type":"t","datacontenttype":"application/json","data":null}`,
		},
		"negative counters are none": {
			Entry{ID: "1", Type: "t", Attempt: -1, Deliveries: -1, FailedAt: -1, Data: []byte(`0`)},
			`{"specversion":"1.0","id":"1","source":"eventbus","type":"t","datacontenttype":"application/json","data":0}`,
		},
		"headers that are fields": {
			Entry{ID: "1", Type: "t", Data: []byte(`0`), Headers: map[string]string{"id": "2", "data": "x", "ebattempt": "9", "ebook": "b"}},
			`{"specversion":"1.0","id":"1","source":"eventbus","type":"t","datacontenttype":"application/json","ebook":"b","data":0}`,
		},
		"a year that RFC 3339 lacks": {
			Entry{ID: "1", Type: "t", Data: []byte(`0`), Time: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)},
			`{"specversion":"1.0","id":"1","source":"eventbus","type":"t","datacontenttype":"application/json","data":0}`,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Append([]byte("before"), &c.entry)
			require.Equal(t, "before"+c.want, string(got))
			require.True(t, json.Valid([]byte(c.want)), "the golden text is JSON")
		})
	}
}

// What may stand as JSON and what must be base64.
func TestAppendChoosesDataMember(t *testing.T) {
	t.Parallel()
	member := func(data string) (name string, value json.RawMessage) {
		e := newEntry(data)
		var object map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(Append(nil, &e), &object))
		if value, ok := object["data"]; ok {
			require.NotContains(t, object, "data_base64")
			return "data", value
		}
		return "data_base64", object["data_base64"]
	}
	for _, data := range jsonTexts() {
		name, value := member(data)
		require.Equal(t, "data", name, data)
		require.Equal(t, data, string(value))
	}
	for _, data := range append(notJSON(), " {}", "{} ", "\n1", "1\n", "\"\xff\"", "\"\xed\xa0\x80\"",
		strings.Repeat("[", maxDepth+1)+strings.Repeat("]", maxDepth+1)) {
		name, value := member(data)
		require.Equal(t, "data_base64", name, data)
		require.Equal(t, `"`+base64.StdEncoding.EncodeToString([]byte(data))+`"`, string(value))
	}
}

// Whatever the strings hold, other JSON readers take the envelope, and read the
// attributes as encoding/json does.
func TestAppendIsJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := anyEntry().Draw(t, "entry")
		e.ID = string(rapid.SliceOfN(rapid.Byte(), 1, 20).Draw(t, "id bytes"))
		raw := Append(nil, &e)
		var object struct {
			SpecVersion, ID, Source, Type string
		}
		require.NoError(t, json.Unmarshal(raw, &object), "%q", raw)
		require.Equal(t, "1.0", object.SpecVersion)
		require.Equal(t, string([]rune(e.ID)), object.ID)
		require.Equal(t, e.Source, object.Source)
		require.Equal(t, e.Type, object.Type)
	})
}

// worst is an entry whose every string has to be escaped.
func worst() Entry {
	escaped := strings.Repeat("\x00", 50)
	e := Entry{
		ID: escaped, Source: escaped, Type: escaped, ContentType: escaped, Handler: escaped, Failure: escaped,
		Time:    time.Date(2025, 12, 31, 23, 59, 59, 123456789, time.UTC),
		Headers: map[string]string{}, Attempt: 1<<31 - 1, Deliveries: 1<<31 - 1, FailedAt: 1<<63 - 1,
		Data: []byte{0, 1, 2, 3},
	}
	for i := range MaxHeaders {
		e.Headers[fmt.Sprintf("h%d", i)] = "\x01\x02\x03"
	}
	return e
}

// The estimate must hold, or Append would allocate twice, and be close where
// nothing is escaped, or it would waste memory.
func TestAppendSizeEstimate(t *testing.T) {
	t.Parallel()
	check := func(t require.TestingT, e Entry) {
		out := Append(nil, &e)
		verbatim := isVerbatim(&e)
		contentType := e.ContentType
		if contentType == "" {
			contentType = typeBinary
		}
		require.LessOrEqual(t, len(out), sizeOf(&e, e.Source, contentType, verbatim))
	}
	check(t, worst())
	rapid.Check(t, func(t *rapid.T) { check(t, anyEntry().Draw(t, "entry")) })
	plain := newEntry(payload200)
	require.Less(t, cap(Append(nil, &plain)), len(Append(nil, &plain))+100)
}

// Only what its type says to be JSON stands in "data": another reader of
// CloudEvents would take JSON there for a value, and its string for a text.
func TestDataStandsAsJSONOnlyWhereItsTypeSaysSo(t *testing.T) {
	t.Parallel()
	for contentType, verbatim := range map[string]bool{
		"": true, typeJSON: true, "text/json": true, "application/problem+json; charset=utf-8": true, "APPLICATION/JSON": true,
		"text/plain": false, typeBinary: false, "application/jsonp": false, "json": false,
	} {
		for _, data := range []string{`{"a":1}`, `"text"`} {
			e := Entry{ID: "1", Source: "s", Type: "t", ContentType: contentType, Data: []byte(data)}
			raw := Append(nil, &e)
			require.Equal(t, verbatim, bytes.Contains(raw, []byte(`"data":`+data)), "%q: %s", contentType, raw)
			got := Decode(raw, noID(t))
			require.Equal(t, data, string(got.Data), "%q", contentType)
		}
	}
	foreign := `{"specversion":"1.0","id":"1","source":"s","type":"t","datacontenttype":"text/plain","data":"caf\u00e9"}`
	require.Equal(t, "café", string(Decode([]byte(foreign), noID(t)).Data))
}
