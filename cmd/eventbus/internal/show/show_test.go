package show_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed4933/eventbus/cmd/eventbus/internal/show"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hostile holds what terminals obey: escape sequences in their 7-bit and 8-bit
// forms, a bell, a line break, a change of the direction of writing.
const hostile = "a\x1b[31mb\x07\u009b2Jc\rd\ne\u202ef\x7f\u2028"

func obeyed(s string) bool {
	return strings.ContainsAny(s, "\x1b\x07\u009b\r\u202e\x7f\u2028\x00")
}

func TestText(t *testing.T) {
	t.Parallel()
	require.Equal(t, `a\x1b[31mb\a\u009b2Jc\rd\ne\u202ef\x7f\u2028`, show.Text(hostile))
	require.Equal(t, "grün, 注文, ok � ", show.Text("grün, 注文, ok � "))
	require.Equal(t, `a\xffb\xc3`, show.Text("a\xffb\xc3"))
	require.Equal(t, "", show.Text(""))
}

func TestLine(t *testing.T) {
	t.Parallel()
	require.Equal(t, `one; two\x1b[m; three`, show.Line("one\ntwo\x1b[m\r\n\nthree\n"))
}

func TestCut(t *testing.T) {
	t.Parallel()
	require.Equal(t, "short", show.Cut("short", 5))
	require.Equal(t, "s…ter", show.Cut("shorter", 5))
	require.Equal(t, "ü…üü", show.Cut(strings.Repeat("ü", 1<<20), 4))
	require.Equal(t, "üü…üüüü", show.Cut(strings.Repeat("ü", 1<<20), 7))
	require.Equal(t, "注…終端", show.Cut("注"+strings.Repeat("文", 1000)+"終端", 4))
	require.Equal(t, `\x1…1b[31m`, show.Cut(strings.Repeat("\x1b[31m", 9), 10))
	require.Equal(t, "call the hand… connect: connection refused", show.Cut("call the handler at 127.0.0.1:9091: dial tcp 127.0.0.1:9091: connect: connection refused", 42))
}

type item struct {
	Name string     `json:"name"`
	At   *time.Time `json:"at"`
}

var columns = []show.Column[item]{
	{Head: "NAME", Text: func(i item) string { return i.Name }},
	{Head: "N", Text: func(i item) string { return "1" }},
}

func TestTableHoldsNoControls(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := show.NewPrinter(&out, false)
	require.NoError(t, show.List(p, true, columns, []item{{Name: "short"}, {Name: hostile}}))
	require.NoError(t, p.Sheet(nil, []show.Row{{Name: "Name", Text: hostile}}))
	require.NoError(t, p.Say(nil, "said %s", hostile))
	require.Empty(t, out.String(), "nothing is written before Flush")
	require.NoError(t, p.Flush())
	require.False(t, obeyed(out.String()), "%q", out.String())
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	require.Len(t, lines, 5)
	require.Regexp(t, `^NAME +N$`, lines[0])
	require.Regexp(t, `^short +1$`, lines[1])
}

// A table without its head has the columns that it would have under it.
func TestTableGoesOnUnderItsHead(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := show.NewPrinter(&out, false)
	require.NoError(t, show.List(p, true, columns, []item{{Name: "a"}}))
	require.NoError(t, show.List(p, false, columns, []item{{Name: "b"}}))
	require.NoError(t, show.List(p, false, columns, nil))
	require.NoError(t, p.Flush())
	require.Equal(t, "NAME  N\na     1\nb     1\n", out.String())
}

func TestJSONIsOneLineWithoutControls(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := show.NewPrinter(&out, true)
	at := time.Date(2026, 1, 2, 3, 4, 5, 678912345, time.FixedZone("", 3600))
	require.NoError(t, show.List(p, true, columns, []item{{Name: hostile + "\U000e0001<&>", At: show.Moment(at)}, {}}))
	member := show.Member{Name: "event", JSON: []byte("{\"data\":\t[130775545883395173, \"\u009b\U000e0001\"]}")}
	require.NoError(t, p.Object(item{Name: "x"}, member))
	require.NoError(t, p.Flush())
	require.False(t, obeyed(out.String()), "%q", out.String())
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	require.Len(t, lines, 3)
	var got item
	require.NoError(t, json.Unmarshal([]byte(lines[0]), &got))
	require.Equal(t, hostile+"\U000e0001<&>", got.Name)
	require.Contains(t, lines[0], `"at":"2026-01-02T02:04:05.678Z"`)
	require.Equal(t, `{"name":"","at":null}`, lines[1])
	require.Equal(t, "{\"name\":\"x\",\"at\":null,\"event\":{\"data\":\t[130775545883395173, \"\\u009b\\udb40\\udc01\"]}}", lines[2])
}

// refusing takes nothing.
type refusing struct{ err error }

func (r refusing) Write([]byte) (int, error) { return 0, r.err }

// That nothing can be written is told once, whoever met it first.
func TestFlushAfterTellsOnce(t *testing.T) {
	t.Parallel()
	full, other := errors.New("full"), errors.New("other")
	p := show.NewPrinter(refusing{full}, false)
	require.NoError(t, p.Say(nil, "short"))
	err := p.FlushAfter(other)
	require.Equal(t, "other\nwrite the answer: full", err.Error())
	var write *show.WriteError
	require.ErrorAs(t, err, &write)
	require.Same(t, full, write.Err)
	require.Equal(t, "write the answer: full", p.FlushAfter(nil).Error())
	again := fmt.Errorf("wrapped: %w", p.Say(nil, "%s", strings.Repeat("x", 1<<20)))
	require.Equal(t, "wrapped: write the answer: full", p.FlushAfter(again).Error())

	p = show.NewPrinter(&bytes.Buffer{}, false)
	require.NoError(t, p.FlushAfter(nil))
	require.Same(t, other, p.FlushAfter(other))
}

func TestDurations(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "-", 1234 * time.Nanosecond: "1µs", 12345 * time.Microsecond: "12ms", 1234 * time.Millisecond: "1.2s",
		90 * time.Second: "1m30s", time.Hour: "1h", 90 * time.Minute: "1h30m", 2160*time.Hour + time.Second: "90d",
		47*time.Hour + 59*time.Minute: "47h59m", 48 * time.Hour: "2d", 239*time.Hour + 59*time.Minute: "10d", 49*time.Hour + 31*time.Minute: "2d2h",
		27783*time.Hour + 7*time.Minute: "3y63d", 87600 * time.Hour: "10y", math.MaxInt64: "292y171d",
	} {
		require.Equal(t, want, show.Duration(d))
	}
	require.Equal(t, "1m0.5s", show.Exact(time.Minute+500*time.Millisecond))
	require.Equal(t, "5m", show.Exact(5*time.Minute))
	require.Equal(t, "-", show.Exact(0))
}

func TestCount(t *testing.T) {
	t.Parallel()
	require.Equal(t, "0 events", show.Count(0, "event"))
	require.Equal(t, "1 event", show.Count(1, "event"))
	require.Equal(t, "2 events", show.Count(int64(2), "event"))
}

func FuzzText(f *testing.F) {
	f.Add(hostile)
	f.Fuzz(func(t *testing.T, s string) {
		require.False(t, obeyed(show.Text(s)))
		require.LessOrEqual(t, len([]rune(show.Cut(s, 10))), 10)
	})
}
