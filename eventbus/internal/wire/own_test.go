package wire

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Without escapes in its strings, an entry must take the fast path.
func TestFastPathTakesPlainEntries(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		plain := rapid.StringMatching(`[ !#-\[\]-~é語😀]{1,30}`)
		e := anyEntry().Draw(t, "entry")
		e.ID, e.Source, e.Type = plain.Draw(t, "id"), plain.Draw(t, "source"), plain.Draw(t, "type")
		e.ContentType, e.Handler, e.Failure = plain.Draw(t, "ct"), plain.Draw(t, "handler"), plain.Draw(t, "failure")
		e.FailedAt %= 1e18
		e.Headers = rapid.MapOfN(rapid.StringMatching(`[a-df-z0-9][a-z0-9]{0,9}`).Filter(func(s string) bool { return !isField(s) }),
			rapid.StringMatching(`[ !#-\[\]-~é語😀]{0,30}`), 0, 4).Draw(t, "headers")
		if len(e.Headers) == 0 {
			e.Headers = nil
		}
		raw := Append(nil, &e)
		require.True(t, checkPaths(t, raw), "%q", raw)
		requireSame(t, e, Decode(raw, noID(t)))
	})
}

func TestFastPathEqualsGeneralPath(t *testing.T) {
	t.Parallel()
	fragments := []string{
		`"`, `\`, `,`, `:`, `{`, `}`, `[`, ` `, "\n", "\x00", "\xff", `0`, `-`, `\u0061`, `null`, `"":""`,
		`,"id":"2"`, `,"data":1`, `,"data_base64":"AA=="`, `,"a":"b"`, `,"a":1`, `,"ebattempt":1`, `,"ebattempt":01`,
		`,"ebattempt":99999999999`, `,"ebhandler":"x"`, `,"ebfailedat":123456789012345678901`, `,"specversion":"1.0"`, `,"datacontenttype":""`,
	}
	rapid.Check(t, func(t *rapid.T) {
		e := anyEntry().Draw(t, "entry")
		raw := Append(nil, &e)
		for range rapid.IntRange(0, 3).Draw(t, "changes") {
			from := rapid.IntRange(0, len(raw)).Draw(t, "from")
			to := min(len(raw), from+rapid.SampledFrom([]int{0, 0, 0, 1, 2, 8}).Draw(t, "cut"))
			raw = slices.Replace(raw, from, to, []byte(rapid.SampledFrom(fragments).Draw(t, "fragment"))...)
		}
		checkPaths(t, raw)
	})
	// Changes that keep to the boundaries between attributes are seldom drawn above.
	rapid.Check(t, func(t *rapid.T) {
		e := newEntry(rapid.SampledFrom([]string{`{"id":1}`, `x`}).Draw(t, "data"))
		e.Headers = map[string]string{"a": "1", "k": "é"}
		e.Handler, e.Attempt, e.FailedAt = "h", 1, 5
		parts := strings.SplitAfter(string(Append(nil, &e)), ",")
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			at := rapid.IntRange(0, len(parts)-1).Draw(t, "at")
			switch rapid.IntRange(0, 2).Draw(t, "change") {
			case 0:
				parts = slices.Insert(parts, at, strings.TrimPrefix(rapid.SampledFrom(fragments).Draw(t, "fragment"), ",")+",")
			case 1:
				other := rapid.IntRange(0, len(parts)-1).Draw(t, "other")
				parts[at], parts[other] = parts[other], parts[at]
			case 2:
				parts = slices.Insert(parts, at, parts[at])
			}
		}
		checkPaths(t, []byte(strings.Join(parts, "")))
	})
}

// Bytes made to pass one attribute off as another.
func TestFastPathRefusesForgeries(t *testing.T) {
	t.Parallel()
	const head = `{"specversion":"1.0","id":"1","source":"s","type":"t","datacontenttype":"a/json"`
	for _, tail := range []string{
		`,"data":1,"ebattempt":9}`,
		`,"data":{},"data":{}}`,
		`,"data":{}},"x":{}}`,
		`,"data":"a","ebhandler":"b"}`,
		`,"data_base64":"AA==","ebhandler":"b"}`,
		`,"data_base64":"AA==","data":"AA=="}`,
		`,"data":1,"data_base64":"AA=="}`,
		`,"data":1]`, `,"data":1x`, `,"data":{}"`, `,"data_base64":"AA=="]`, `,"data_base64":"AA==}}`,
		`,"data":}`, `,"data":`, `,"data":1`, `,"data": 1}`, `,"data":1 }`, `,"data":1}}`, "\x00}",
		`,"data_base64":"A"}`, `,"data_base64":"AA=="`, `,"data_base64":""`, `,"data_base64":"`, `,"data_base64":"}`, "", "}",
		`,"data_base64":"AA==\n"}`, "\"data_base64\":\"AA\r\n==\"}",
		`,"id":"2","data":1}`, `,"a":"1","a":"2","data":1}`, `,"b":"1","a":"2","data":1}`, `,"":"","":"","data":1}`,
		`,"ebattempt":1,"ebhandler":"h","data":1}`, `,"ebattempt":1,"a":"b","data":1}`,
		`,"ebattempt":"1","data":1}`, `,"ebattempt":01,"data":1}`, `,"ebattempt":-1,"data":1}`, `,"ebattempt":,"data":1}`,
		`,"ebattempt":1.0,"data":1}`, `,"ebattempt":2147483648,"data":1}`, `,"ebfailedat":9223372036854775808,"data":1}`,
		`,"a":"\"","data":1}`, "," + `"a":"` + "\xff" + `","data":1}`, "," + `"a":"` + "\n" + `","data":1}`,
	} {
		raw := []byte(head + tail)
		require.False(t, checkPaths(t, raw), "%s", raw)
	}
	whole := head + `,"data":1}`
	require.True(t, checkPaths(t, []byte(whole)), "the head alone is not at fault")
	for _, change := range [][2]string{
		{`"1.0"`, `"0.3"`}, {`"id":"1"`, `"id":""`}, {`"source":"s"`, `"source":""`}, {`"type":"t"`, `"type":""`}, {`"a/json"`, `""`},
		{`"id":"1","source":"s"`, `"source":"s","id":"1"`}, {`,"type":"t"`, ``}, {`:"1.0"`, `: "1.0"`}, {`{"spec`, ` {"spec`},
	} {
		raw := []byte(strings.Replace(whole, change[0], change[1], 1))
		require.False(t, checkPaths(t, raw), "%s", raw)
	}
}
