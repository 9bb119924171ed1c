package wire

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// jsonTexts are JSON values without white space around them.
func jsonTexts() []string {
	return []string{
		`null`, `true`, `false`, `0`, `-0`, `1`, `-1`, `12.50`, `1e400`, `1E+2`, `-0.0e-0`,
		`130775545883395173`, `{"n":130775545883395173}`, `""`, `"a"`, `"\""`, `"\\\/\b\f\n\r\t\u00e9\uD83D\ude00"`,
		`"\u0000"`, `"\ud800"`, `"é語😀"`, "\"\u2028\u007f\"", `[]`, `{}`, `[[]]`, `[{}]`, `{"a":[]}`, `{"":{}}`,
		`[1,2,3]`, `{"a":1,"a":2}`, `{"b":[1,{"c":null}],"a":"x"}`, "{ \"a\" :\t[ 1 ,\r\n 2 ] , \"b\" : { } }",
		`{"specversion":"1.0","id":"x","source":"y","type":"z","data":{}}`, `{"id":1}`, `"\",\"ebattempt\":7,\"data\":\""`,
	}
}

// notJSON are near misses.
func notJSON() []string {
	return []string{
		``, ` `, `nul`, `nulll`, `True`, `00`, `01`, `-`, `+1`, `.5`, `1.`, `1.e1`, `1e`, `1e+`, `0x1`, `1_0`, `NaN`, `Infinity`, `--1`,
		`"`, `"a`, `'a'`, `"\"`, `"\x"`, `"\u12"`, `"\u123g"`, "\"\n\"", "\"\x00\"", "\"\x1f\"",
		`[`, `]`, `[1`, `[1,`, `[1,]`, `[,1]`, `[1 2]`, `[1}`, `{`, `}`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{,}`,
		`{a:1}`, `{1:1}`, `{"a" 1}`, `{"a":1]`, `{"a":}`, `{} {}`, `[] x`, `1 2`, "\ufeff{}", "{}\x00", `{"a":1 "b":2}`, `/**/1`,
	}
}

func TestIsValueTable(t *testing.T) {
	t.Parallel()
	for _, text := range jsonTexts() {
		require.True(t, json.Valid([]byte(text)), text)
		require.True(t, isValue([]byte(text)), text)
		require.True(t, isJSON([]byte(text)), text)
		for _, space := range []string{" ", "\t", "\n", "\r"} {
			require.False(t, isValue([]byte(space+text)), "space before %s", text)
			require.False(t, isValue([]byte(text+space)), "space after %s", text)
			require.True(t, isJSON([]byte(space+text+space)), "space around %s", text)
		}
	}
	for _, text := range notJSON() {
		require.False(t, json.Valid([]byte(text)), text)
		require.False(t, isValue([]byte(text)), text)
		require.False(t, isJSON([]byte(text)), text)
	}
}

func TestIsValueDepth(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{{"[", "]"}, {`{"a":`, "}"}, {`[{"a":`, "}]"}} {
		per := strings.Count(pair[0], "[") + strings.Count(pair[0], "{")
		nested := func(n int) []byte {
			return []byte(strings.Repeat(pair[0], n/per) + "1" + strings.Repeat(pair[1], n/per))
		}
		require.True(t, isValue(nested(maxDepth)))
		require.False(t, isValue(nested(maxDepth+per)))
		require.True(t, isJSON(nested(maxDepth+per)), "as long as encoding/json takes it")
		require.False(t, isJSON(nested(20000)))
	}
	require.False(t, isValue([]byte(strings.Repeat("[", 1<<20))), "ends at the limit, without a deep stack")
}

func TestIsJSONWantsUTF8(t *testing.T) {
	t.Parallel()
	require.True(t, json.Valid([]byte("\"\xff\"")), "encoding/json lets it pass")
	require.False(t, isJSON([]byte("\"\xff\"")))
}

// checkAgainstStdlib holds the scanner to json.Valid.
func checkAgainstStdlib(t require.TestingT, b []byte) {
	trimmed := len(b) > 0 && len(bytes.Trim(b, " \t\r\n")) == len(b)
	if bytes.Count(b, []byte("["))+bytes.Count(b, []byte("{")) <= maxDepth {
		require.Equal(t, trimmed && json.Valid(b), isValue(b), "isValue(%q)", b)
	}
	require.Equal(t, json.Valid(b) && utf8.Valid(b), isJSON(b), "isJSON(%q)", b)
}

func TestIsValueAgreesWithStdlib(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) { checkAgainstStdlib(t, anyData().Draw(t, "data")) })
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SampledFrom([]string{"{", "}", "[", "]", ",", ":", `"a"`, `"`, `\`, "1", "-", ".", "e", "0", "true", "null", " ", "\n"})
		var b []byte
		for _, part := range rapid.SliceOfN(parts, 0, 12).Draw(t, "parts") {
			b = append(b, part...)
		}
		checkAgainstStdlib(t, b)
	})
}

func FuzzIsValue(f *testing.F) {
	for _, text := range append(jsonTexts(), notJSON()...) {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) { checkAgainstStdlib(t, b) })
}
