package handlers

import (
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
)

// parseTarget returns the URL or an *eventbus.ArgumentError. What it quotes of the URL
// holds no password.
func parseTarget(address string) (*url.URL, error) {
	wrong := func(shown, reason string, err error) error {
		if shown != "" {
			shown = strconv.Quote(shown)
		}
		return invalid("url", shown, reason, err)
	}
	if address == "" {
		return nil, wrong("", "it is empty; give an absolute http or https URL", nil)
	}
	target, err := url.Parse(address)
	if err != nil {
		shown := address
		if strings.Contains(address, "@") {
			shown = ""
		}
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err
		}
		return nil, wrong(shown, fmt.Sprintf("it does not parse (%v); give an absolute http or https URL", err), err)
	}
	shown := target.Redacted()
	if target.Scheme != "http" && target.Scheme != "https" {
		return nil, wrong(shown, "its scheme is not http or https; give an absolute URL such as https://example.com/hook", nil)
	}
	if target.Hostname() == "" {
		return nil, wrong(shown, "it names no host; give an absolute URL such as https://example.com/hook", nil)
	}
	if port := target.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return nil, wrong(shown, "its port is not between 1 and 65535", err)
		}
	}
	return target, nil
}

// checkHeaders returns a copy of the headers with canonical names, and the value
// of Host, which net/http wants apart. What net/http would refuse at each send
// is refused here once. Values are not quoted: they may be secrets.
func checkHeaders(headers http.Header) (copied http.Header, host string, err error) {
	copied = make(http.Header, len(headers)+3)
	for name, values := range headers {
		wrong := func(reason string) (http.Header, string, error) {
			return nil, "", invalid("WebhookOptions.Headers", strconv.Quote(name), reason, nil)
		}
		if !isToken(name) {
			return wrong("its name is not an HTTP token: letters, digits and !#$%&'*+-.^_`|~")
		}
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		switch canonical {
		case "Content-Type", "Content-Length", "Transfer-Encoding", "Content-Encoding", "Trailer", "Connection":
			return wrong("it is set by the CloudEvents HTTP binding; leave it out")
		}
		for _, value := range values {
			if strings.ContainsFunc(value, isControl) {
				return wrong("its value holds a control character; leave those out")
			}
		}
		if canonical == "Host" {
			if len(values) > 0 {
				host = values[0]
			}
			continue
		}
		copied[canonical] = append(copied[canonical], values...)
	}
	return copied, host, nil
}

func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') &&
			!strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
