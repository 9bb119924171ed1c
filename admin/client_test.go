package admin

import (
	"net"
	"testing"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/stretchr/testify/require"
)

// Close comes when a call has its answer and has not given up its turn yet: the connection
// is closed all the same.
func TestClientThatIsClosedAsACallEnds(t *testing.T) {
	t.Parallel()
	c, err := NewClient(ClientConfig{})
	require.NoError(t, err)
	ours, theirs := net.Pipe()
	defer theirs.Close()
	c.turn <- struct{}{}
	c.conn = &clientConn{socket: thrift.NewTSocketFromConnConf(ours, nil)}
	require.NoError(t, c.Close())
	c.pass()
	require.Nil(t, c.conn)
	_, err = theirs.Write([]byte{0})
	require.Error(t, err, "it is still open")
}
