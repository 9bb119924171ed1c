package handlers

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

func TestWebhook_Statuses(t *testing.T) {
	t.Parallel()
	var status atomic.Int32
	answer := roundTripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: int(status.Load()), Header: http.Header{}, Body: http.NoBody}, nil
	})
	w := openWebhook(t, "http://receiver", WebhookOptions{Client: &http.Client{Transport: answer}})
	for code := 100; code <= 599; code++ {
		status.Store(int32(code))
		err := w.Handle(t.Context(), newEvent("1", "1"))
		if code >= 200 && code <= 299 {
			require.NoError(t, err, code)
			continue
		}
		var failed *StatusError
		require.ErrorAs(t, err, &failed, code)
		require.Equal(t, code, failed.StatusCode)
		switch {
		case code >= 400 && code <= 499 && code != 408 && code != 429:
			require.Equal(t, eventbus.Reject(failed), err, code)
		default:
			require.Same(t, failed, err, "%d is a plain failure", code)
		}
	}
}

func TestWebhook_RetryAfter(t *testing.T) {
	t.Parallel()
	// In a bubble of synctest it is always this time at first.
	start := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	date := func(in time.Duration) string { return start.Add(in).Format(http.TimeFormat) }
	for name, c := range map[string]struct {
		code   int
		header http.Header
		want   time.Duration // 0: not a RetryAfter
	}{
		"seconds":               {503, http.Header{"Retry-After": {"120"}}, 120 * time.Second},
		"too many requests":     {429, http.Header{"Retry-After": {"1"}}, time.Second},
		"timeout":               {408, http.Header{"Retry-After": {"1"}}, time.Second},
		"redirect":              {301, http.Header{"Retry-After": {"1"}, "Location": {"/x"}}, time.Second},
		"capped":                {503, http.Header{"Retry-After": {"999999999999999999999"}}, MaxRetryAfter},
		"date by our clock":     {503, http.Header{"Retry-After": {date(time.Hour)}, "Date": {"?"}}, time.Hour},
		"date by its own clock": {503, http.Header{"Retry-After": {date(time.Minute)}, "Date": {date(-time.Minute)}}, 2 * time.Minute},
		"zero":                  {503, http.Header{"Retry-After": {"0"}}, 0},
		"past":                  {503, http.Header{"Retry-After": {date(-time.Hour)}}, 0},
		"nonsense":              {503, http.Header{"Retry-After": {"soon"}}, 0},
		"rejected all the same": {410, http.Header{"Retry-After": {"120"}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				answer := roundTripper(func(*http.Request) (*http.Response, error) {
					return &http.Response{StatusCode: c.code, Header: c.header, Body: http.NoBody}, nil
				})
				w := openWebhook(t, "http://receiver", WebhookOptions{Client: &http.Client{Transport: answer}})
				w.jitter = func(most time.Duration) time.Duration { return most }
				err := w.Handle(t.Context(), newEvent("1", "1"))
				var failed *StatusError
				require.ErrorAs(t, err, &failed)
				require.Equal(t, c.want, failed.RetryAfter)
				switch {
				case c.want > 0:
					wait := min(c.want+c.want/10, MaxRetryAfter)
					require.Equal(t, eventbus.RetryAfter(wait, failed), err)
				case c.code == 410:
					require.Equal(t, eventbus.Reject(failed), err)
				default:
					require.Same(t, failed, err)
				}
			})
		})
	}
}

func TestWebhook_Jitter(t *testing.T) {
	t.Parallel()
	w := openWebhook(t, "http://receiver", WebhookOptions{})
	seen := map[time.Duration]bool{}
	for range 200 {
		got := w.jitter(3)
		require.True(t, got >= 0 && got <= 3, got)
		seen[got] = true
	}
	require.Len(t, seen, 4)
	require.Zero(t, w.jitter(0))
}

