package admin

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/seed4933/eventbus/eventbus"
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

// others are the arguments that the bus calls as the IDL does, or by words.
var others = []string{
	"topic", "group", "id", "ids", "handler", "filter", "state", "limit", "cursor", "update", "message", "messages", "payload", "value",
	"type", "source", "headers", "handler id", "content type", "header name",
}

// goField is what the bus calls a field of the IDL in a text; ok is false for one that
// no call has.
func goField(field string) (name string, ok bool) {
	if slices.Contains(others, field) || strings.HasPrefix(field, "header ") {
		return field, true
	}
	parts := strings.Split(field, ".")
	for i, part := range parts {
		part, index, _ := strings.Cut(part, "[")
		if parts[i], ok = goSettings[part]; !ok {
			return field, false
		}
		if index != "" {
			parts[i] += "[" + index
		}
	}
	return strings.Join(parts, "."), true
}

// inIDL returns the text of an error with its settings as the IDL calls them.
func inIDL(text string, wrong []*eventbus.ArgumentError) string {
	for _, w := range wrong {
		if isSetting(w.Field) {
			said := *w
			said.Field = idlSetting(w.Field)
			text = strings.Replace(text, w.Error(), said.Error(), 1)
		}
	}
	return text
}

// inGo is the inverse of inIDL: it returns the text, and all that it says of arguments.
func inGo(text string) (string, []*eventbus.ArgumentError) {
	var all []*eventbus.ArgumentError
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		at := argumentIn(line)
		if at < 0 {
			continue
		}
		if wrong, ok := readArgument(line[at:]); ok {
			lines[i] = line[:at] + wrong.Error()
			all = append(all, wrong)
		}
	}
	return strings.Join(lines, "\n"), all
}

const invalid = "invalid "

// argumentIn finds where a line begins to tell of an argument; -1 where it does not.
// What stands in quotes is what somebody has sent.
func argumentIn(line string) int {
	for i := 0; i < len(line); i++ {
		if line[i] == '"' {
			if quoted, err := strconv.QuotedPrefix(line[i:]); err == nil {
				i += len(quoted) - 1
				continue
			}
		}
		if strings.HasPrefix(line[i:], invalid) && (i == 0 || strings.HasSuffix(line[:i], ": ")) {
			return i
		}
	}
	return -1
}

// readArgument reads the text of an ArgumentError, and names its field as Go does.
func readArgument(text string) (wrong *eventbus.ArgumentError, ok bool) {
	text = strings.TrimPrefix(text, invalid)
	end := strings.IndexAny(text, " :")
	if end < 0 {
		return nil, false
	}
	field := text[:end]
	for _, other := range others { // some have two words
		if rest, ok := strings.CutPrefix(text, other); ok && len(other) > len(field) && strings.IndexAny(rest, " :") == 0 {
			field = other
		}
	}
	if field == "header" {
		name, _, _ := strings.Cut(text[len(field):], ":")
		name, _, _ = strings.Cut(strings.TrimPrefix(name, " "), " ")
		field += " " + name
	}
	rest, _ := strings.CutPrefix(text, field)
	wrong = &eventbus.ArgumentError{}
	if wrong.Field, ok = goField(field); !ok {
		return nil, false
	}
	if value, ok := strings.CutPrefix(rest, " "); ok {
		quoted, err := strconv.QuotedPrefix(value)
		if err != nil {
			quoted = "" // a number, a duration or a time
		}
		end := strings.Index(value[len(quoted):], ": ")
		if end < 0 {
			return nil, false
		}
		end += len(quoted)
		wrong.Value, rest = value[:end], value[end:]
	}
	wrong.Reason, ok = strings.CutPrefix(rest, ": ")
	return wrong, ok
}
