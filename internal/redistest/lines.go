package redistest

import (
	"bytes"
	"sync"
)

// lines is a writer that never blocks and hands what was written to a channel,
// line by line.
type lines struct {
	out  chan string
	wake chan struct{} // holds a token when pending was filled
	quit chan struct{}

	mu      sync.Mutex
	partial []byte // a line without its end so far
	pending []string
}

func newLines() *lines {
	return &lines{out: make(chan string), wake: make(chan struct{}, 1), quit: make(chan struct{})}
}

func (l *lines) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.partial = append(l.partial, data...)
	for {
		line, rest, found := bytes.Cut(l.partial, []byte("\n"))
		if !found {
			break
		}
		l.pending = append(l.pending, string(line))
		l.partial = rest
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
	return len(data), nil
}

// start hands the lines out until ended is closed and none is left, or until
// stop. After ended nothing more may be written. The channel that it returns is
// closed when it is over.
func (l *lines) start(ended <-chan struct{}) <-chan struct{} {
	over := make(chan struct{})
	go func() {
		defer close(over)
		defer close(l.out)
		for {
			select {
			case <-l.wake:
				if !l.send(l.take()) {
					return
				}
			case <-ended:
				l.send(append(l.take(), l.rest()...))
				return
			case <-l.quit:
				return
			}
		}
	}()
	return over
}

// stop ends the handing out. It may be called once.
func (l *lines) stop() { close(l.quit) }

func (l *lines) send(batch []string) bool {
	for _, line := range batch {
		select {
		case l.out <- line:
		case <-l.quit:
			return false
		}
	}
	return true
}

func (l *lines) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	batch := l.pending
	l.pending = nil
	return batch
}

// rest returns the last line when it has no end.
func (l *lines) rest() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.partial) == 0 {
		return nil
	}
	return []string{string(l.partial)}
}
