package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/seed4933/eventbus/admin"
)

// Through an admin service the group that nothing names is the one of its server,
// which alone knows what it is called.

// named is a group in a sentence.
func named(group string) string {
	if group == "" {
		return "the server's group"
	}
	return "group " + group
}

// groupOf returns the name of the session's group, which the server tells beside the
// topic's handlers, or which is the only one that the topic has; "" where neither
// tells it. It serves to word an answer, and an error of its own is none.
func (s *session) groupOf(ctx context.Context, topic string) string {
	if s.group != "" {
		return s.group
	}
	p, err := s.api.ListHandlers(ctx, topic, "", admin.Page{Limit: 1})
	switch {
	case err != nil: // the topic may lack the group
		return ""
	case len(p.Handlers) > 0:
		return p.Handlers[0].Group
	}
	t, err := s.api.GetTopic(ctx, topic)
	if err != nil || len(t.Groups) != 1 {
		return ""
	}
	return t.Groups[0].Name
}

// insteadOfCounting is instead for an error that may be that of counting failures,
// which tells the group.
func (s *session) insteadOfCounting(kind admin.JobKind, topic string, err error) error {
	group := s.group
	if group == "" {
		group = countedGroup(topic, err)
	}
	return instead(moving(kind, topic, group), counting(topic, group), err)
}

// countedGroup is the group of which an error tells that its failures could not be
// counted; "" where it does not.
func countedGroup(topic string, err error) string {
	step, _ := strings.CutSuffix(counting(topic, ""), `""`)
	rest, ok := strings.CutPrefix(err.Error(), step)
	if !ok {
		return ""
	}
	quoted, err := strconv.QuotedPrefix(rest)
	if err != nil {
		return ""
	}
	group, _ := strconv.Unquote(quoted)
	return group
}

func moving(kind admin.JobKind, topic, group string) string {
	if group == "" {
		return fmt.Sprintf("%s failures of topic %q, %s", kind, topic, named(group))
	}
	return fmt.Sprintf("%s failures of topic %q, group %q", kind, topic, group)
}
