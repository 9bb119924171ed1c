package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed4933/eventbus/eventbus"
)

// checkAttributes looks at what is sent beside the payload, and at when: whether it
// is right, which needs no server, and then whether the topic keeps it.
func (s *sending) checkAttributes(c *cobra.Command, bus *session) error {
	var given []string
	for _, name := range []string{"id", "header", "content-type"} {
		if c.Flags().Changed(name) {
			given = append(given, "--"+name)
		}
	}
	if len(given) == 0 && s.delay <= 0 && s.at.IsZero() {
		return nil
	}
	m := s.message
	m.Value = eventbus.Raw{ContentType: s.contentType}
	if err := checkMessage(c.Context(), s.topic, m); err != nil || len(given) == 0 {
		return err
	}
	// A topic keeps its wire for life, so that this holds until the event is sent.
	t, err := bus.api.GetTopic(c.Context(), s.topic)
	if err != nil {
		return instead(fmt.Sprintf("send to topic %q", s.topic), reading(s.topic), err)
	}
	if t.Wire == eventbus.WireRaw {
		return wrongUsage("topic %s has wire raw, which keeps the payload alone; leave out %s", s.topic, strings.Join(given, ", "))
	}
	return nil
}
