package port

import (
	"context"
	"fmt"
	"hash/crc32"
	"strings"
	"sync/atomic"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/seed4933/eventbus/gen-go/eventbusv1"
)

// unfaked answers each call of a service with an error.
type unfaked struct{}

func (unfaked) Call(_ context.Context, method string, _, _ thrift.TStruct) (thrift.ResponseMeta, error) {
	return thrift.ResponseMeta{}, fmt.Errorf("there is no fake of %s", method)
}

// echoAdmin answers getTopic with the name, whatever it is.
type echoAdmin struct{ eventbusv1.EventAdmin }

func newEchoAdmin() echoAdmin { return echoAdmin{eventbusv1.NewEventAdminClient(unfaked{})} }

func (echoAdmin) GetTopic(_ context.Context, name string) (*eventbusv1.Topic, error) {
	return &eventbusv1.Topic{Name: name}, nil
}

// fakeAdmin answers ping and getTopic; what the latter does is in the name.
type fakeAdmin struct {
	eventbusv1.EventAdmin
	entered chan struct{} // gets one for each call of "block"
	release chan struct{} // closed: those return
	cut     atomic.Bool   // the context of one has ended before
}

func newFakeAdmin() *fakeAdmin {
	return &fakeAdmin{EventAdmin: eventbusv1.NewEventAdminClient(unfaked{}), entered: make(chan struct{}, 1000), release: make(chan struct{})}
}

func (a *fakeAdmin) GetServer(context.Context) (*eventbusv1.ServerInfo, error) {
	return &eventbusv1.ServerInfo{}, nil
}
func (a *fakeAdmin) Ping(context.Context) error { return nil }

func (a *fakeAdmin) GetTopic(ctx context.Context, name string) (*eventbusv1.Topic, error) {
	var size int
	switch {
	case name == "panic":
		panic("as asked")
	case name == "missing":
		return nil, &eventbusv1.NotFound{Message: "no such topic", Code: "topic_not_found"}
	case name == "fail":
		return nil, fmt.Errorf("as asked")
	case name == "client":
		c, ok := ClientFrom(ctx)
		token, _ := thrift.GetHeader(ctx, "authorization")
		return &eventbusv1.Topic{Name: fmt.Sprintf("%t %s %v %s", ok, c.Cert, c.Headers["authorization"], token)}, nil
	case name == "block":
		a.entered <- struct{}{}
		select {
		case <-a.release:
		case <-ctx.Done():
			a.cut.Store(true)
			return nil, context.Cause(ctx)
		}
	case strings.HasPrefix(name, "size "):
		if _, err := fmt.Sscanf(name, "size %d", &size); err != nil {
			return nil, err
		}
		name = strings.Repeat("x", size)
	}
	return &eventbusv1.Topic{Name: name}, nil
}

type fakeBus struct{ eventbusv1.EventBus }

func (fakeBus) Send(_ context.Context, topic string, m *eventbusv1.Message) (string, error) {
	if m == nil {
		return "", fmt.Errorf("there is no message")
	}
	return fmt.Sprintf("%s %d %08x", topic, len(m.Payload), crc32.ChecksumIEEE(m.Payload)), nil
}

func (fakeBus) SendBatch(_ context.Context, _ string, messages []*eventbusv1.Message) ([]string, error) {
	return make([]string, len(messages)), nil
}

func newProcessor(a eventbusv1.EventAdmin) thrift.TProcessor {
	admin := eventbusv1.NewEventAdminProcessor(a)
	return Multiplex(map[string]thrift.TProcessor{
		"EventAdmin": admin,
		"EventBus":   eventbusv1.NewEventBusProcessor(fakeBus{eventbusv1.NewEventBusClient(unfaked{})}),
	}, admin)
}
