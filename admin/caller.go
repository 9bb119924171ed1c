package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"strings"

	"github.com/seed4933/eventbus/admin/internal/port"
	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/internal/credentials"
)

// authorization is the header in which a token is sent, in lower case.
const authorization = "authorization"

// checkToken returns what is wrong with a token, on either side, without the token.
func checkToken(token string) error {
	if err := credentials.CheckToken(token); err != nil {
		return &eventbus.ArgumentError{Field: "Token", Reason: err.Error()}
	}
	return nil
}

// callerName names a caller for the log.
func callerName(c port.Client) string {
	if c.Cert == "" {
		return c.Addr
	}
	return c.Addr + " (" + c.Cert + ")"
}

// authenticate returns nil when the caller has the token, or none is wanted. How
// long it takes does not depend on how much of the token is right.
func authenticate(c port.Client, token string) error {
	if token == "" {
		return nil
	}
	value := ""
	for name, v := range c.Headers {
		if strings.EqualFold(name, authorization) {
			value = v
		}
	}
	if value == "" {
		return fmt.Errorf(`%w: the server wants a token: the header "Authorization: Bearer TOKEN", of HTTP at /thrift or of THeader`, ErrUnauthenticated)
	}
	scheme, given, _ := strings.Cut(value, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return fmt.Errorf(`%w: the header Authorization is not of the form "Bearer TOKEN"`, ErrUnauthenticated)
	}
	// Hashes have one length, so that the token's does not show either.
	want, got := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(strings.TrimSpace(given)))
	if subtle.ConstantTimeCompare(want[:], got[:]) != 1 {
		return fmt.Errorf("%w: the token is wrong", ErrUnauthenticated)
	}
	return nil
}
