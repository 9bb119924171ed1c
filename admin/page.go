package admin

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"

	"github.com/seed4933/eventbus/eventbus"
)

const (
	// maxPageBytes bounds what a page's elements have together, well below a frame
	// of 16 MB.
	maxPageBytes = 8 << 20
	// elementSize is more than an element has besides what is counted: its names,
	// of 255 bytes at most each, and its numbers.
	elementSize = 2 << 10
)

func (p Page) check() error {
	if p.Limit < 0 || p.Limit > MaxPage {
		return &eventbus.ArgumentError{Field: "limit", Value: fmt.Sprint(p.Limit), Reason: "1 to 1000 are right"}
	}
	if _, err := base64.RawURLEncoding.DecodeString(p.Cursor); err != nil {
		return &eventbus.ArgumentError{Field: "cursor", Value: fmt.Sprintf("%.80q", p.Cursor), Reason: "it is not one that a page returned as its next"}
	}
	return nil
}

// cut returns the page of a list that is sorted by its keys, and the cursor of the
// next page. A cursor is the last key of its page, so that it also holds when the
// list has changed.
func cut[T any](all []T, p Page, key func(T) string, size func(T) int) (page []T, next string) {
	after, _ := base64.RawURLEncoding.DecodeString(p.Cursor) // check has seen it
	all = slices.SortedFunc(slices.Values(all), func(a, b T) int { return cmp.Compare(key(a), key(b)) })
	if len(after) > 0 {
		first, found := slices.BinarySearchFunc(all, string(after), func(e T, k string) int { return cmp.Compare(key(e), k) })
		if found {
			first++
		}
		all = all[first:]
	}
	limit, bytes := cmp.Or(p.Limit, DefaultPage), 0
	for i, e := range all {
		if size != nil {
			bytes += size(e)
		}
		if i == limit || bytes > maxPageBytes && i > 0 {
			return all[:i], cursor(key(all[i-1]))
		}
	}
	return all, ""
}

func cursor(last string) string { return base64.RawURLEncoding.EncodeToString([]byte(last)) }
