package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed4933/eventbus/admin"
	"github.com/seed4933/eventbus/cmd/eventbus/internal/show"
	"github.com/seed4933/eventbus/eventbus"
)

func (a *app) topic() *cobra.Command {
	c := &cobra.Command{Use: "topic", Short: "Make, change, show and switch topics"}
	const every = "works in every group of the topic"
	a.group(c,
		a.topicCreate(),
		a.ofEveryGroup(a.topicUpdate(), every+"; --add-group and --remove-group name one"),
		a.ofEveryGroup(a.topicDelete(), every+"; topic update --remove-group removes one"),
		a.ofEveryGroup(a.topicList(), "lists topics with all their groups"),
		a.ofEveryGroup(a.topicShow(), "shows the topic with all its groups"),
		a.ofEveryGroup(a.topicSwitch("enable", "Switch a topic on", "enabled", admin.API.EnableTopic), every),
		a.ofEveryGroup(a.topicSwitch("disable", "Switch a topic off: no send succeeds, nothing is handed out, what waits stays", "disabled", admin.API.DisableTopic), every),
	)
	return c
}

// topicFlags are the settings of a topic as create and update take them.
type topicFlags struct {
	set         *pflag.FlagSet
	delivery    string
	maxWaiting  int64
	concurrency int
	deadLimit   int64
	deadAge     time.Duration
	orderList   bool
	oldClients  bool
}

func (f *topicFlags) register(set *pflag.FlagSet) {
	f.set = set
	set.StringVar(&f.delivery, "delivery", "", "at_least_once (the default) or at_most_once")
	set.Int64Var(&f.maxWaiting, "max-waiting", 0, "how many events may wait in a group before sending fails; 0 for no limit")
	set.IntVar(&f.concurrency, "concurrency", 0, "how many of the topic's events one process handles at once; 0 for no limit")
	set.Var((*limitValue)(&f.deadLimit), "dead-limit", "how many dead failures a group keeps; -1 for no limit (default 1000000)")
	set.Var((*ageValue)(&f.deadAge), "dead-age", "how long a group keeps dead failures, such as 720h; -1 for no limit (default 2160h)")
	set.BoolVar(&f.orderList, "redisson-order-list", false, "keep Redisson's list of delayed events, for Java that calls size, readAll, contains or remove")
	set.BoolVar(&f.oldClients, "redisson-old-clients", false, "write delayed events so that Redisson before 3.21.1 reads them, too")
}

func (a *app) topicCreate() *cobra.Command {
	var f topicFlags
	var wire, queueKey string
	var disabled bool
	c := &cobra.Command{
		Use: "create TOPIC", Args: args("TOPIC"), Short: "Make a topic that the group gets the events of",
		RunE: func(c *cobra.Command, args []string) error {
			return a.with(func(s *session) error {
				cfg := eventbus.TopicConfig{
					Delivery: eventbus.Delivery(f.delivery), Wire: eventbus.Wire(wire), MaxWaiting: f.maxWaiting,
					Concurrency: f.concurrency, DeadLimit: f.deadLimit, DeadAge: f.deadAge, Disabled: disabled,
					RedissonOrderList: f.orderList, RedissonOldClients: f.oldClients,
				}
				group := s.group
				if queueKey != "" {
					var err error
					if group, err = s.askGroup(c.Context()); err != nil {
						return fmt.Errorf("create topic %q: %w", args[0], err)
					}
				}
				if group != "" {
					cfg.Groups = []eventbus.GroupConfig{{Name: group, QueueKey: queueKey}}
				}
				if err := offline(func(bus *eventbus.Bus) error { return bus.Topics().Create(c.Context(), args[0], cfg) }); err != nil {
					return err
				}
				if err := s.api.CreateTopic(c.Context(), args[0], cfg); err != nil {
					return err
				}
				group = s.groupOf(c.Context())
				return a.report(done{Topic: args[0], Group: group, Action: "created"}, "created topic %s with %s", args[0], named(group))
			})
		},
	}
	f.register(c.Flags())
	c.Flags().StringVar(&wire, "wire", "", "cloudevents (the default) or raw: the payload alone, for consumers that expect that")
	c.Flags().StringVar(&queueKey, "queue-key", "", "an existing list that is the group's queue")
	c.Flags().BoolVar(&disabled, "disabled", false, "make it switched off")
	return c
}

