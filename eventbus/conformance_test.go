package eventbus_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seed4933/eventbus/eventbus/internal/conformance"
	"github.com/seed4933/eventbus/internal/redistest"
)

func TestConformanceOnMiniredis(t *testing.T) {
	t.Parallel()
	conformance.Run(t, func(t *testing.T) redis.UniversalClient {
		_, rdb := redistest.Miniredis(t)
		return rdb
	})
}

func TestConformanceOnAServer(t *testing.T) {
	t.Parallel()
	conformance.Run(t, func(t *testing.T) redis.UniversalClient {
		return redistest.Start(t, redistest.Options{}).Client(t)
	})
}

func TestConformanceOnACluster(t *testing.T) {
	t.Parallel()
	conformance.Run(t, func(t *testing.T) redis.UniversalClient {
		return redistest.StartCluster(t, 3)
	})
}
