package name

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
)

func TestCheckAllows(t *testing.T) {
	t.Parallel()
	for class, names := range map[string][]string{
		"lower and upper":   {"a", "Z", "orders", "UserRegistered"},
		"digits":            {"0", "42", "2fa"},
		"marks":             {".", "_", "-", ":", "/", "user.registered", "a_b-c:d/e", "..", "-x", "/x/"},
		"Latin":             {"größe", "naïve", "łódź", "İstanbul"},
		"Greek":             {"παραγγελίες"},
		"Cyrillic":          {"заказы"},
		"Hebrew":            {"הזמנות"},
		"Arabic":            {"طلبات"},
		"Han":               {"订单", "注文"},
		"Kana":              {"カート", "ひらがな"},
		"Hangul":            {"주문"},
		"Devanagari":        {"नमक"},
		"beyond the BMP":    {"𝒳", "𐐷", "𠀀"},
		"digits of scripts": {"٤٢", "४२", "４２"},
		"255 bytes":         {strings.Repeat("a", 255), strings.Repeat("訂", 85)},
	} {
		for _, s := range names {
			require.NoError(t, Check("topic", s), "%s: %q", class, s)
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	t.Parallel()
	for class, c := range map[string]struct {
		says  string
		names []string
	}{
		"empty":         {"it is empty", []string{""}},
		"256 bytes":     {"it has 256 bytes", []string{strings.Repeat("a", 256), "a" + strings.Repeat("訂", 85)}},
		"long":          {"it has 1048576 bytes", []string{strings.Repeat("a", 1<<20)}},
		"not UTF-8":     {"not valid UTF-8", []string{"\xff", "a\xc3", "\xc0\xaf", "\xed\xa0\x80", "orders\x80"}},
		"braces":        {"is not allowed", []string{"{", "}", "{a}", "a{b"}},
		"other marks":   {"is not allowed", []string{"a|b", "a,b", "a;b", "a+b", "a=b", "a@b", "a#b", "a%b", "a&b", "a!b", "a~b", "a$b", "a^b", "a(b", "a)b", "a'b", `a"b`, "a`b", `a\b`, "a<b", "a>b"}},
		"globs":         {"is not allowed", []string{"*", "a?", "[a", "a]"}},
		"spaces":        {"is not allowed", []string{" ", "a b", "a\t", "a\n", "a\r", "a\u00a0b", "a\u2003b", "a\u2028b", "\ufeffa"}},
		"controls":      {"is not allowed", []string{"\x00", "a\x00", "a\x1b[0m", "a\x7f", "a\u0085"}},
		"invisible":     {"is not allowed", []string{"a\u200bb", "a\u200db", "a\u202eb", "a\u00adb"}},
		"symbols":       {"is not allowed", []string{"😀", "€", "a×b", "½", "²", "Ⅷ"}},
		"replacement":   {"is not allowed", []string{"\ufffd"}},
		"combining":     {"is not allowed", []string{"e\u0301"}},
		"look-alikes":   {"is not allowed", []string{"a‐b", "a／b", "a：b", "a．b", "a＿b"}},
		"private, none": {"is not allowed", []string{"\ue000", "\U0010ffff"}},
	} {
		for _, s := range c.names {
			err := Check("topic", s)
			require.ErrorIs(t, err, errs.InvalidArgument, "%s: %q", class, s)
			require.ErrorContains(t, err, c.says, "%s: %q", class, s)
			require.ErrorContains(t, err, "invalid topic", class)
			require.ErrorContains(t, err, Rule, "%s: it says what would be right", class)
			require.Less(t, len(err.Error()), 700, "%s: a long name is cut", class)
			require.True(t, utf8.ValidString(err.Error()), "%s: the message can be printed", class)
		}
	}
}

func TestCheckSaysWhere(t *testing.T) {
	t.Parallel()
	var argument *errs.Argument
	require.ErrorAs(t, Check("handler id", "größe x"), &argument)
	require.Equal(t, "handler id", argument.Field)
	require.Contains(t, argument.Reason, `' ' at byte 7`)
}

// The rule, written once more in another form.
func TestCheckProperty(t *testing.T) {
	t.Parallel()
	check := func(t *rapid.T, s string) {
		valid := s != "" && len(s) <= 255 && utf8.ValidString(s)
		for _, r := range s {
			valid = valid && (strings.ContainsRune("._-:/", r) || unicode.In(r, unicode.L, unicode.Nd))
		}
		require.Equal(t, valid, Check("topic", s) == nil, "%q", s)
	}
	rapid.Check(t, func(t *rapid.T) { check(t, rapid.String().Draw(t, "name")) })
	rapid.Check(t, func(t *rapid.T) {
		check(t, rapid.StringOfN(rapid.RuneFrom([]rune("aZ09._-:/é訂"), unicode.L, unicode.Nd), 0, 100, 260).Draw(t, "name"))
	})
	rapid.Check(t, func(t *rapid.T) {
		check(t, string(rapid.SliceOfN(rapid.Byte(), 0, 10).Draw(t, "name")))
	})
}

func FuzzCheck(f *testing.F) {
	for _, s := range []string{"", "orders", "größe", "{a}", "\xff", strings.Repeat("a", 256)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if Check("topic", s) != nil {
			return
		}
		require.NotEmpty(t, s)
		require.LessOrEqual(t, len(s), MaxLen)
		require.True(t, utf8.ValidString(s))
		require.False(t, strings.ContainsAny(s, "{}[]*?| \t\r\n\x00\"\\"), "%q", s)
	})
}
