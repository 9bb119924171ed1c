package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// cloudEvent is what the file and the webhook are given.
type cloudEvent struct {
	ID     string          `json:"id"`
	Type   string          `json:"type"`
	Data   json.RawMessage `json:"data"`
	Base64 *string         `json:"data_base64"`
}

// payload returns the event's bytes as they were sent.
func (c *cloudEvent) payload() ([]byte, error) {
	if c.Base64 == nil {
		return c.Data, nil
	}
	return base64.StdEncoding.DecodeString(*c.Base64)
}

// receiver is the webhook. It refuses the first delivery of every seventh event,
// and every delivery of every fortieth until it is healed.
type receiver struct {
	url    string
	server *http.Server
	failed atomic.Int64

	mu     sync.Mutex
	order  map[string]int // by event id: the how manieth event it is
	tries  map[string]int
	got    map[string][]byte
	healed bool
}

func newReceiver() (*receiver, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("open the webhook's port: %w", err)
	}
	r := &receiver{url: "http://" + l.Addr().String() + "/hook", order: map[string]int{}, tries: map[string]int{}, got: map[string][]byte{}}
	r.server = &http.Server{Handler: r, ReadHeaderTimeout: 5 * time.Second}
	go r.server.Serve(l) //nolint:errcheck // it ends with close
	return r, nil
}

func (r *receiver) close() { _ = r.server.Close() }

func (r *receiver) heal() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.healed = true
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return // the sender went away
	}
	var event cloudEvent
	if err := json.Unmarshal(body, &event); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	data, err := event.payload()
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.order[event.ID]; !known {
		r.order[event.ID] = len(r.order)
	}
	r.tries[event.ID]++
	n := r.order[event.ID]
	if n%40 == 0 && !r.healed || n%7 == 0 && r.tries[event.ID] == 1 {
		r.failed.Add(1)
		http.Error(w, "not now", http.StatusServiceUnavailable)
		return
	}
	r.got[event.ID] = data
}
