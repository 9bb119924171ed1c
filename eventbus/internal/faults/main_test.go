package faults_test

import (
	"flag"
	"testing"

	"github.com/redis/go-redis/v9/logging"

	"github.com/seed4933/eventbus/internal/redistest"
)

// atOnce is how many tests run at the same time unless -parallel says otherwise.
const atOnce = "8"

func TestMain(m *testing.M) {
	logging.Disable() // go-redis writes a line for each connection that fails
	if err := flag.Set("test.parallel", atOnce); err != nil {
		panic(err)
	}
	redistest.Main(m, map[string]func(){
		workerChild:  work,
		stopperChild: stopWithoutRedis,
	})
}
