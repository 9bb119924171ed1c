package wire

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestDecodeGivesBackWhatAppendWrote(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := anyEntry().Draw(t, "entry")
		raw := Append(nil, &e)
		requireSame(t, e, Decode(raw, noID(t)), "%q", raw)
	})
}

// The kinds of payload that other systems change on the way.
func TestPayloadsKeepTheirBytes(t *testing.T) {
	t.Parallel()
	payloads := append(jsonTexts(), notJSON()...)
	payloads = append(payloads,
		`{"id":130775545883395173,"big":1e400,"small":1E-400,"a":[],"o":{},"f":1.0}`,
		"\x00", "a\x00b", "{\"a\":\"\x00\"}", "\xff\xfe", "\"\xc3\x28\"", "\xef\xbb\xbf{}",
		" {}", "{}\n", "\t[1]\r\n", "<p>&amp;</p>", `"<>&\u003c"`, `{"b":1,"a":2,"b":3}`,
	)
	for _, payload := range payloads {
		for _, contentType := range []string{typeJSON, typeBinary, "text/plain"} {
			checkPayload(t, payload, contentType)
		}
	}
	for _, payload := range []string{
		strings.Repeat("[", 5000) + strings.Repeat("]", 5000),
		strings.Repeat("[", 1<<20),
		`"` + strings.Repeat("x", 1<<20) + `"`,
		strings.Repeat("\x00\xff", 1<<19),
	} {
		checkPayload(t, payload, typeJSON)
	}
}

func checkPayload(t *testing.T, payload, contentType string) {
	e := newEntry(payload)
	e.ContentType = contentType
	e.Headers = map[string]string{"subject": "s"}
	raw := Append(nil, &e)
	got := Decode(raw, noID(t))
	require.True(t, bytes.Equal(e.Data, got.Data), "payload %.60q", payload)
	requireSame(t, e, got)
	require.True(t, json.Valid(raw), "the envelope is JSON for all")
	require.True(t, bytes.Equal(raw, Append(nil, &got)), "a second trip, as through delay, retry and replay")
}

