package wire

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
)

func TestCheckHeadersAllows(t *testing.T) {
	t.Parallel()
	full := map[string]string{}
	for i := range MaxHeaders {
		full[fmt.Sprintf("h%d", i)] = "x"
	}
	for _, h := range []map[string]string{
		nil,
		{},
		{"subject": "a/b"},
		{"dataschema": "https://example.com/s.json"},
		{"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "tracestate": ""},
		{"a": "x", "0": "x", "z9": "größe 語 😀 \"\\<>&"},
		{strings.Repeat("a", MaxHeaderName): strings.Repeat("v", MaxHeaderValue)},
		{"e": "x", "be": "x", "idx": "x", "datax": "x"},
		full,
	} {
		require.NoError(t, CheckHeaders(h), "%.100v", h)
	}
}

func TestCheckHeadersRefuses(t *testing.T) {
	t.Parallel()
	tooMany := map[string]string{}
	for i := range MaxHeaders + 1 {
		tooMany[fmt.Sprintf("h%d", i)] = "x"
	}
	cases := map[string]struct {
		headers map[string]string
		says    string
	}{
		"too many":         {tooMany, "there are 65"},
		"empty name":       {map[string]string{"": "x"}, "it is empty"},
		"long name":        {map[string]string{strings.Repeat("a", MaxHeaderName+1): "x"}, "it has 21 bytes"},
		"value too long":   {map[string]string{"a": strings.Repeat("v", MaxHeaderValue+1)}, "its value has 8193 bytes"},
		"value not UTF-8":  {map[string]string{"a": "\xff"}, "not valid UTF-8"},
		"value surrogate":  {map[string]string{"a": "\xed\xa0\x80"}, "not valid UTF-8"},
		"first of several": {map[string]string{"b!": "x", "a!": "x", "c!": "x"}, `"a!"`},
	}
	for _, name := range []string{"A", "aB", "a-b", "a_b", "a.b", "a b", "a\x00", "é", "١", "a\xff", "a\n", `a"`} {
		cases["name "+name] = struct {
			headers map[string]string
			says    string
		}{map[string]string{name: "x"}, "is not allowed"}
	}
	for _, name := range []string{"specversion", "id", "source", "type", "time", "datacontenttype", "data"} {
		cases["core "+name] = struct {
			headers map[string]string
			says    string
		}{map[string]string{name: "x"}, "attribute of the envelope"}
	}
	cases["core data_base64"] = struct {
		headers map[string]string
		says    string
	}{map[string]string{"data_base64": "x"}, "is not allowed"}
	for _, name := range []string{"eb", "ebhandler", "ebattempt", "ebook"} {
		cases["own "+name] = struct {
			headers map[string]string
			says    string
		}{map[string]string{name: "x"}, "the bus's own"}
	}
	for _, control := range []string{"\x00", "\n", "\t", "\x1f", "\x7f", "\u0080", "\u009f"} {
		cases[fmt.Sprintf("value %q", control)] = struct {
			headers map[string]string
			says    string
		}{map[string]string{"a": "x" + control + "y"}, "control character"}
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := CheckHeaders(c.headers)
			require.ErrorIs(t, err, errs.InvalidArgument)
			var argument *errs.Argument
			require.True(t, errors.As(err, &argument))
			require.Contains(t, err.Error(), c.says)
			require.Less(t, len(err.Error()), 500, "long values are cut")
		})
	}
}

// What CheckHeaders lets pass comes back from the wire unchanged.
func TestCheckedHeadersRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := newEntry(`{}`)
		e.Headers = anyHeaders().Draw(t, "headers")
		if CheckHeaders(e.Headers) != nil {
			return
		}
		requireSame(t, e, Decode(Append(nil, &e), noID(t)))
	})
}
