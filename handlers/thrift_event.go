package handlers

import "github.com/seed4933/eventbus/eventbus"

// size is how many bytes a call takes at most. It is known before anything is
// written, so that what is too large for a frame costs no connection.
func (t *Thrift) size(event *eventbus.Event) int {
	const (
		most      = 256 // of all that has a fixed length, in any protocol
		perString = 5   // the length of a string, in any protocol
	)
	size := most + len(t.cfg.Service) + len(t.cfg.Token) +
		len(event.ID) + len(event.Topic) + len(event.Type) + len(event.Source) + len(event.ContentType) +
		len(event.Payload) + len(event.Group) + len(event.Handler)
	for name, value := range event.Headers {
		size += 2*perString + len(name) + len(value)
	}
	return size
}
