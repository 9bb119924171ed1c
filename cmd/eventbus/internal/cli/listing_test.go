package cli

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/seed4933/eventbus/eventbus"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// store answers as the bus does: a page is cut by its limit first and filtered
// then, and the cursor is where the next one begins.
type store struct {
	all   []eventbus.Failure
	calls int
}

func (s *store) fetch(q eventbus.FailureQuery) (eventbus.FailurePage, error) {
	s.calls++
	from, _ := strconv.Atoi(q.Cursor)
	to := min(from+q.Limit, len(s.all))
	var p eventbus.FailurePage
	for _, f := range s.all[from:to] {
		if q.Handler == "" || q.Handler == f.Handler {
			p.Failures = append(p.Failures, f)
		}
	}
	if to-from == q.Limit {
		p.Next = fmt.Sprint(to)
	}
	return p, nil
}

// However a list is cut into pages and filtered, it is whole: each failure that
// is asked for comes once, in order, and no page is longer than its limit.
func TestListingIsWhole(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		s := &store{}
		n := rapid.IntRange(0, 3000).Draw(t, "n")
		sparse := rapid.IntRange(1, 500).Draw(t, "sparse")
		l := listing{fetch: s.fetch, limit: rapid.IntRange(1, 2500).Draw(t, "limit"), all: rapid.Bool().Draw(t, "all")}
		if rapid.Bool().Draw(t, "by handler") {
			l.handler = "h0"
		}
		if rapid.Bool().Draw(t, "by time") {
			l.before = noon
		}
		var want []string
		for i := range n {
			f := eventbus.Failure{ID: fmt.Sprint(i), Handler: fmt.Sprintf("h%d", i%sparse), FailedAt: noon.Add(time.Duration(i%3-1) * time.Hour)}
			s.all = append(s.all, f)
			if (l.handler == "" || f.Handler == l.handler) && (l.before.IsZero() || f.FailedAt.Before(noon)) {
				want = append(want, f.ID)
			}
		}
		var got []string
		for {
			shown := 0
			next, err := l.pages(func(page []eventbus.Failure) error {
				shown += len(page)
				for _, f := range page {
					got = append(got, f.ID)
				}
				return nil
			})
			require.NoError(t, err)
			if next == "" {
				break
			}
			require.False(t, l.all)
			require.Equal(t, l.limit, shown)
			l.cursor = next
		}
		require.True(t, slices.Equal(want, got), "want %d, got %d", len(want), len(got))
	})
}

// The first few of many are found without reading all.
func TestListingReadsLittle(t *testing.T) {
	t.Parallel()
	s := &store{}
	for i := range 100_000 {
		s.all = append(s.all, eventbus.Failure{ID: fmt.Sprint(i), Handler: fmt.Sprintf("h%d", i%2)})
	}
	l := listing{fetch: s.fetch, limit: 1, handler: "h1"}
	next, err := l.pages(func(page []eventbus.Failure) error {
		require.Equal(t, "1", page[0].ID)
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, "2", next)
	require.LessOrEqual(t, s.calls, 12)
}
