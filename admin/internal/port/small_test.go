package port

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/gen-go/eventbusv1"
)

// What the docs call small is read, and answered, with no memory left at all.
func TestServer_SmallCallsNeverWait(t *testing.T) {
	t.Parallel()
	b := setup(t, brief(func(l *Limits) { l.Read = patience }))
	defer holdAll(t, b.server.budget)()
	batch := make([]*eventbusv1.Message, 30)
	for i := range batch {
		batch[i] = &eventbusv1.Message{Payload: make([]byte, 100)}
	}
	for _, k := range kinds() {
		bus := busOver(k.over(dial(t, b.addr)))
		_, err := bus.Send(t.Context(), "t", &eventbusv1.Message{Payload: make([]byte, 12<<10)})
		require.NoError(t, err, k.name)
		_, err = bus.SendBatch(t.Context(), "t", batch)
		require.NoError(t, err, k.name)
	}
}
