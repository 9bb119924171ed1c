package handlers

import (
	"errors"
	"maps"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// parseTarget returns the URL or an *eventbus.ArgumentError. What it quotes of the
// URL holds neither credentials nor query nor fragment: they may be secrets, and
// errors are logged and shown.
func parseTarget(address string) (*url.URL, error) {
	if address == "" {
		return nil, invalid("url", "", "it is empty; give an absolute http or https URL", nil)
	}
	target, err := url.Parse(address)
	if err != nil {
		// Not even the cause is told or kept: it quotes parts of what may be a
		// password, such as what stands where it looked for a port.
		return nil, invalid("url", "", unparsable(err)+"; give an absolute http or https URL, with %XX for what must not stand in one", nil)
	}
	wrong := func(reason string) error {
		return invalid("url", strconv.Quote(shownURL(target)), reason, nil)
	}
	if target.Scheme != "http" && target.Scheme != "https" {
		return nil, wrong("its scheme is not http or https; give an absolute URL such as https://example.com/hook")
	}
	if target.Hostname() == "" {
		return nil, wrong("it names no host; give an absolute URL such as https://example.com/hook")
	}
	if port := target.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return nil, wrong("its port is not between 1 and 65535")
		}
	}
	return target, nil
}

// unparsable says what kind of fault keeps a URL from being read.
func unparsable(err error) string {
	var escape url.EscapeError
	var host url.InvalidHostError
	switch {
	case errors.As(err, &escape):
		return "it has a % that no two hexadecimal digits follow"
	case errors.As(err, &host):
		return "its host has a character that no host can have"
	}
	return "it does not parse"
}

// shownURL is a URL as errors show it.
func shownURL(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// checkHeaders returns a copy of the headers with canonical names, and the value
// of Host, which net/http wants apart. What net/http would refuse at each send
// is refused here once. Values are not quoted: they may be secrets.
func checkHeaders(headers http.Header) (copied http.Header, host string, bad []error) {
	copied = make(http.Header, len(headers)+3)
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		values, canonical := headers[name], textproto.CanonicalMIMEHeaderKey(name)
		if reason := wrongHeader(name, canonical, values); reason != "" {
			bad = append(bad, invalid("WebhookOptions.Headers", strconv.Quote(name), reason, nil))
			continue
		}
		if canonical == "Host" {
			if len(values) > 0 {
				host = values[0]
			}
			continue
		}
		copied[canonical] = append(copied[canonical], values...)
	}
	return copied, host, bad
}

// wrongHeader says what is wrong with a header, and what would be right; "" for nothing.
func wrongHeader(name, canonical string, values []string) string {
	switch {
	case !isToken(name):
		return "its name is not an HTTP token: letters, digits and !#$%&'*+-.^_`|~"
	case slices.Contains(boundHeaders, canonical):
		return "it is set by the CloudEvents HTTP binding; leave it out"
	case slices.ContainsFunc(values, func(value string) bool { return strings.ContainsFunc(value, isControl) }):
		return "its value holds a control character; leave those out"
	}
	return ""
}

// boundHeaders are those that are the binding's.
var boundHeaders = []string{"Content-Type", "Content-Length", "Transfer-Encoding", "Content-Encoding", "Trailer", "Connection"}

func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') &&
			!strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
