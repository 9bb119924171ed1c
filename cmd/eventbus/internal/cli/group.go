package cli

import (
	"context"
	"fmt"

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

// askGroup returns the name of the session's group, for which a server is asked once.
func (s *session) askGroup(ctx context.Context) (string, error) {
	if s.group == "" {
		server, err := s.api.Server(ctx)
		if err != nil {
			return "", err
		}
		s.group = server.Group
	}
	return s.group, nil
}

// groupOf is askGroup for the wording of an answer, where an error is none: the group is
// "" then.
func (s *session) groupOf(ctx context.Context) string {
	group, _ := s.askGroup(ctx)
	return group
}

// insteadOfCounting is instead for an error that may be that of counting failures.
func (s *session) insteadOfCounting(ctx context.Context, kind admin.JobKind, topic string, err error) error {
	group := s.groupOf(ctx)
	return instead(moving(kind, topic, group), counting(topic, group), err)
}

func moving(kind admin.JobKind, topic, group string) string {
	if group == "" {
		return fmt.Sprintf("%s failures of topic %q, %s", kind, topic, named(group))
	}
	return fmt.Sprintf("%s failures of topic %q, group %q", kind, topic, group)
}
