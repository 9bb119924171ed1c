package handlers

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/seed4933/eventbus/eventbus"
)

// maxExcerpt is how many bytes of a response's body an error shows.
const maxExcerpt = 512

// StatusError says with which status a receiver refused an event.
type StatusError struct {
	// URL is the receiver's, without credentials and query.
	URL string
	// StatusCode is the HTTP status code, never 2xx.
	StatusCode int
	// Excerpt is the beginning of the response's body, at most 512 bytes of
	// valid UTF-8 in one line, with escapes for what does not print.
	Excerpt string
	// RetryAfter is the time that the receiver asked for, at most MaxRetryAfter;
	// 0 when it asked for none.
	RetryAfter time.Duration
}

// Error returns one line of text.
func (e *StatusError) Error() string {
	text := fmt.Sprintf("post event to %s: status %d", e.URL, e.StatusCode)
	if name := http.StatusText(e.StatusCode); name != "" {
		text += " " + name
	}
	if e.Excerpt != "" {
		text += ": " + e.Excerpt
	}
	return text
}

// failure returns the outcome of a response that is not 2xx.
func (w *Webhook) failure(response *http.Response, body []byte) error {
	failed := &StatusError{URL: w.shown, StatusCode: response.StatusCode, Excerpt: excerpt(body)}
	if code := response.StatusCode; code/100 == 4 && code != http.StatusRequestTimeout && code != http.StatusTooManyRequests {
		return eventbus.Reject(failed)
	}
	// A date is set against the receiver's own clock where it tells it.
	now, err := http.ParseTime(response.Header.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	wait, ok := parseRetryAfter(response.Header.Get("Retry-After"), now)
	if !ok {
		return failed
	}
	failed.RetryAfter = wait
	return eventbus.RetryAfter(min(wait+w.jitter(wait/10), MaxRetryAfter), failed)
}

// parseRetryAfter reads a Retry-After header (RFC 9110, section 10.2.3): whole
// seconds or a date. ok is false when it is neither, and when the time is not in
// the future: the handler's backoff is the better choice then, since attempts
// without a pause would be used up at once.
func parseRetryAfter(value string, now time.Time) (wait time.Duration, ok bool) {
	if value == "" {
		return 0, false
	}
	if strings.Trim(value, "0123456789") == "" {
		// Of the errors only an overflow is left, and that is beyond the cap.
		seconds, err := strconv.ParseInt(value, 10, 64)
		if err != nil || seconds > int64(MaxRetryAfter/time.Second) {
			return MaxRetryAfter, true
		}
		return time.Duration(seconds) * time.Second, seconds > 0
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	wait = at.Sub(now) // saturates
	if wait <= 0 {
		return 0, false
	}
	return min(wait, MaxRetryAfter), true
}

// excerpt returns the beginning of body in at most maxExcerpt bytes, and an
// ellipsis where it was cut.
func excerpt(body []byte) string {
	var out strings.Builder
	for len(body) > 0 {
		r, size := utf8.DecodeRune(body)
		shown := string(body[:size])
		switch {
		case r == utf8.RuneError && size == 1:
			shown = fmt.Sprintf(`\x%02x`, body[0])
		case !unicode.IsPrint(r):
			shown = strings.Trim(strconv.QuoteRune(r), "'")
		}
		if out.Len()+len(shown) > maxExcerpt {
			return out.String() + "…"
		}
		out.WriteString(shown)
		body = body[size:]
	}
	return out.String()
}
