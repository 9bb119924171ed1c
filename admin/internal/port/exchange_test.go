package port

import (
	"bufio"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Who has claimed much and sent nothing of it does not stand among those who wait for
// memory, and in their way.
func TestExchange_AsksForMemoryOnceBytesCome(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]func(x *exchange) error{
		"bytes": func(x *exchange) error { _, err := io.ReadFull(x, make([]byte, chunk)); return err },
		"byte":  func(x *exchange) error { _, err := x.ReadByte(); return err },
	} {
		synctest.Test(t, func(t *testing.T) {
			b := &budget{lane: 8 * grain, owners: map[*account]struct{}{}}
			other := b.open(nil, nil)
			require.NoError(t, other.take(freeCost+1, time.Now()), "the lane")
			a := b.open(nil, nil)
			require.NoError(t, a.take(freeCost, time.Now()), "all that is free")
			client, server := net.Pipe()
			x := &exchange{in: bufio.NewReader(server), left: chunk, account: a, until: time.Now().Add(time.Hour)}
			done := make(chan error, 1)
			go func() { done <- read(x) }()
			synctest.Wait()
			require.Zero(t, b.waiting.Len(), name)
			_, err := client.Write([]byte{1})
			require.NoError(t, err)
			synctest.Wait()
			require.Equal(t, 1, b.waiting.Len(), name)
			other.close()
			go func() { _, _ = client.Write(make([]byte, chunk-1)) }() // the bytes need them, the byte not
			require.NoError(t, <-done, name)
			require.NoError(t, server.Close())
		})
	}
}
