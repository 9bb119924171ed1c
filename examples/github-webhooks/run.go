package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed4933/eventbus/eventbus"
)

// payload is one example, with its bytes as they stand in the file.
type payload struct {
	topic string
	bytes json.RawMessage
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// What the release of the examples that run.sh fetches holds: fewer would show less
// than this program says.
const (
	wantPayloads = 329
	wantNames    = 58
)

// load reads the payloads without changing a byte of them.
func load(path string) (payloads []payload, topics []string, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("read the payloads: %w", err)
	}
	var index []struct {
		Name     string
		Examples []json.RawMessage
	}
	if err := json.Unmarshal(text, &index); err != nil {
		return nil, nil, fmt.Errorf("read the payloads from %s: %w", path, err)
	}
	for _, entry := range index {
		topic := "github." + entry.Name
		topics = append(topics, topic)
		for _, example := range entry.Examples {
			payloads = append(payloads, payload{topic: topic, bytes: example})
		}
	}
	if len(payloads) != wantPayloads || len(topics) != wantNames {
		return nil, nil, fmt.Errorf("read the payloads from %s: it has %d of %d names, and %d of %d are right", path, len(payloads), len(topics), wantPayloads, wantNames)
	}
	return payloads, topics, nil
}

func run(ctx context.Context, index string) (err error) {
	payloads, topics, err := load(index)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "github-webhooks-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	url, stopRedis, err := server(ctx, dir)
	if err != nil {
		return err
	}
	defer stopRedis()
	o, err := redis.ParseURL(url)
	if err != nil {
		return fmt.Errorf("read the Redis URL: %w", err)
	}
	rdb := redis.NewClient(o)
	defer rdb.Close() //nolint:errcheck // the process ends
	bus, err := newBus(rdb)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bus.Close()) }()
	for _, topic := range topics {
		if err := bus.Topics().Create(ctx, topic, eventbus.TopicConfig{}); err != nil {
			return err
		}
	}
	hook, err := newReceiver()
	if err != nil {
		return err
	}
	defer hook.close()

	file := filepath.Join(dir, "events.ndjson")
	env := []string{workerEnv + "=1", envRedis + "=" + url, envFile + "=" + file, envHook + "=" + hook.url, envTopics + "=" + strings.Join(topics, " ")}
	first, err := start(ctx, env)
	if err != nil {
		return err
	}
	defer first.kill()
	second, err := start(ctx, env)
	if err != nil {
		return err
	}
	defer second.kill()

	sent := map[string]payload{}
	for i, p := range payloads {
		id, err := bus.Send(ctx, p.topic, p.bytes)
		if err != nil {
			return err
		}
		sent[id] = p
		if i == len(payloads)/2 {
			if err := first.waitHandled(ctx); err != nil {
				return err
			}
			first.kill()
			fmt.Printf("sent %d of %d events of %d topics; killed one of the two workers (SIGKILL), which had handled %d\n",
				i+1, len(payloads), len(topics), first.handled.Load())
		}
	}
	if err := settled(ctx, bus, topics); err != nil {
		return err
	}
	hook.heal()
	var replayed, retried int64
	for _, topic := range topics {
		n, err := bus.Failures().Replay(ctx, topic, eventbus.FailureFilter{Handler: "webhook"})
		if err != nil {
			return err
		}
		replayed += n
	}
	fmt.Printf("the webhook failed %d times; replayed %d failures that had used up their attempts\n", hook.failed.Load(), replayed)
	if err := settled(ctx, bus, topics); err != nil {
		return err
	}
	for _, topic := range topics {
		s, err := bus.GroupStats(ctx, topic)
		if err != nil {
			return err
		}
		retried += s.Failed - s.Died
		if s.Dead > 0 {
			return fmt.Errorf("topic %s still has %d dead failures", topic, s.Dead)
		}
	}
	fmt.Printf("retried %d failed attempts\n", retried)
	if err := second.stop(ctx); err != nil {
		return err
	}
	if hook.failed.Load() == 0 || replayed == 0 || retried == 0 {
		return errors.New("nothing failed, was retried or replayed: the example shows nothing")
	}
	return verify(ctx, rdb, sent, file, hook)
}

// settled waits until nothing waits, runs or is to be retried any more.
func settled(ctx context.Context, bus *eventbus.Bus, topics []string) error {
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for {
		var open int64
		for _, topic := range topics {
			s, err := bus.GroupStats(ctx, topic)
			if err != nil {
				return err
			}
			open += s.Waiting + s.InFlight + s.Retrying
		}
		if open == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d events are not handled: %w", open, ctx.Err())
		case <-ticker.C:
		}
	}
}

// enough is how many events a worker handles before it may be killed.
const enough = 20

// worker is a worker process.
type worker struct {
	cmd     *exec.Cmd
	handled atomic.Int64
	seen    chan struct{} // closed once it has handled enough
	ended   chan struct{}
	err     error
}

func start(ctx context.Context, env []string) (*worker, error) {
	w := &worker{cmd: exec.CommandContext(ctx, os.Args[0]), seen: make(chan struct{}), ended: make(chan struct{})}
	w.cmd.Env = append(os.Environ(), env...)
	w.cmd.Stderr = os.Stderr
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := w.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a worker: %w", err)
	}
	go func() {
		defer close(w.ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if w.handled.Add(1) == enough {
				close(w.seen)
			}
		}
		w.err = w.cmd.Wait()
	}()
	return w, nil
}

// waitHandled waits until the worker has handled enough to be missed.
func (w *worker) waitHandled(ctx context.Context) error {
	select {
	case <-w.seen:
		return nil
	case <-w.ended:
		return fmt.Errorf("a worker ended too soon: %w", w.err)
	case <-ctx.Done():
		return fmt.Errorf("a worker handles nothing: %w", ctx.Err())
	}
}

func (w *worker) kill() {
	_ = w.cmd.Process.Kill() // it may have ended
	<-w.ended
}

// stop ends the worker as an operator would.
func (w *worker) stop(ctx context.Context) error {
	if err := w.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop the worker: %w", err)
	}
	select {
	case <-w.ended:
		if w.err != nil {
			return fmt.Errorf("the worker did not stop cleanly: %w", w.err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the worker does not stop: %w", ctx.Err())
	}
}
