package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed4933/eventbus/cmd/eventbus/internal/show"
	"github.com/seed4933/eventbus/eventbus"
)

// sending is one call of send.
type sending struct {
	data, file, id, contentType string
	headers                     []string
	lines                       bool
	delay                       time.Duration
	at                          time.Time
	maxPayload                  int

	topic    string
	past     bool             // the time was past when it was given
	implicit bool             // stdin is read though nothing said so
	message  eventbus.Message // what all events of the call have
}

// sent is the answer for one event.
type sent struct {
	Topic string `json:"topic"`
	ID    string `json:"id"`
	// Due is when it is handed out, left out where that is at once. A delay counts
	// here from the answer, by this machine's clock.
	Due *time.Time `json:"due,omitempty"`
}

func (a *app) send() *cobra.Command {
	var s sending
	c := &cobra.Command{
		Use: "send TOPIC [-]", Args: args("TOPIC", "[-]"), Short: "Send one event, or one for each line",
		Long: `Send one event whose payload is --data, the content of --file, or what stands on
stdin, byte for byte; and print its id. JSON is sent as JSON, anything else as
bytes of type application/octet-stream, unless --content-type says otherwise.

Stdin is read for "-", for --file -, and where neither --data nor --file is given
and stdin is a pipe or a file.

With --lines each line is the payload of one event, an empty line an empty one;
the line's end ("\n" or "\r\n") is not part of it. Lines are sent in batches of up
to 500, and as they come: a slow source is not waited for.

With --delay or --at events are handed out later, by Redis's clock and not early,
up to ten years ahead. A delay counts from the moment in which Redis takes the
event; 0 or less, and a time in the past, is at once: a line on stderr tells of a
time in the past and of a delay below 0, and with --delay 0 nothing is told. With
-o json each event has its time as "due", for a delay as this machine's clock has
it; what goes at once has none.`,
		Example: `  eventbus send orders --data '{"id":1}'
  eventbus send orders --lines --file orders.ndjson
  eventbus send orders --data '{"id":1}' --delay 90s
  eventbus send orders --data '{"id":1}' --at 2026-01-31T12:00:00+01:00`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := s.check(c, args); err != nil {
				return err
			}
			return a.with(func(bus *session) error {
				if err := s.checkAttributes(c, bus); err != nil {
					return err
				}
				in, err := a.source(c, &s)
				if err != nil {
					return err
				}
				defer in.Close() // only read from
				if s.lines {
					return a.sendLines(c.Context(), bus, &s, in)
				}
				return a.sendOne(c.Context(), bus, &s, in)
			}, func(cfg *eventbus.Config) { cfg.MaxPayload = s.maxPayload })
		},
	}
	f := c.Flags()
	f.StringVar(&s.data, "data", "", "the payload")
	f.StringVar(&s.file, "file", "", "the file that holds the payload, or the lines; - for stdin")
	f.BoolVar(&s.lines, "lines", false, "send each line as one event")
	f.Var((*delayValue)(&s.delay), "delay", "hand out so much later, such as 90s or 1h30m")
	f.Var((*momentValue)(&s.at), "at", "hand out at this time: RFC 3339, such as 2026-01-31T12:00:00Z")
	f.StringVar(&s.id, "id", "", "the event's id (default a new UUIDv7); not on a raw topic")
	f.StringArrayVar(&s.headers, "header", nil, "a header NAME=VALUE; may be given again and again; not on a raw topic")
	f.StringVar(&s.contentType, "content-type", "", "media type of the payload; not on a raw topic")
	f.IntVar(&s.maxPayload, "max-payload", eventbus.DefaultMaxPayload, "greatest payload in bytes")
	return c
}

// check looks at what can be judged without a server.
func (s *sending) check(c *cobra.Command, args []string) error {
	s.topic = args[0]
	given := 0
	for _, name := range []string{"data", "file"} {
		if c.Flags().Changed(name) {
			given++
		}
	}
	if len(args) > 1 {
		if len(args) > 2 || args[1] != "-" {
			return wrongUsage("after the topic only - is right, for stdin; a payload goes with --data, a file with --file")
		}
		s.file = "-"
		given++
	}
	switch {
	case given > 1:
		return wrongUsage("--data, --file and - do not go together; one is right")
	case c.Flags().Changed("file") && s.file == "":
		return wrongUsage("--file is empty; give a path, or - for stdin")
	case c.Flags().Changed("delay") && c.Flags().Changed("at"):
		return wrongUsage("--delay and --at do not go together; one is right")
	case s.lines && s.id != "":
		return wrongUsage("--id goes with one event, not with --lines")
	case c.Flags().Changed("id") && s.id == "":
		return wrongUsage("--id is empty; leave it out for a new one")
	case s.maxPayload < 1 || s.maxPayload > eventbus.MaxPayloadLimit:
		return wrongUsage("--max-payload is %d; from 1 to %d is right", s.maxPayload, eventbus.MaxPayloadLimit)
	}
	s.past = !s.at.IsZero() && !s.at.After(time.Now())
	s.message.ID, s.message.Delay, s.message.DueAt = s.id, s.delay, s.at
	for _, h := range s.headers {
		name, value, ok := strings.Cut(h, "=")
		if !ok {
			return wrongUsage("--header is %q; NAME=VALUE is right", h)
		}
		if s.message.Headers == nil {
			s.message.Headers = map[string]string{}
		}
		if _, twice := s.message.Headers[name]; twice {
			return wrongUsage("--header %s is given twice; once is right", name)
		}
		s.message.Headers[name] = value
	}
	return s.checkAt()
}

