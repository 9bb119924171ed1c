package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed4933/eventbus/cmd/eventbus/internal/demo"
	"github.com/seed4933/eventbus/cmd/eventbus/internal/redisurl"
	"github.com/seed4933/eventbus/cmd/eventbus/internal/show"
	"github.com/seed4933/eventbus/eventbus"
)

func (a *app) demo() *cobra.Command {
	return &cobra.Command{
		Use: "demo", Args: args(), Short: "Tell the whole story of the bus on an embedded server, and end",
		Long: `Tell the whole story of the bus: topics, two groups, a retry, a dead failure and
its replay, a topic that is switched off, delayed events and the cancelling of one,
the figures. Each step checks what it says; when all
are true, the exit code is 0.

It runs on a server inside the process, or on the one that the flag --redis names,
there in a namespace of its own that is removed at the end. Its name begins with
what --namespace says, and --group names the first of the two groups. Environment
and settings file are not looked at.`,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			if err := a.refuseAdmin("tells its story on Redis itself"); err != nil {
				return err
			}
			for _, name := range []string{"namespace", "group"} {
				if f := a.flags.set.Lookup(name); f.Changed && f.Value.String() == "" {
					return wrongUsage("--%s is empty; give a value or leave it out", name)
				}
			}
			a.origin = origin{"--namespace", "--group"}
			names := demo.Names{Namespace: a.flags.namespace, Group: a.flags.group}
			if err := checkNames(eventbus.Config{Namespace: names.Namespace, Group: names.Group}); err != nil {
				return err
			}
			if !a.flags.set.Changed("redis") {
				a.flags.redis = redisurl.Embedded
			}
			target, err := redisurl.Parse(a.flags.redis)
			if err != nil {
				return wrongUsage("--redis: %w", err)
			}
			a.target, a.where = target, target.String()
			r, err := reach(target)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, r.close()) }()
			if r.embedded != nil {
				fmt.Fprintln(a.env.Stderr, embeddedNote)
			}
			t := &teller{out: a.out}
			if err := demo.Run(c.Context(), r.rdb, names, t); err != nil {
				return a.out.FlushAfter(err)
			}
			return t.end(target)
		},
	}
}

// teller writes the story as it happens.
type teller struct {
	out  *show.Printer
	step int
	err  error // the first of writing
}

// told is one sentence of the story.
type told struct {
	Step int    `json:"step"`
	Kind string `json:"kind"` // step, fact or end
	Text string `json:"text"`
}

func (t *teller) Step(text string) {
	t.step++
	t.say("step", text, "%d. %s", t.step, text)
}

func (t *teller) Fact(text string) { t.say("fact", text, "   %s", text) }

func (t *teller) say(kind, text, format string, args ...any) {
	err := t.out.FlushAfter(t.out.Say(told{t.step, kind, text}, format, args...))
	if t.err == nil {
		t.err = err
	}
}

func (t *teller) end(target redisurl.Target) error {
	text := fmt.Sprintf("All %d steps went as told, on %s", t.step, target)
	t.say("end", text, "%s", text)
	return t.err
}
