package lease

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
	"github.com/seed4933/eventbus/eventbus/internal/store"
)

// Runs is what stands beside a consumer's lease.
type Runs struct {
	Host    string              `json:"host"`
	PID     int                 `json:"pid"`
	Started int64               `json:"started"` // epoch ms
	Group   string              `json:"group"`
	Topics  map[string][]Handle `json:"topics"`
}

// Handle is one handler that a consumer runs, with the settings that hold.
type Handle struct {
	ID       string          `json:"id"`
	Settings json.RawMessage `json:"settings"`
	// OpenBreaker says that its circuit breaker is open or half-open.
	OpenBreaker bool `json:"open_breaker,omitempty"`
}

// reclaim moves back all that a consumer held whose lease has run out, and
// forgets it.
func (k *Keeper) reclaim(ctx context.Context, dead string) error {
	text, err := k.cfg.Store.Runs(ctx, dead)
	if err != nil {
		return err
	}
	var runs Runs
	if text != nil {
		if err := json.Unmarshal(text, &runs); err != nil {
			k.cfg.Log.Error("what a dead consumer ran cannot be read; its topics' holders will tell", "consumer", dead, "err", err)
		}
	}
	var bad []error
	for topic := range runs.Topics {
		bad = append(bad, k.reclaimTopic(ctx, dead, topic, runs.Group))
	}
	if err := errors.Join(bad...); err != nil {
		return err
	}
	return k.cfg.Store.Forget(ctx, dead)
}

func (k *Keeper) reclaimTopic(ctx context.Context, dead, topic, group string) error {
	t, err := k.cfg.Store.Topic(ctx, topic)
	if errors.Is(err, errs.TopicNotFound) || errors.Is(err, errs.TopicDeleting) {
		return nil // its entries went with it
	}
	if err != nil {
		return err
	}
	g, ok := t.Group(group)
	if !ok {
		return nil
	}
	keys := k.cfg.Store.Keys(t, g)
	moved, err := k.moveBack(ctx, t, &keys, dead)
	if moved > 0 {
		k.cfg.Log.Warn("events of a dead consumer were moved back", "consumer", dead, "topic", topic, "group", group, "events", moved)
		k.cfg.Reclaimed()
	}
	if err != nil {
		return fmt.Errorf("reclaim from consumer %s: %w", dead, err)
	}
	return k.cfg.Store.Unhold(ctx, &keys, dead)
}

// moveBack moves back what a dead consumer held, what it claimed last first, so
// that the oldest is handed out next in the end.
func (k *Keeper) moveBack(ctx context.Context, t *store.Topic, keys *store.Keys, dead string) (moved int64, err error) {
	receipts, err := k.cfg.Store.Held(ctx, keys, dead)
	if err != nil {
		return 0, err
	}
	err = k.cfg.Store.ReadHeld(ctx, keys, dead, receipts, func(receipts []string, entries [][]byte) error {
		ended := make([]store.Ended, len(receipts))
		for i, receipt := range receipts {
			ended[i] = store.Ended{Receipt: receipt, Parts: []store.Part{k.cfg.Rescue(t, receipt, entries[i])}}
		}
		n, err := k.cfg.Store.PutBack(ctx, keys, dead, t.DeadLimit, ended)
		moved += n
		return err
	})
	return moved, err
}

// Inspect looks for consumers that hold entries of a queue though no registry
// knows them, and moves those back. It costs one or two calls.
func (k *Keeper) Inspect(ctx context.Context, keys *store.Keys) error {
	holders, err := k.cfg.Store.Holders(ctx, keys)
	if err != nil || len(holders) == 0 {
		return err
	}
	enrolled, err := k.cfg.Store.Enrolled(ctx, holders)
	if err != nil {
		return err
	}
	for _, consumer := range holders {
		if enrolled[consumer] {
			continue
		}
		if err := k.reclaimTopic(ctx, consumer, keys.Topic, keys.Group); err != nil {
			return err
		}
	}
	return nil
}
