package admin

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"strings"
)

// caller is whoever makes a call.
type caller struct {
	address string
	// certificate is the name in the certificate that it has shown, and that was
	// verified; "" for none.
	certificate string
	// authorization is what its header of that name says.
	authorization string
}

type callerKey struct{}

func withCaller(ctx context.Context, c caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

func callerOf(ctx context.Context) caller {
	c, _ := ctx.Value(callerKey{}).(caller)
	return c
}

// String names the caller for the log.
func (c caller) String() string {
	if c.certificate == "" {
		return c.address
	}
	return c.address + " (" + c.certificate + ")"
}

// authenticate returns nil when the caller has the token, or none is wanted. How
// long it takes does not depend on how much of the token is right.
func (c caller) authenticate(token string) error {
	if token == "" {
		return nil
	}
	if c.authorization == "" {
		return fmt.Errorf(`%w: the server wants a token: the header "Authorization: Bearer TOKEN", of HTTP at /thrift or of THeader`, ErrUnauthenticated)
	}
	scheme, given, _ := strings.Cut(c.authorization, " ")
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
