package settings

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// reader walks over the nodes of a file and notes what is wrong.
type reader struct {
	problems []Problem
	names    *names
}

func newReader() *reader { return &reader{names: newNames()} }

func (r *reader) close() { r.names.close() }

func (r *reader) wrong(n *yaml.Node, text string, args ...any) {
	r.problems = append(r.problems, Problem{Line: n.Line, Text: fmt.Sprintf(text, args...)})
}

// field is one key that an object may have.
type field struct {
	key  string
	read func(value *yaml.Node)
}

// object reads a mapping that may have the fields and no others, each once; what
// says in errors what it is. ok is false when it is no mapping.
func (r *reader) object(n *yaml.Node, what string, fields ...field) (ok bool) {
	n = deref(n)
	if n.Kind != yaml.MappingNode {
		r.wrong(n, "%s must be keys with values, not %s; its keys are: %s", what, kindOf(n), keys(fields))
		return false
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		at := slices.IndexFunc(fields, func(f field) bool { return key.Kind == yaml.ScalarNode && f.key == key.Value })
		switch first, again := seen[key.Value]; {
		case at < 0:
			r.wrong(key, "unknown key %s in %s; its keys are: %s", quote(key), what, keys(fields))
		case again:
			r.wrong(key, "key %s stands twice in %s, first in line %d; once is right", quote(key), what, first)
		default:
			seen[key.Value] = key.Line
			fields[at].read(deref(value))
		}
	}
	return true
}

func keys(fields []field) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.key
	}
	return strings.Join(names, ", ")
}

// list reads a sequence.
func (r *reader) list(what string, item func(n *yaml.Node)) func(n *yaml.Node) {
	return func(n *yaml.Node) {
		if n.Kind != yaml.SequenceNode {
			r.wrong(n, "%s must be a list, each item after a dash, not %s", what, kindOf(n))
			return
		}
		for _, child := range n.Content {
			item(deref(child))
		}
	}
}

// text reads a text; a number stands for its digits.
func (r *reader) text(key string, to *string) func(n *yaml.Node) {
	return func(n *yaml.Node) {
		switch tag := n.ShortTag(); {
		case n.Kind == yaml.ScalarNode && (tag == "!!str" || tag == "!!int" || tag == "!!float"):
			*to = n.Value
		default:
			r.wrong(n, "%s must be a text, not %s; put it in quotes", key, kindOf(n))
		}
	}
}

// word reads one of a few words.
func word[T ~string](r *reader, key string, to **T, right ...T) func(n *yaml.Node) {
	return func(n *yaml.Node) {
		value := T(n.Value)
		if n.Kind != yaml.ScalarNode || !slices.Contains(right, value) {
			names := make([]string, len(right))
			for i := range right {
				names[i] = string(right[i])
			}
			r.wrong(n, "%s is %s; right are: %s", key, quote(n), strings.Join(names, ", "))
			return
		}
		*to = &value
	}
}

// toggle reads true or false.
func (r *reader) toggle(key string, to **bool) func(n *yaml.Node) {
	return func(n *yaml.Node) {
		var value bool
		if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" || n.Decode(&value) != nil {
			r.wrong(n, "%s is %s; true or false is right", key, quote(n))
			return
		}
		*to = &value
	}
}

// number reads a whole number.
func number[T int | int64](r *reader, key string, to *T, least, most int64) func(n *yaml.Node) {
	return func(n *yaml.Node) {
		value, err := strconv.ParseInt(n.Value, 0, 64)
		if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || err != nil || value < least || value > most {
			r.wrong(n, "%s is %s; a whole number from %d to %d is right", key, quote(n), least, most)
			return
		}
		*to = T(value)
	}
}

// maxDuration is the greatest that the bus takes for a handler: a year.
const maxDuration = 365 * 24 * time.Hour

// duration reads a duration with its unit; 0 is right only where least is 0.
func (r *reader) duration(key string, to *time.Duration, least, most time.Duration) func(n *yaml.Node) {
	return func(n *yaml.Node) {
		value, err := time.ParseDuration(n.Value)
		switch {
		case n.Kind != yaml.ScalarNode, err != nil && n.ShortTag() != "!!int":
			r.wrong(n, "%s is %s; a duration such as 500ms, 5s or 1m30s is right", key, quote(n))
		case err != nil || n.ShortTag() == "!!int" && value != 0:
			r.wrong(n, "%s is %s, without a unit; %ss or %sms may be meant", key, quote(n), n.Value, n.Value)
		case value < least || value > most:
			r.wrong(n, "%s is %s; a duration from %v to %v is right", key, quote(n), least, most)
		default:
			*to = value
		}
	}
}

// ptr has a value read into a new variable, to which to points once it is read.
func ptr[T comparable](to **T, read func(to *T) func(n *yaml.Node)) func(n *yaml.Node) {
	return func(n *yaml.Node) {
		*to = new(T)
		read(*to)(n)
	}
}

// deref follows an alias to what it stands for.
func deref(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// kindOf says in words what a node is.
func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "keys with values"
	case yaml.SequenceNode:
		return "a list"
	}
	if n.ShortTag() == "!!null" {
		return "nothing"
	}
	return quote(n)
}

// quote shows a scalar, cut; never a URL's credentials, which only keys that
// hold a URL have, and those are not shown.
func quote(n *yaml.Node) string {
	const longest = 60
	if n.Kind != yaml.ScalarNode {
		return kindOf(n)
	}
	if r := []rune(n.Value); len(r) > longest {
		return strconv.Quote(string(r[:longest]) + "…")
	}
	return strconv.Quote(n.Value)
}

// missing notes the keys that an object lacks.
func (r *reader) missing(n *yaml.Node, what string, required ...string) bool {
	var lacks []string
	for _, key := range required {
		if value(n, key) == nil {
			lacks = append(lacks, key)
		}
	}
	if len(lacks) > 0 {
		r.wrong(n, "%s has no %s; it must have: %s", what, strings.Join(lacks, " and no "), strings.Join(required, ", "))
	}
	return len(lacks) > 0
}

// value returns the value of a key, nil when it is not there.
func value(n *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return deref(n.Content[i+1])
		}
	}
	return nil
}
