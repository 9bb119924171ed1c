package port

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apache/thrift/lib/go/thrift"
)

// Multiplex returns a processor that serves several services, by the name that
// a thrift.TMultiplexedProtocol puts before the method's: "service:method".
// Calls that name no service reach the fallback, which may be nil. A call that
// names one that is not there is answered with an UNKNOWN_METHOD exception that
// names those that are; thrift.TMultiplexedProcessor would leave it unanswered
// and its arguments unread, so that the connection would be lost.
func Multiplex(services map[string]thrift.TProcessor, fallback thrift.TProcessor) thrift.TProcessor {
	return &multiplexer{services: maps.Clone(services), fallback: fallback}
}

type multiplexer struct {
	services map[string]thrift.TProcessor
	fallback thrift.TProcessor
}

// Process has one call processed by the service that it names.
func (m *multiplexer) Process(ctx context.Context, in, out thrift.TProtocol) (bool, thrift.TException) {
	name, kind, seq, err := in.ReadMessageBegin(ctx)
	if err != nil {
		return false, thrift.WrapTException(err)
	}
	service, method, named := strings.Cut(name, thrift.MULTIPLEXED_SEPARATOR)
	if !named {
		method = name
	}
	p := m.fallback
	if named {
		p = m.services[service]
	}
	if other := m.elsewhere(method); !named && other != "" && (p == nil || p.ProcessorMap()[method] == nil) {
		problem := fmt.Sprintf("%.100s is a method of %s, which the call does not name; put the name before it, as TMultiplexedProtocol does", method, other)
		return m.refuse(ctx, in, out, method, seq, problem)
	}
	if p == nil {
		return m.refuse(ctx, in, out, method, seq, m.problem(service, named))
	}
	return p.Process(ctx, thrift.NewStoredMessageProtocol(in, method, kind, seq), out)
}

// elsewhere is the service that has a method; "" when none has.
func (m *multiplexer) elsewhere(method string) string {
	for service, p := range m.services {
		if p.ProcessorMap()[method] != nil {
			return service
		}
	}
	return ""
}

func (m *multiplexer) problem(service string, named bool) string {
	there := strings.Join(slices.Sorted(maps.Keys(m.services)), ", ")
	if !named {
		return "the call names no service; there are: " + there
	}
	return fmt.Sprintf("there is no service %.100q; there are: %s", service, there)
}

func (m *multiplexer) refuse(ctx context.Context, in, out thrift.TProtocol, method string, seq int32, problem string) (bool, thrift.TException) {
	if err := in.Skip(ctx, thrift.STRUCT); err != nil {
		return false, thrift.WrapTException(err)
	}
	if err := in.ReadMessageEnd(ctx); err != nil {
		return false, thrift.WrapTException(err)
	}
	e := thrift.NewTApplicationException(thrift.UNKNOWN_METHOD, problem)
	if err := writeException(ctx, out, method, seq, e); err != nil {
		return false, thrift.WrapTException(err)
	}
	return false, e
}

// ProcessorMap returns the methods of all services, each under the name by
// which it is called.
func (m *multiplexer) ProcessorMap() map[string]thrift.TProcessorFunction {
	all := map[string]thrift.TProcessorFunction{}
	for service, p := range m.services {
		for method, f := range p.ProcessorMap() {
			all[service+thrift.MULTIPLEXED_SEPARATOR+method] = f
		}
	}
	if m.fallback != nil {
		maps.Copy(all, m.fallback.ProcessorMap())
	}
	return all
}

// AddToProcessorMap adds a method to the service that its name names.
func (m *multiplexer) AddToProcessorMap(name string, f thrift.TProcessorFunction) {
	service, method, named := strings.Cut(name, thrift.MULTIPLEXED_SEPARATOR)
	if p := m.services[service]; named && p != nil {
		p.AddToProcessorMap(method, f)
	} else if !named && m.fallback != nil {
		m.fallback.AddToProcessorMap(name, f)
	}
}