func FuzzRetryAfter(f *testing.F) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, seed := range []string{
		"", "0", "1", "86400", "86401", "-1", "+1", "1.5", " 1", "007", "18446744073709551617",
		"Fri, 02 Jan 2026 03:04:06 GMT", "Friday, 02-Jan-26 03:05:05 GMT", "Fri Jan  2 04:04:05 2026",
		"Fri, 31 Dec 9999 23:59:59 GMT", "Mon, 01 Jan 0001 00:00:00 GMT", "soon", "１",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		wait, ok := parseRetryAfter(value, now)
		require.Equal(t, ok, wait > 0)
		require.LessOrEqual(t, wait, MaxRetryAfter)
		if at, err := http.ParseTime(value); err == nil {
			require.Equal(t, ok, at.After(now))
		} else {
			digits := value != "" && strings.Trim(value, "0123456789") == ""
			require.Equal(t, ok, digits && strings.Trim(value, "0") != "")
		}
	})
}

func TestParseRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"1": time.Second, "007": 7 * time.Second, "86400": MaxRetryAfter, "86401": MaxRetryAfter,
		"9223372037": MaxRetryAfter, "9223372036854775807": MaxRetryAfter, "18446744073709551617": MaxRetryAfter,
		"Fri, 02 Jan 2026 03:04:06 GMT": time.Second, "Fri Jan  2 04:04:05 2026": time.Hour,
		"Fri, 31 Dec 9999 23:59:59 GMT": MaxRetryAfter,
		"":                              0, "0": 0, "-1": 0, "+1": 0, "1.5": 0, " 1": 0, "1s": 0, "Fri, 02 Jan 2026 03:04:05 GMT": 0,
	} {
		wait, ok := parseRetryAfter(value, now)
		require.Equal(t, want, wait, value)
		require.Equal(t, want > 0, ok, value)
	}
}

func TestWebhook_ErrorTellsWhatWasAnswered(t *testing.T) {
	t.Parallel()
	err := post(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, "try\nlater\x1b[31m"+strings.Repeat("é", 100_000))
	})
	require.ErrorContains(t, err, `/hook: status 503 Service Unavailable: try\nlater\x1b[31mé`)
	require.NotContains(t, err.Error(), "s3cret")
	require.Less(t, len(err.Error()), 700)

	err = post(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(599) })
	require.Regexp(t, `/hook: status 599$`, err.Error())
}

func FuzzExcerpt(f *testing.F) {
	f.Add([]byte(nil))
	f.Add([]byte("plain 'text' \"é\" \u202e \x00 \xff \\ \n"))
	f.Add([]byte(strings.Repeat("€", 300)))
	f.Add([]byte(strings.Repeat("a", maxExcerpt)))
	f.Fuzz(func(t *testing.T, body []byte) {
		text := excerpt(body)
		cut := strings.HasSuffix(text, "…") && len(text) > maxExcerpt-len(`\U00000000`)
		if !cut {
			require.GreaterOrEqual(t, len(text), len(body)-2) // an invalid byte grows, U+FFFD stays
		}
		require.LessOrEqual(t, len(strings.TrimSuffix(text, "…")), maxExcerpt)
		require.Equal(t, strings.ToValidUTF8(text, "?"), text)
		require.NotRegexp(t, `[\p{C}]`, text)
	})
}

func TestExcerpt(t *testing.T) {
	t.Parallel()
	require.Equal(t, `a'"é\n\x00\xff\u202e`, excerpt([]byte("a'\"é\n\x00\xff\u202e")))
	require.Equal(t, strings.Repeat("a", maxExcerpt), excerpt([]byte(strings.Repeat("a", maxExcerpt))))
	require.Equal(t, strings.Repeat("a", maxExcerpt)+"…", excerpt([]byte(strings.Repeat("a", maxExcerpt+1))))
	require.Equal(t, "a"+strings.Repeat("é", 255)+"…", excerpt([]byte("a"+strings.Repeat("é", 300))))
}
