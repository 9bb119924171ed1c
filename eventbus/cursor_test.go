package eventbus

import (
	"errors"
	"math"
	"testing"
)

// A cursor comes from outside: any text is read or refused, and the one of a
// page leads to where it ended.
func FuzzCursor(f *testing.F) {
	f.Add("", int64(0), "")
	f.Add(formatCursor(1767225600000, "01890a5d-ac96-774b-bcce-b302099a8057"), int64(1), "a b")
	f.Add("!", int64(math.MinInt64), "\x00")
	f.Add("MSA", int64(math.MaxInt64), " ")
	f.Add("KzEgeA", int64(-1), "ä|")
	f.Fuzz(func(t *testing.T, text string, score int64, id string) {
		if _, _, err := parseCursor(text); err != nil && !errors.Is(err, ErrInvalidArgument) {
			t.Fatalf("%q is refused with %v", text, err)
		}
		gotScore, gotID, err := parseCursor(formatCursor(score, id))
		if err != nil || gotScore != score || gotID != id {
			t.Fatalf("cursor of (%d, %q) is read as (%d, %q), %v", score, id, gotScore, gotID, err)
		}
	})
}
