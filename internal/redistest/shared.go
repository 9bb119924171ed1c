package redistest

import (
	"errors"
	"fmt"
	"os"
)

// Shared is Start for TestMain, where there is no test yet: all tests of a package
// share the server, until end is called. What goes wrong in its methods panics.
func Shared(o Options) (s *Server, end func() error, err error) {
	dir, err := os.MkdirTemp("", "redistest")
	if err != nil {
		return nil, nil, fmt.Errorf("redistest: %w", err)
	}
	if s, err = open(dir, o); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("redistest: %w", err), os.RemoveAll(dir))
	}
	return s, func() error { return errors.Join(s.close(), os.RemoveAll(dir)) }, nil
}
