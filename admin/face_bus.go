package admin

import (
	"context"

	"github.com/seed4933/eventbus/eventbus"
	thriftbus "github.com/seed4933/eventbus/gen-go/eventbusv1"
)

// eventBus is the service EventBus of the IDL.
type eventBus struct{ *face }

var _ thriftbus.EventBus = eventBus{}

func (f eventBus) Send(ctx context.Context, topic string, message *thriftbus.Message) (string, error) {
	return f.sendOne(ctx, "send", topic, message, nil)
}

func (f eventBus) SendDelayed(ctx context.Context, topic string, message *thriftbus.Message, delayMs int64) (string, error) {
	return f.sendOne(ctx, "sendDelayed", topic, message, &delayMs)
}

func (f eventBus) sendOne(ctx context.Context, op, topic string, message *thriftbus.Message, delayMs *int64) (string, error) {
	return quietly(ctx, f.face, op, func(ctx context.Context) (string, error) {
		if delayMs != nil && message != nil {
			if message.DelayMs != nil || message.DueAtMs != nil {
				return "", &eventbus.ArgumentError{Field: "message", Reason: "sendDelayed is told the delay; the message names none"}
			}
			message.DelayMs = delayMs
		}
		m, err := fromMessage(message)
		if err != nil {
			return "", err
		}
		ids, err := f.api.SendBatch(ctx, topic, []eventbus.Message{m})
		if err != nil {
			return "", err
		}
		return ids[0], nil
	})
}

func (f eventBus) SendBatch(ctx context.Context, topic string, messages []*thriftbus.Message) ([]string, error) {
	return quietly(ctx, f.face, "sendBatch", func(ctx context.Context) ([]string, error) {
		batch, err := fromMessages(messages)
		if err != nil {
			return nil, err
		}
		ids, err := f.api.SendBatch(ctx, topic, batch)
		return emptyIfNil(ids), err
	})
}