func (a *app) topicUpdate() *cobra.Command {
	var f topicFlags
	var revision int64
	var add, queueKey, remove string
	var yes bool
	c := &cobra.Command{
		Use: "update TOPIC", Args: args("TOPIC"), Short: "Change settings of a topic: those whose flags are given",
		Long: `Change settings of a topic: those whose flags are given. Its wire stays as it was made.

A group that is added gets what is sent from then on; one that is removed goes
with all that it holds, which --remove-group asks about first on a terminal, and
elsewhere demands --yes for.`,
		RunE: func(c *cobra.Command, args []string) error {
			u, changes := f.update()
			u.IfRevision = revision
			if c.Flags().Changed("queue-key") && add == "" {
				return wrongUsage("--queue-key goes with --add-group")
			}
			var empty []error
			for _, group := range []struct{ flag, name string }{{"add-group", add}, {"remove-group", remove}} {
				if c.Flags().Changed(group.flag) && group.name == "" {
					empty = append(empty, wrongUsage("--%s is empty; give the group's name or leave it out", group.flag))
				}
			}
			if err := errors.Join(empty...); err != nil {
				return err
			}
			if yes && remove == "" {
				return wrongUsage("--yes goes with --remove-group")
			}
			if !changes && add == "" && remove == "" {
				return wrongUsage("nothing to change; see %s --help for the settings", c.CommandPath())
			}
			if revision != 0 && !changes {
				return wrongUsage("--if-revision goes with a setting to change")
			}
			return a.with(func(s *session) error {
				// Each change is one of its own: what is wrong with a later one is told
				// before the first.
				if err := offline(func(bus *eventbus.Bus) error {
					var err error
					if changes {
						_, err = bus.Topics().Update(c.Context(), args[0], u)
					}
					if add != "" && (err == nil || errors.Is(err, errNoServer)) {
						err = bus.Topics().AddGroup(c.Context(), args[0], eventbus.GroupConfig{Name: add, QueueKey: queueKey})
					}
					if remove != "" && (err == nil || errors.Is(err, errNoServer)) {
						err = bus.Topics().RemoveGroup(c.Context(), args[0], remove)
					}
					return err
				}); err != nil {
					return err
				}
				if remove != "" && !yes {
					if err := a.consentToRemoval(c.Context(), s, args[0], remove); err != nil {
						return err
					}
				}
				answer := done{Topic: args[0], Action: "updated"}
				var did []string // each is a change of its own: what comes before an error stays
				if changes {
					var err error
					if answer.Revision, err = s.api.UpdateTopic(c.Context(), args[0], u); err != nil {
						return err
					}
					did = append(did, fmt.Sprintf("settings changed, to revision %d", answer.Revision))
				}
				if add != "" {
					if err := s.api.AddGroup(c.Context(), args[0], eventbus.GroupConfig{Name: add, QueueKey: queueKey}); err != nil {
						return afterAll(did, err)
					}
					did = append(did, "group "+add+" added")
				}
				if remove != "" {
					if err := s.api.RemoveGroup(c.Context(), args[0], remove); err != nil {
						return afterAll(did, err)
					}
				}
				return a.report(answer, "updated topic %s", args[0])
			})
		},
	}
	f.register(c.Flags())
	c.Flags().Int64Var(&revision, "if-revision", 0, "change settings only if the topic is at this revision; 0 for any")
	c.Flags().StringVar(&add, "add-group", "", "add a group")
	c.Flags().StringVar(&queueKey, "queue-key", "", "with --add-group: an existing list that is its queue")
	c.Flags().StringVar(&remove, "remove-group", "", "remove a group with all that it holds; goes with --yes")
	c.Flags().BoolVar(&yes, "yes", false, "with --remove-group: do not ask")
	return c
}

// afterAll says of an error what was done before it.
func afterAll(did []string, err error) error {
	if len(did) == 0 {
		return err
	}
	return fmt.Errorf("%s, then: %w", strings.Join(did, ", "), err)
}

// update holds the settings whose flags were given.
func (f *topicFlags) update() (u eventbus.TopicUpdate, some bool) {
	delivery := eventbus.Delivery(f.delivery)
	given(f.set, "delivery", &u.Delivery, &delivery, &some)
	given(f.set, "max-waiting", &u.MaxWaiting, &f.maxWaiting, &some)
	given(f.set, "concurrency", &u.Concurrency, &f.concurrency, &some)
	given(f.set, "dead-limit", &u.DeadLimit, &f.deadLimit, &some)
	given(f.set, "dead-age", &u.DeadAge, &f.deadAge, &some)
	given(f.set, "redisson-order-list", &u.RedissonOrderList, &f.orderList, &some)
	given(f.set, "redisson-old-clients", &u.RedissonOldClients, &f.oldClients, &some)
	return u, some
}

// given points to at the value of a flag that was given.
func given[T any](set *pflag.FlagSet, name string, to **T, value *T, some *bool) {
	if set.Changed(name) {
		*to, *some = value, true
	}
}

func (a *app) topicList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Args: args(), Short: "List the topics",
		RunE: func(c *cobra.Command, _ []string) error {
			return a.with(func(s *session) error {
				var views []topicView
				var bad []error // told after the list of the others
				err := each(func(page admin.Page) (string, error) {
					p, err := s.api.ListTopics(c.Context(), page)
					for _, t := range p.Topics {
						views = append(views, viewTopic(t))
					}
					for _, name := range p.Deleting {
						bad = append(bad, fmt.Errorf("%s: %w", reading(name), eventbus.ErrTopicDeleting))
					}
					for _, name := range p.Unreadable {
						_, err := s.api.GetTopic(c.Context(), name)
						bad = append(bad, err)
					}
					return p.Next, err
				})
				if err != nil {
					return err
				}
				return errors.Join(append([]error{show.List(a.out, true, topicColumns, views)}, bad...)...)
			})
		},
	}
}

func (a *app) topicShow() *cobra.Command {
	return &cobra.Command{
		Use: "show TOPIC", Args: args("TOPIC"), Short: "Show a topic's settings and groups",
		RunE: func(c *cobra.Command, args []string) error {
			return a.with(func(s *session) error {
				t, err := s.api.GetTopic(c.Context(), args[0])
				if err != nil {
					return err
				}
				v := viewTopic(t)
				return a.out.Sheet(v, v.sheet())
			})
		},
	}
}
