package port

import (
	"context"
	"unsafe"

	"github.com/apache/thrift/lib/go/thrift"
)

// guard is the protocol from which a processor reads one message. It takes
// memory for everything before it is made: the generated code makes a map of
// the size that the message claims, 10 000 entries for three bytes. And it
// keeps the first error: generated code answers a call of an unknown method
// without looking at whether it could skip its arguments.
type guard struct {
	thrift.TProtocol
	x     *exchange
	name  string
	kind  thrift.TMessageType
	seq   int32
	begun func() // the arguments are read
	ended bool
	err   error
}

func (g *guard) keep(err error) error {
	if err != nil && g.err == nil {
		g.err = err
	}
	return err
}

// ReadMessageBegin returns what the server has read already.
func (g *guard) ReadMessageBegin(context.Context) (string, thrift.TMessageType, int32, error) {
	return g.name, g.kind, g.seq, nil
}

// ReadMessageEnd is called when the arguments are read, and the call begins.
func (g *guard) ReadMessageEnd(ctx context.Context) error {
	if !g.ended {
		g.ended = true
		g.begun()
	}
	return g.keep(g.TProtocol.ReadMessageEnd(ctx))
}

func (g *guard) ReadStructBegin(ctx context.Context) (string, error) {
	if err := g.x.charge(structCost); err != nil {
		return "", g.keep(err)
	}
	name, err := g.TProtocol.ReadStructBegin(ctx)
	return name, g.keep(err)
}

func (g *guard) ReadFieldBegin(ctx context.Context) (string, thrift.TType, int16, error) {
	name, kind, id, err := g.TProtocol.ReadFieldBegin(ctx)
	return name, kind, id, g.keep(err)
}

func (g *guard) ReadMapBegin(ctx context.Context) (thrift.TType, thrift.TType, int, error) {
	key, value, size, err := g.TProtocol.ReadMapBegin(ctx)
	if err == nil {
		err = g.x.charge(int64(size) * entryCost)
	}
	return key, value, size, g.keep(err)
}

func (g *guard) ReadListBegin(ctx context.Context) (thrift.TType, int, error) {
	elem, size, err := g.TProtocol.ReadListBegin(ctx)
	if err == nil {
		err = g.x.charge(int64(size) * elementCost)
	}
	return elem, size, g.keep(err)
}

func (g *guard) ReadSetBegin(ctx context.Context) (thrift.TType, int, error) {
	elem, size, err := g.TProtocol.ReadSetBegin(ctx)
	if err == nil {
		err = g.x.charge(int64(size) * elementCost)
	}
	return elem, size, g.keep(err)
}

// ReadBinary reads bytes; see exchange.bytes.
func (g *guard) ReadBinary(context.Context) ([]byte, error) {
	if err := g.x.charge(stringCost); err != nil {
		return nil, g.keep(err)
	}
	b, err := g.x.bytes()
	return b, g.keep(err)
}

// ReadString reads a string as the bytes that it is on the wire. The protocols
// would copy it, and a string of 16 MiB cost as much again; nobody else has
// these bytes.
func (g *guard) ReadString(ctx context.Context) (string, error) {
	b, err := g.ReadBinary(ctx)
	return unsafe.String(unsafe.SliceData(b), len(b)), err
}

// Skip reads over a value. What it reads is kept by nobody: it costs its bytes
// on the wire alone.
func (g *guard) Skip(ctx context.Context, kind thrift.TType) error {
	return g.keep(g.TProtocol.Skip(ctx, kind))
}
