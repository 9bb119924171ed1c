package failuretest_test

import (
	"flag"
	"testing"

	"github.com/seed4933/eventbus/internal/redistest"
)

// atOnce is how many tests run at the same time unless -parallel says otherwise:
// they wait for leases and timeouts far more than they compute.
const atOnce = "6"

func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", atOnce); err != nil {
		panic(err)
	}
	redistest.Main(m, map[string]func(){
		killerChild:   runKiller,
		hoarderChild:  runHoarder,
		replayerChild: runReplayer,
	})
}