// checkAt names the latest time that is right, where --at is beyond it. It leaves to
// Redis's clock what lies near.
func (s *sending) checkAt() error {
	now := time.Now()
	if s.at.Sub(now) <= eventbus.MaxDelay+24*time.Hour {
		return nil
	}
	return &eventbus.ArgumentError{
		Field: "DueAt", Value: s.at.Format(time.RFC3339),
		Reason: "it is more than ten years from now; the latest that is right is " + show.Time(now.Add(eventbus.MaxDelay)),
	}
}

// tellPast tells of a time that was past already when the events were sent, and of a
// delay that leads to one. A delay of 0 is said on purpose.
func (a *app) tellPast(s *sending) {
	if s.delay < 0 {
		a.tell("--delay %s is in the past: handed out at once", s.delay)
	}
	if s.past {
		a.tell("--at %s is in the past: handed out at once", s.at.Format(time.RFC3339))
	}
}

// due is when events that are sent now are handed out; nil for at once.
func (s *sending) due() *time.Time {
	switch {
	case s.delay > 0:
		return show.Moment(time.Now().Add(s.delay))
	case s.at.IsZero() || s.past:
		return nil
	}
	return show.Moment(s.at)
}

// source opens what the payload is read from.
func (a *app) source(c *cobra.Command, s *sending) (io.ReadCloser, error) {
	switch {
	case c.Flags().Changed("data"):
		return io.NopCloser(strings.NewReader(s.data)), nil
	case s.file == "-":
		return io.NopCloser(a.env.Stdin), nil
	case s.file == "" && !piped(a.env.Stdin):
		return nil, wrongUsage("nothing to send: give --data TEXT, --file FILE, or - for stdin")
	case s.file == "":
		s.implicit = true
		return io.NopCloser(a.env.Stdin), nil
	}
	f, err := os.Open(s.file)
	if err != nil {
		return nil, fmt.Errorf("read payload: %w", err)
	}
	return f, nil
}

// piped tells that a stream has content of its own: not a terminal, and not the
// null device that services and jobs have for stdin.
func piped(stream io.Reader) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return true
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice == 0
}

func (a *app) sendOne(ctx context.Context, bus *session, s *sending, in io.Reader) error {
	payload, err := readAll(ctx, io.LimitReader(in, int64(s.maxPayload)+1))
	if err != nil {
		return fmt.Errorf("read payload: %w", err)
	}
	if len(payload) == 0 && s.implicit {
		return wrongUsage("nothing to send: stdin is empty; an empty payload is sent by --data ''")
	}
	if len(payload) > s.maxPayload {
		return fmt.Errorf("send to topic %q: %w: the payload has more than %s", s.topic, eventbus.ErrPayloadTooLarge, show.Count(s.maxPayload, "byte"))
	}
	m := s.message
	m.Value = eventbus.Raw{Payload: payload, ContentType: s.contentType}
	ids, err := bus.api.SendBatch(ctx, s.topic, []eventbus.Message{m})
	if err != nil {
		return err
	}
	err = doneBut(fmt.Sprintf("the event was sent, with id %s", ids[0]), a.answer(s, ids))
	if err == nil {
		a.tellPast(s)
	}
	return err
}

// answer prints ids: one a line.
func (a *app) answer(s *sending, ids []string) error {
	due := s.due()
	for _, id := range ids {
		if err := a.out.Say(sent{Topic: s.topic, ID: id, Due: due}, "%s", id); err != nil {
			return err
		}
	}
	return a.out.Flush()
}

// readAll reads to the end, or until ctx ends: a read from a terminal or a pipe
// cannot be broken off, and is left behind then.
func readAll(ctx context.Context, in io.Reader) ([]byte, error) {
	type result struct {
		text []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		text, err := io.ReadAll(in)
		done <- result{text, err}
	}()
	select {
	case r := <-done:
		return r.text, r.err
	case <-ctx.Done():
		return nil, errors.Join(errors.New("nothing was sent"), ctx.Err())
	}
}
