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

// groupOf returns the name of the session's group; "" where it cannot be told, which
// is no error: it serves to word an answer.
func (s *session) groupOf(ctx context.Context, topic string) string {
	group, _ := s.askGroup(ctx, topic)
	return group
}

// askGroup is groupOf with the reason why the group cannot be told. A server tells it
// in every error that is about one: here that of a failure that cannot be.
func (s *session) askGroup(ctx context.Context, topic string) (string, error) {
	if s.group != "" {
		return s.group, nil
	}
	_, err := s.api.GetFailure(ctx, topic, "", "")
	if group := groupIn(err, fmt.Sprintf("read failure %q of topic %q, group ", "", topic)); group != "" {
		return group, nil
	}
	return "", err
}

// groupIn is the group that an error names after the step that has failed; "" where it
// does not.
func groupIn(err error, step string) string {
	if err == nil {
		return ""
	}
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

// insteadOfCounting is instead for an error that may be that of counting failures,
// which tells the group.
func (s *session) insteadOfCounting(kind admin.JobKind, topic string, err error) error {
	group := s.group
	if group == "" {
		step, _ := strings.CutSuffix(counting(topic, ""), `""`)
		group = groupIn(err, step)
	}
	return instead(moving(kind, topic, group), counting(topic, group), err)
}

func moving(kind admin.JobKind, topic, group string) string {
	if group == "" {
		return fmt.Sprintf("%s failures of topic %q, %s", kind, topic, named(group))
	}
	return fmt.Sprintf("%s failures of topic %q, group %q", kind, topic, group)
}
