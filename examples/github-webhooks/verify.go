package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/redis/go-redis/v9"
)

// verify shows that each payload has reached each handler, byte for byte.
func verify(ctx context.Context, rdb *redis.Client, sent map[string]payload, file string, hook *receiver) error {
	typed, err := rdb.HGetAll(ctx, handledKey).Result()
	if err != nil {
		return fmt.Errorf("read what the typed handler saw: %w", err)
	}
	lines, repeated, torn, err := read(file)
	if err != nil {
		return err
	}
	var missing []error
	for id, p := range sent {
		if !bytes.Equal(lines[id], p.bytes) {
			missing = append(missing, fmt.Errorf("event %s of %s: the file has other bytes or none", id, p.topic))
		}
		if typed[id] != digest(p.bytes) {
			missing = append(missing, fmt.Errorf("event %s of %s: the typed handler saw other bytes or none", id, p.topic))
		}
		if !bytes.Equal(hook.got[id], p.bytes) {
			missing = append(missing, fmt.Errorf("event %s of %s: the webhook got other bytes or none", id, p.topic))
		}
	}
	if len(lines) != len(sent) || len(typed) != len(sent) || len(hook.got) != len(sent) {
		missing = append(missing, fmt.Errorf("%d events were sent; the file has %d, the typed handler saw %d, the webhook got %d", len(sent), len(lines), len(typed), len(hook.got)))
	}
	if err := errors.Join(missing...); err != nil {
		return err
	}
	fmt.Printf("all %d payloads reached all 3 handlers, byte for byte; %d lines of the file stand twice, which the killed worker had written and not yet reported, and %d is torn, which it was just writing\n", len(sent), repeated, torn)
	return nil
}

// kills is how many workers are killed: each may tear the line that it was writing,
// as the file handler says. That event runs again, and stands there whole as well.
const kills = 1

// read returns the payloads of a file of CloudEvents by event id, how many lines it
// has beyond one an event, and how many are torn.
func read(path string) (payloads map[string][]byte, repeated, torn int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, 0, fmt.Errorf("read the file: %w", err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	payloads = map[string][]byte{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		if len(lines.Bytes()) == 0 {
			continue
		}
		var event cloudEvent
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			if torn++; torn > kills {
				return nil, 0, 0, fmt.Errorf("read line %d of the file: %w", n, err)
			}
			continue
		}
		data, err := event.payload()
		if err != nil {
			return nil, 0, 0, fmt.Errorf("read line %d of the file: %w", n, err)
		}
		if _, known := payloads[event.ID]; known {
			repeated++
		}
		payloads[event.ID] = bytes.Clone(data)
	}
	return payloads, repeated, torn, lines.Err()
}
