package admin

import (
	"slices"
	"strings"
	"unicode"

	"github.com/seed4933/eventbus/eventbus"
	thriftbus "github.com/seed4933/eventbus/gen-go/eventbusv1"
)

// Errors of the bus call a setting as Go does, MaxWaiting or Groups[0].Name, and other
// arguments by plain words, such as handler id. Who calls through Thrift has read the
// IDL: exceptions name what stands there. A Client, whose caller writes Go, turns it
// back, so that it returns the error that the service itself would have returned.

// ofTopics are the calls whose topic is their parameter name.
var ofTopics = []string{"getTopic", "createTopic", "updateTopic", "deleteTopic", "enableTopic", "disableTopic"}

// ofFailures are the calls that pick failures by their handler.
var ofFailures = []string{"listFailures", "replayFailures", "discardFailures"}

// idlField is an argument of the bus as the IDL calls it in a call: the parameter, or
// the field in one.
func idlField(op, field string) string {
	switch {
	case field == "topic" && slices.Contains(ofTopics, op):
		return "name"
	case field == "handler id" && slices.Contains(ofFailures, op):
		return "handler"
	case field == "handler id":
		return "id"
	case field == "filter":
		return "selection"
	case strings.HasPrefix(field, "header "):
		return "headers"
	case isSetting(field):
		return idlSetting(field)
	}
	return strings.ReplaceAll(field, " ", "_")
}

// isSetting tells that a field is one of a Go struct, or the path to one.
func isSetting(field string) bool { return field != "" && unicode.IsUpper(rune(field[0])) }

// inMillis are the settings in whose name the IDL says the unit.
var inMillis = []string{"timeout", "retry_initial", "retry_max", "breaker_open", "dead_age", "delay", "due_at", "before"}

const millis = "_ms"

// idlSetting is Groups[0].QueueKey as groups[0].queue_key.
func idlSetting(path string) string {
	parts := strings.Split(path, ".")
	for i, part := range parts {
		var b strings.Builder
		for i, r := range part {
			if unicode.IsUpper(r) && i > 0 && !unicode.IsUpper(rune(part[i-1])) {
				b.WriteByte('_')
			}
			b.WriteRune(unicode.ToLower(r))
		}
		parts[i] = b.String()
		if slices.Contains(inMillis, parts[i]) {
			parts[i] += millis
		}
	}
	return strings.Join(parts, ".")
}

// goSettings are the fields of Go structs that calls have, by what the IDL calls them.
var goSettings = func() map[string]string {
	all := map[string]string{}
	for _, name := range []string{
		"Delivery", "Wire", "MaxWaiting", "Concurrency", "DeadLimit", "DeadAge", "Groups", "Name", "QueueKey", "RedissonOrderList",
		"RedissonOldClients", "Disabled", "IfRevision", "Enabled", "Timeout", "MaxAttempts", "RetryInitial", "RetryMax", "MaxAbandoned",
		"BreakerFailures", "BreakerOpen", "Before", "Delay", "DueAt",
	} {
		all[idlSetting(name)] = name
	}
	return all
}()

// goField is the inverse of idlName.
func goField(name string) string {
	parts := strings.Split(name, ".")
	for i, part := range parts {
		setting, index, indexed := strings.Cut(part, "[")
		field, known := goSettings[setting]
		if !known {
			return name
		}
		if indexed {
			field += "[" + index
		}
		parts[i] = field
	}
	return strings.Join(parts, ".")
}

// idlName is how an exception's text names an argument of the bus: settings as the IDL
// does, others by the bus's words.
func idlName(field string) string {
	if isSetting(field) {
		return idlSetting(field)
	}
	return field
}

// toArguments is what an exception says of arguments, as far as there is room, and its
// text in the same words.
func toArguments(text string, wrong []*eventbus.ArgumentError) (string, []*thriftbus.Argument) {
	var all []*thriftbus.Argument
	left := maxText
	for _, w := range wrong {
		said := *w
		said.Field = idlName(w.Field)
		text = strings.Replace(text, w.Error(), said.Error(), 1)
		if left -= len(said.Error()); left >= 0 {
			all = append(all, &thriftbus.Argument{Name: clip(said.Field, maxText), Value: clip(said.Value, maxText), Reason: clip(said.Reason, maxText)})
		}
	}
	return text, all
}

// fromArguments is the inverse of toArguments.
func fromArguments(text string, all []*thriftbus.Argument) (string, []error) {
	var wrong []error
	for _, a := range all {
		said := eventbus.ArgumentError{Field: a.Name, Value: a.Value, Reason: a.Reason}
		meant := said
		meant.Field = goField(a.Name)
		text = strings.Replace(text, said.Error(), meant.Error(), 1)
		wrong = append(wrong, &meant)
	}
	return text, wrong
}