// Envelopes as other producers write them.
func TestDecodeForeignEnvelopes(t *testing.T) {
	t.Parallel()
	const core = `"specversion":"1.0","id":"1","source":"/s","type":"t"`
	base := Entry{ID: "1", Source: "/s", Type: "t", ContentType: typeJSON}
	with := func(change func(e *Entry)) Entry {
		e := base
		change(&e)
		return e
	}
	data := func(s string) Entry { return with(func(e *Entry) { e.Data = []byte(s) }) }
	binary := func(s string) Entry {
		return with(func(e *Entry) { e.Data, e.ContentType = []byte(s), typeBinary })
	}
	headers := func(h map[string]string) Entry {
		return with(func(e *Entry) { e.Data, e.Headers = []byte(`0`), h })
	}
	at := time.Date(2025, 8, 20, 12, 30, 45, 0, time.UTC)
	cases := map[string]struct {
		raw  string
		want Entry
	}{
		"no data":              {`{` + core + `}`, binary("")},
		"white space":          {" \n{ \"type\" : \"t\" ,\t\"id\":\"1\", \"source\" : \"/s\",\r\n\"specversion\" :\"1.0\" , \"data\" : 1 } \n", data("1")},
		"data in the middle":   {`{"data":{"a" : [ ] },` + core + `}`, data(`{"a" : [ ] }`)},
		"data with an escape":  {`{"d\u0061ta":5,` + core + `}`, data("5")},
		"version, escaped":     {`{"spec\u0076ersion":"\u0031.0","id":"1","source":"/s","type":"t","data":5}`, data("5")},
		"data null":            {`{` + core + `,"data":null}`, data("null")},
		"data, bad UTF-8":      {`{` + core + `,"data":"` + "\xff" + `"}`, with(func(e *Entry) { e.Data, e.ContentType = []byte("\"\xff\""), typeBinary })},
		"data, deep":           {`{` + core + `,"data":` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `}`, data(strings.Repeat("[", 600) + strings.Repeat("]", 600))},
		"base64":               {`{"data_base64":"AAH+/w==",` + core + `}`, binary("\x00\x01\xfe\xff")},
		"base64 of JSON":       {`{"data_base64":"e30K",` + core + `}`, data("{}\n")},
		"base64 null":          {`{"data_base64":null,` + core + `,"data":0}`, data("0")},
		"base64 with a line":   {`{"data_base64":"e3\n0=",` + core + `}`, data("{}")},
		"type null":            {`{` + core + `,"datacontenttype":null,"time":null,"data":0}`, data("0")},
		"type empty":           {`{` + core + `,"datacontenttype":"","data":0}`, data("0")},
		"type given":           {`{` + core + `,"datacontenttype":"text/plain","data":"x"}`, with(func(e *Entry) { e.Data, e.ContentType = []byte("x"), "text/plain" })},
		"time, other zone":     {`{` + core + `,"time":"2025-08-20T14:30:45+02:00","data":0}`, with(func(e *Entry) { e.Data, e.Time = []byte("0"), at })},
		"time, not one":        {`{` + core + `,"time":"yesterday","data":0}`, data("0")},
		"time, out of range":   {`{` + core + `,"time":"9999-12-31T23:59:59-01:00","data":0}`, data("0")},
		"time, before year 0":  {`{` + core + `,"time":"0000-01-01T00:00:00+01:00","data":0}`, data("0")},
		"headers":              {`{` + core + `,"b":true,"n":1e400,"m":-1.50,"s":"é\n","e":"","o":{"x":1},"l":[1],"z":null,"data":0}`, headers(map[string]string{"b": "true", "n": "1e400", "m": "-1.50", "s": "é\n", "e": ""})},
		"header names":         {`{` + core + `,"Data":"x","ID":"y","ebook":"z","":"w","data":0}`, headers(map[string]string{"Data": "x", "ID": "y", "ebook": "z", "": "w"})},
		"only ignored headers": {`{` + core + `,"o":{},"z":null,"data":0}`, headers(nil)},
		"addressed": {`{` + core + `,"ebhandler":"h","ebattempt":1,"ebdeliveries":2,"ebfailure":"f","ebfailedat":1755693045120,"data":0}`, with(func(e *Entry) {
			e.Data, e.Handler, e.Attempt, e.Deliveries, e.Failure, e.FailedAt = []byte("0"), "h", 1, 2, "f", 1755693045120
		})},
		"counters as strings": {`{` + core + `,"ebattempt":"1","ebdeliveries":"2","ebfailedat":"9223372036854775807","data":0}`, with(func(e *Entry) {
			e.Data, e.Attempt, e.Deliveries, e.FailedAt = []byte("0"), 1, 2, 1<<63-1
		})},
		"counters, greatest": {`{` + core + `,"ebattempt":2147483647,"ebdeliveries":2147483647,"ebfailedat":9223372036854775807,"data":0}`, with(func(e *Entry) {
			e.Data, e.Attempt, e.Deliveries, e.FailedAt = []byte("0"), 1<<31-1, 1<<31-1, 1<<63-1
		})},
		"counters too great": {`{` + core + `,"ebattempt":2147483648,"ebdeliveries":"2147483648","ebfailedat":9223372036854775808,"data":0}`, data("0")},
		"counters negative":  {`{` + core + `,"ebattempt":-1,"ebdeliveries":"-1","ebfailedat":-5,"data":0}`, data("0")},
		"counters not whole": {`{` + core + `,"ebattempt":1.5,"ebdeliveries":1e3,"ebfailedat":"x","data":0}`, data("0")},
		"own, wrong types":   {`{` + core + `,"ebhandler":1,"ebattempt":{},"ebdeliveries":[1],"ebfailure":null,"ebfailedat":true,"data":0}`, data("0")},
		"own, null":          {`{` + core + `,"ebhandler":null,"ebattempt":null,"ebdeliveries":null,"ebfailedat":null,"data":0}`, data("0")},
		"own, empty":         {`{` + core + `,"ebhandler":"","ebattempt":"","ebfailure":"","data":0}`, data("0")},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Decode([]byte(c.raw), noID(t))
			requireSame(t, c.want, got)
			require.False(t, got.Bare)
			requireSame(t, c.want, Decode(Append(nil, &got), noID(t)), "once more")
		})
	}
}

