package admin

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed4933/eventbus/eventbus"
)

const (
	// maxPageBytes bounds what a page's elements have together, well below a frame
	// of 16 MB.
	maxPageBytes = 8 << 20
	// elementSize is more than an element has besides what is counted: its names,
	// of 255 bytes at most each, and its numbers.
	elementSize = 2 << 10
	// maxShown is how many bytes an event may have that is shown, so that it goes into
	// a frame with its error and its headers.
	maxShown = 16_000_000
	// Pages of what cannot be read are short: each element may have a megabyte.
	defaultUnreadable = 10
	maxUnreadable     = 100
)

func (p Page) check() error {
	if p.Limit < 0 || p.Limit > MaxPage {
		return &eventbus.ArgumentError{Field: "limit", Value: fmt.Sprint(p.Limit), Reason: fmt.Sprintf("1 to %d are right", MaxPage)}
	}
	if _, err := p.after(); err != nil {
		return &eventbus.ArgumentError{Field: "cursor", Value: fmt.Sprintf("%.80q", p.Cursor), Reason: "it is not one that a list has returned"}
	}
	return nil
}

// cursorHead is what the text of a cursor begins with, so that others are found out.
const cursorHead = "after "

func cursor(last string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(cursorHead + last))
}

// after is the key after which the page begins; "" for the first page.
func (p Page) after() (string, error) {
	text, err := base64.RawURLEncoding.DecodeString(p.Cursor)
	key, ok := strings.CutPrefix(string(text), cursorHead)
	if p.Cursor != "" && err == nil && !ok {
		err = errors.New("no cursor")
	}
	return key, err
}

// cut returns the page of a list that is sorted by its keys, and the cursor of the
// next page. A cursor is the last key of its page, so that it also holds when the
// list has changed.
func cut[T any](all []T, p Page, key func(T) string, size func(T) int) (page []T, next string) {
	after, _ := p.after() // check has seen it
	all = slices.SortedFunc(slices.Values(all), func(a, b T) int { return cmp.Compare(key(a), key(b)) })
	if len(after) > 0 {
		first, found := slices.BinarySearchFunc(all, after, func(e T, k string) int { return cmp.Compare(key(e), k) })
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
	return nilIfEmpty(all), ""
}
