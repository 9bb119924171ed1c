package store_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// Fewer runs than rapid's own default, and longer ones: an entry's way has
	// many steps. The command line goes before this.
	for name, value := range map[string]string{"rapid.checks": "30", "rapid.steps": "60", "rapid.nofailfile": "true"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}
