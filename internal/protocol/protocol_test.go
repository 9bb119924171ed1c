package protocol_test

import (
	"context"
	"testing"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/internal/protocol"
)

// What Thrift's own protocols write is told, each as itself alone.
func TestProtocolsAreToldApart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		of                      func(thrift.TTransport) thrift.TProtocol
		behind                  int // what stands before what is looked at
		binary, compact, header bool
	}{
		"binary":  {func(to thrift.TTransport) thrift.TProtocol { return thrift.NewTBinaryProtocolConf(to, nil) }, 0, true, false, false},
		"compact": {func(to thrift.TTransport) thrift.TProtocol { return thrift.NewTCompactProtocolConf(to, nil) }, 0, false, true, false},
		"header":  {func(to thrift.TTransport) thrift.TProtocol { return thrift.NewTHeaderProtocolConf(to, nil) }, protocol.Word, false, false, true},
		"JSON":    {func(to thrift.TTransport) thrift.TProtocol { return thrift.NewTJSONProtocol(to) }, 0, false, false, false},
	} {
		written := thrift.NewTMemoryBuffer()
		p := c.of(written)
		require.NoError(t, p.WriteMessageBegin(context.Background(), "handle", thrift.CALL, 1))
		require.NoError(t, p.Flush(context.Background()))
		b := written.Bytes()[c.behind:]
		require.Equal(t, c.binary, protocol.IsBinary(b), name)
		require.Equal(t, c.compact, protocol.IsCompact(b), name)
		require.Equal(t, c.header, protocol.IsHeader(b), name)
		for n := range protocol.Word { // too little to tell
			require.False(t, protocol.IsBinary(b[:n]) || protocol.IsCompact(b[:n]) || protocol.IsHeader(b[:n]), name)
		}
	}
}
