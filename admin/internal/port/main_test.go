package port

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// childEnv tells the test binary to be the server of a test instead of running
// the tests.
const childEnv = "PORT_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		if err := serveAsChild(); err != nil {
			_, _ = os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
