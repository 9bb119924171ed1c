package admin

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// pages follows the cursors of a list, whose elements have so many bytes each, and
// returns how many each page has.
func pages(t *testing.T, all []string, limit int, bytes map[string]int) (sizes []int) {
	t.Helper()
	var got []string
	for p := (Page{Limit: limit}); ; {
		require.NoError(t, p.check())
		page, next := cut(all, p, func(e string) string { return e }, func(e string) int { return bytes[e] })
		sizes = append(sizes, len(page))
		got = append(got, page...)
		if next == "" {
			break
		}
		require.NotEmpty(t, page)
		p.Cursor = next
	}
	require.Equal(t, all, got, "each once, in order")
	return sizes
}

// A page ends where its bytes would be too many, and the next one goes on exactly there.
func TestPageEndsByBytes(t *testing.T) {
	t.Parallel()
	var all []string
	bytes := map[string]int{}
	for i := range 7 {
		all = append(all, fmt.Sprint("e", i))
		bytes[all[i]] = maxPageBytes / 2
	}
	require.Equal(t, []int{2, 2, 2, 1}, pages(t, all, 0, bytes))
	require.Equal(t, []int{2, 2, 2, 1}, pages(t, all, 2, bytes), "both limits at once")
	require.Equal(t, []int{1, 1, 1, 1, 1, 1, 1}, pages(t, all, 1, bytes), "the number comes first")
	bytes["e1"]++
	require.Equal(t, []int{1, 1, 2, 2, 1}, pages(t, all, 0, bytes), "one byte too many")
	bytes["e1"] = 2 * maxPageBytes
	require.Equal(t, []int{1, 1, 2, 2, 1}, pages(t, all, 0, bytes), "one that is too large alone")
	bytes["e0"] = 2 * maxPageBytes
	require.Equal(t, []int{1, 1, 2, 2, 1}, pages(t, all, 0, bytes), "also as the first")
	require.Equal(t, []int{0}, pages(t, nil, 0, nil))
}

// A cursor holds when the element that it names is gone.
func TestCursorGoesOnWhereItsElementWas(t *testing.T) {
	t.Parallel()
	key := func(e string) string { return e }
	page, next := cut([]string{"a", "b", "c"}, Page{Limit: 2}, key, nil)
	require.Equal(t, []string{"a", "b"}, page)
	page, next = cut([]string{"a", "aa", "bb", "c"}, Page{Limit: 2, Cursor: next}, key, nil)
	require.Equal(t, []string{"bb", "c"}, page)
	require.Empty(t, next)
}
