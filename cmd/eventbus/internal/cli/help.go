package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// suggestionDistance is how many letters a mistyped command may differ in from
// the one that is suggested for it.
const suggestionDistance = 2

// commands is the annotation of a group that names its commands in their order.
const commands = "commands"

// group makes c a command that does nothing without one of its subcommands.
func (a *app) group(c *cobra.Command, subcommands ...*cobra.Command) {
	c.AddCommand(subcommands...)
	c.SuggestionsMinimumDistance = suggestionDistance
	names := make([]string, len(subcommands))
	for i, s := range subcommands {
		names[i] = s.Name()
	}
	c.Annotations = map[string]string{commands: strings.Join(names, ", ")}
	c.Args = cobra.ArbitraryArgs // else cobra words the error
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return wrongUsage("a command is missing: one of %s; see %s --help", c.Annotations[commands], c.CommandPath())
		}
		return unknownCommand(c, args[0])
	}
}

// unknownCommand says what may be meant and what there is.
func unknownCommand(parent *cobra.Command, name string) error {
	if !parent.HasAvailableSubCommands() {
		return wrongUsage("%s has no command %q below it; see %s --help", parent.CommandPath(), name, parent.CommandPath())
	}
	meant := ""
	if like := parent.SuggestionsFor(name); len(like) > 0 {
		meant = fmt.Sprintf(" %s may be meant;", strings.Join(like, " or "))
	}
	return wrongUsage("unknown command %q;%s right are: %s; see %s --help", name, meant, parent.Annotations[commands], parent.CommandPath())
}

// help is the command help. Help on something that there is not is wrong usage,
// as a call of it is, also where --help asks for it.
func (a *app) help(root *cobra.Command) {
	show := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		if rest := c.Flags().Args(); c.HasAvailableSubCommands() && len(rest) > 0 {
			a.noHelp = unknownCommand(c, rest[0])
			return
		}
		show(c, args)
	})
	root.SetHelpCommand(&cobra.Command{
		Use: "help [COMMAND…]", Short: "Show what a command does and takes",
		RunE: func(_ *cobra.Command, args []string) error {
			at := root
			for _, name := range args {
				next := subcommand(at, name)
				if next == nil {
					return unknownCommand(at, name)
				}
				at = next
			}
			at.InitDefaultHelpFlag() // as a call of it would have
			at.InitDefaultVersionFlag()
			return at.Help()
		},
	})
}

func subcommand(of *cobra.Command, name string) *cobra.Command {
	for _, c := range of.Commands() {
		if c.Name() == name {
			return c
		}
	}
	return nil
}
