package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

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

// ofEveryGroup has a command refuse --group, which it has no use for: whoever gives it
// takes the command for one that works in that group alone. A group of the environment
// or the settings file serves other calls, and is no mistake.
func (a *app) ofEveryGroup(c *cobra.Command, does string) *cobra.Command {
	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if a.flags.set.Changed("group") {
			return wrongUsage("--group does not go with %s, which %s", c.Name(), does)
		}
		return run(c, args)
	}
	return c
}

// tellUnknownGroup tells that an empty list is one of a group that no topic has, such as
// one that is mistyped.
func (a *app) tellUnknownGroup(ctx context.Context, s *session) error {
	var names []string
	err := each(func(page admin.Page) (string, error) {
		p, err := s.api.ListTopics(ctx, page)
		for _, t := range p.Topics {
			for _, g := range t.Groups {
				names = append(names, g.Name)
			}
		}
		return p.Next, err
	})
	if err != nil || slices.Contains(names, s.group) {
		return err
	}
	slices.Sort(names)
	names = slices.Compact(names)
	has := cmp.Or(strings.Join(names[:min(len(names), shownGroups)], ", "), "none")
	if more := len(names) - shownGroups; more > 0 {
		has += fmt.Sprintf(" and %d more", more)
	}
	a.tell("no topic has the group %s; there are: %s", s.group, has)
	return nil
}

// shownGroups is how many groups a line names.
const shownGroups = 20

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