// Everything that is not quite an envelope is a payload, as it is.
func TestDecodeBare(t *testing.T) {
	t.Parallel()
	const core = `"specversion":"1.0","id":"1","source":"s","type":"t"`
	own := newEntry(`{"id":1}`)
	own.Headers = map[string]string{"a": "1"}
	whole := string(Append(nil, &own))
	raws := append(jsonTexts(), notJSON()...)
	raws = append(raws,
		`{"specversion":"0.3","id":"1","source":"s","type":"t"}`,
		`{"specversion":"1.1","id":"1","source":"s","type":"t"}`,
		`{"specversion":1.0,"id":"1","source":"s","type":"t"}`,
		`{"id":"1","source":"s","type":"t"}`,
		`{"specversion":"1.0","source":"s","type":"t"}`,
		`{"specversion":"1.0","id":"1","type":"t"}`,
		`{"specversion":"1.0","id":"1","source":"s"}`,
		`{"specversion":"1.0","id":"","source":"s","type":"t"}`,
		`{"specversion":"1.0","id":"1","source":"","type":"t"}`,
		`{"specversion":"1.0","id":"1","source":"s","type":""}`,
		`{"specversion":"1.0","id":1,"source":"s","type":"t"}`,
		`{"specversion":"1.0","id":"1","source":{},"type":"t"}`,
		`{"specversion":"1.0","id":"1","source":"s","type":null}`,
		`{"SpecVersion":"1.0","ID":"1","Source":"s","Type":"t"}`,
		`[{`+core+`}]`,
		`{`+core+`,"time":5}`,
		`{`+core+`,"time":{}}`,
		`{`+core+`,"datacontenttype":5}`,
		`{`+core+`,"data_base64":5}`,
		`{`+core+`,"data_base64":"*"}`,
		`{`+core+`,"data_base64":"e30"}`,
		`{`+core+`,"data_base64":"e30=","data":1}`,
		`{`+core+`,"data":1,"data_base64":"e30="}`,
		`{`+core+`,"id":"1"}`,
		`{`+core+`,"\u0069d":"2"}`,
		`{`+core+`,"data":1,"data":1}`,
		`{`+core+`,"ebattempt":1,"ebattempt":1}`,
		`{`+core+`,"a":1,"a":1}`,
		`{`+core+`,"specversion":"1.0"}`,
		`{`+core+`,}`,
		`{`+core+`}}`,
		`{`+core+`}{}`,
		`{`+core+`} x`,
		`{`+core,
		`{`+core+`,"datacontenttype":"j","data":1,"ebattempt":1`,
		strings.Replace(whole, `"data":`, `"data": }`, 1),
		strings.Replace(whole, `"a":"1"`, "\"a\":\"\n\"", 1),
		strings.Replace(whole, `"data":{"id":1}`, "\"data_base64\":\"e3\n0=\"", 1),
		strings.Replace(whole, `"data":{"id":1}`, `"data":{"id":1},"data":2`, 1),
		whole+"\x00", whole+"}", "\xef\xbb\xbf"+whole,
	)
	for i := range whole {
		raws = append(raws, whole[:i])
	}
	for _, raw := range raws {
		if strings.HasPrefix(raw, `{"specversion":"1.0","id":"x","source":"y"`) {
			continue // the one among the JSON texts that is an envelope
		}
		want := Entry{ID: "given", ContentType: typeBinary, Data: []byte(raw), Bare: true}
		if json.Valid([]byte(raw)) {
			want.ContentType = typeJSON
		}
		requireSame(t, want, Decode([]byte(raw), givenID), "%q", raw)
		requireSame(t, want, Bare([]byte(raw), givenID), "%q", raw)
	}
}

func TestBareTakesEnvelopesAsTheyAre(t *testing.T) {
	t.Parallel()
	e := newEntry(`{"id":1}`)
	raw := Append(nil, &e)
	requireSame(t, Entry{ID: "given", ContentType: typeJSON, Data: raw, Bare: true}, Bare(raw, givenID))
}

func TestBareContentType(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{}`: typeJSON, " [1]\n": typeJSON, `null`: typeJSON, "": typeBinary, " ": typeBinary,
		"\x00": typeBinary, "\"\xff\"": typeBinary, "plain": typeBinary, "{}x": typeBinary,
	} {
		require.Equal(t, want, Bare([]byte(raw), givenID).ContentType, "%q", raw)
	}
}

// Handlers may write into Data, and append to it: neither may change the strings,
// which share what was decoded with it.
func TestWritingIntoDataChangesNothingElse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := anyEntry().Draw(t, "entry")
		raw := Append(nil, &e)
		if rapid.Bool().Draw(t, "foreign form") {
			raw = append(raw, '\n')
		}
		before := bytes.Clone(raw)
		got := Decode(raw, noID(t))
		require.Equal(t, e.Data, append(got.Data, '#')[:len(got.Data)])
		require.Equal(t, before, raw)
		data := bytes.Clone(got.Data)
		for i := range got.Data {
			got.Data[i] = '#'
		}
		got.Data = data
		requireSame(t, e, got)
	})
	raw := make([]byte, 2, 10)
	require.Equal(t, 2, cap(Bare(raw, givenID).Data))
}
