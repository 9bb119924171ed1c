package handlers

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

func TestNewWebhook_Invalid(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		url      string
		opts     WebhookOptions
		argument string
		says     string
	}{
		"empty":            {"", WebhookOptions{}, "url", "it is empty"},
		"relative":         {"/hook", WebhookOptions{}, "url", "absolute"},
		"without scheme":   {"example.com/hook", WebhookOptions{}, "url", "absolute"},
		"other scheme":     {"ftp://example.com", WebhookOptions{}, "url", "not http or https"},
		"without host":     {"http:///hook", WebhookOptions{}, "url", "no host"},
		"only a port":      {"http://:80/", WebhookOptions{}, "url", "no host"},
		"opaque":           {"http:example.com", WebhookOptions{}, "url", "no host"},
		"port too high":    {"http://example.com:65536/", WebhookOptions{}, "url", "port"},
		"port zero":        {"http://example.com:0/", WebhookOptions{}, "url", "port"},
		"unparsable host":  {"http://exa mple.com/", WebhookOptions{}, "url", "no host can have"},
		"unparsable path":  {"http://example.com/%zz", WebhookOptions{}, "url", "hexadecimal"},
		"unparsable":       {"http://[::1/", WebhookOptions{}, "url", "parse"},
		"secret user":      {"ftp://s3cret:s3cret@example.com/hook", WebhookOptions{}, "url", `"ftp://example.com/hook"`},
		"secret alone":     {"ftp://s3cret@example.com/hook", WebhookOptions{}, "url", `"ftp://example.com/hook"`},
		"secret query":     {"ftp://example.com/hook?key=s3cret#s3cret", WebhookOptions{}, "url", `"ftp://example.com/hook"`},
		"secret, no host":  {"http:///hook?key=s3cret", WebhookOptions{}, "url", `"http:///hook"`},
		"secret, no parts": {"http:s3cret@example.com?key=s3cret", WebhookOptions{}, "url", "no host"},
		"secret and port":  {"http://s3cret:s3cret@example.com:0/?key=s3cret", WebhookOptions{}, "url", `"http://example.com:0/"`},
		"secret, unparsed": {"http://user:s3cret@[::1/", WebhookOptions{}, "url", "parse"},
		"secret as port":   {"http://user:s3cret/pass@example.com/", WebhookOptions{}, "url", "parse"},
		"secret with %":    {"http://user:%s3cret@example.com/", WebhookOptions{}, "url", "hexadecimal"},
		"query, unparsed":  {"http://exa mple.com/?key=s3cret", WebhookOptions{}, "url", "no host can have"},
		"control":          {"http://example.com/?key=s3cret\n", WebhookOptions{}, "url", "parse"},
		"header name":      {"http://h", WebhookOptions{Headers: http.Header{"a b": {"x"}}}, "WebhookOptions.Headers", "token"},
		"header empty":     {"http://h", WebhookOptions{Headers: http.Header{"": {"x"}}}, "WebhookOptions.Headers", "token"},
		"header value":     {"http://h", WebhookOptions{Headers: http.Header{"A": {"s3cret\r\nB: y"}}}, "WebhookOptions.Headers", "control"},
		"content type":     {"http://h", WebhookOptions{Headers: http.Header{"content-type": {"x"}}}, "WebhookOptions.Headers", "leave it out"},
		"idle connections": {"http://h", WebhookOptions{MaxIdleConns: -1}, "WebhookOptions.MaxIdleConns", "negative"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, err := NewWebhook(c.url, c.opts)
			require.Nil(t, w)
			require.ErrorIs(t, err, eventbus.ErrInvalidArgument)
			var argument *eventbus.ArgumentError
			require.ErrorAs(t, err, &argument)
			require.Equal(t, c.argument, argument.Field)
			require.ErrorContains(t, err, c.says)
			require.NotContains(t, err.Error(), "s3cret")
			require.NotContains(t, err.Error(), "%s3")
		})
	}
}

// All that is wrong is said at once; of several headers in the order of their names.
func TestNewWebhook_SaysAllThatIsWrong(t *testing.T) {
	t.Parallel()
	_, err := NewWebhook("", WebhookOptions{Headers: http.Header{"Trailer": {"x"}, "b": {"\n"}, "a b": {"x"}}, MaxIdleConns: -1})
	require.EqualError(t, err, `invalid url: it is empty; give an absolute http or https URL
invalid WebhookOptions.Headers "Trailer": it is set by the CloudEvents HTTP binding; leave it out
invalid WebhookOptions.Headers "a b": its name is not an HTTP token: letters, digits and !#$%&'*+-.^_`+"`"+`|~
invalid WebhookOptions.Headers "b": its value holds a control character; leave those out
invalid WebhookOptions.MaxIdleConns -1: it is negative; give a number, or 0 for 64`)
}
