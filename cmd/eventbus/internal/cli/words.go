package cli

import (
	"errors"
	"strings"

	"github.com/seed4933/eventbus/cmd/eventbus/internal/settings"
	"github.com/seed4933/eventbus/eventbus"
)

// words names what was typed for the fields of the bus's arguments. Fields that
// depend on the call are in typed.
var words = map[string]string{
	"group":              "--remove-group",
	"Name":               "--add-group",
	"QueueKey":           "--queue-key",
	"Groups[0].QueueKey": "--queue-key",
	"Delivery":           "--delivery",
	"Wire":               "--wire",
	"MaxWaiting":         "--max-waiting",
	"Concurrency":        "--concurrency",
	"DeadLimit":          "--dead-limit",
	"DeadAge":            "--dead-age",
	"IfRevision":         "--if-revision",
	"Timeout":            "--timeout",
	"MaxAttempts":        "--max-attempts",
	"RetryInitial":       "--retry-initial",
	"RetryMax":           "--retry-max",
	"MaxAbandoned":       "--max-abandoned",
	"BreakerFailures":    "--breaker-failures",
	"BreakerOpen":        "--breaker-open",
	"Before":             "--before",
	"Delay":              "--delay",
	"DueAt":              "--at",
	"id":                 "--id",
	"content type":       "--content-type",
	"headers":            "--header",
	"header name":        "--header",
	"cursor":             "--cursor",
	"state":              "--state",
}

// typed returns what the user typed for a field of the bus's arguments, or the
// field where nothing was typed for it.
func (a *app) typed(field string) string {
	switch {
	case field == "Namespace" && a.origin.namespace != "":
		return a.origin.namespace
	case (field == "Group" || field == "Groups[0].Name") && a.origin.group != "":
		return a.origin.group
	case field == "id" && a.command != nil && a.command.Flags().Lookup("id") == nil:
		return field // an argument
	case field == "handler id":
		if a.command != nil && a.command.Flags().Lookup("handler") != nil {
			return "--handler"
		}
		return "handler"
	}
	if name, ok := strings.CutPrefix(field, "header "); ok && words[field] == "" {
		return "--header " + name
	}
	if word := words[field]; word != "" {
		return word
	}
	return field
}

// reword returns err's text with the words of the command line in place of the
// bus's. A settings file's error has its keys already.
func (a *app) reword(err error) string {
	text := err.Error()
	var file *settings.Error
	if errors.As(err, &file) {
		return text
	}
	for _, w := range arguments(err) {
		text = strings.Replace(text, "invalid "+w.Field, "invalid "+a.typed(w.Field), 1)
	}
	return text
}

// arguments finds all wrong arguments that err tells of.
func arguments(err error) []*eventbus.ArgumentError {
	switch e := err.(type) {
	case nil:
		return nil
	case *eventbus.ArgumentError:
		return []*eventbus.ArgumentError{e}
	case interface{ Unwrap() []error }:
		var all []*eventbus.ArgumentError
		for _, inner := range e.Unwrap() {
			all = append(all, arguments(inner)...)
		}
		return all
	}
	return arguments(errors.Unwrap(err))
}
