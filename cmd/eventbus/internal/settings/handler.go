package settings

import (
	"errors"
	"net/http"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/handlers"
)

func (r *reader) handler(t *Topic, n *yaml.Node) {
	h := Handler{line: n.Line}
	c := &h.Config
	var kind *Type
	fields := []field{
		{"id", r.text("id", &h.ID)},
		{"type", word(r, "type", &kind, TypeFile, TypeLog, TypeWebhook, TypeThrift)},
		{"path", r.text("path", &h.Path)},
		{"url", r.secret("url", &h.URL)},
		{"headers", func(n *yaml.Node) { r.headers(&h, n) }},
		{"timeout", r.duration("timeout", &c.Timeout, time.Millisecond, maxDuration)},
		{"concurrency", number(r, "concurrency", &c.Concurrency, 0, eventbus.MaxConcurrency)},
		{"max_abandoned", number(r, "max_abandoned", &c.MaxAbandoned, 1, eventbus.MaxConcurrency)},
		{"retry", func(n *yaml.Node) {
			r.object(n, "retry",
				field{"max_attempts", number(r, "max_attempts", &c.Retry.MaxAttempts, 1, 1_000_000)},
				field{"initial", r.duration("initial", &c.Retry.Initial, time.Millisecond, maxDuration)},
				field{"max", r.duration("max", &c.Retry.Max, time.Millisecond, maxDuration)},
			)
		}},
		{"breaker", func(n *yaml.Node) {
			r.object(n, "breaker",
				field{"failures", number(r, "failures", &c.Breaker.Failures, 0, 1_000_000)},
				field{"open", r.duration("open", &c.Breaker.Open, time.Millisecond, maxDuration)},
			)
		}},
	}
	ok := r.object(n, "a handler", append(fields, r.thriftFields(&h.Thrift)...)...)
	if !ok || r.missing(n, "a handler", "id", "type") || kind == nil {
		return
	}
	h.Type = *kind
	r.ofType(&h, n)
	for _, other := range t.Handlers {
		if other.ID == h.ID {
			r.wrong(n, "handler %q stands twice in topic %q, first in line %d; once is right", h.ID, t.Name, other.line)
			return
		}
	}
	// A topic whose name is wrong has been told of already.
	topic := t.Name
	if r.names.topic(topic) != nil {
		topic = "any"
	}
	r.checkRetry(&h, n)
	if err := r.names.handler(topic, h.ID, eventbus.HandleConfig{}); err != nil {
		r.wrong(n, "handler %q: %v", h.ID, err)
	}
	t.Handlers = append(t.Handlers, h)
}

// checkRetry compares the two delays; all else of a handler's numbers has been
// checked where it was read.
func (r *reader) checkRetry(h *Handler, n *yaml.Node) {
	initial, most, said := h.Config.Retry.Initial, h.Config.Retry.Max, ""
	if initial == 0 {
		initial, said = eventbus.DefaultRetryInitial, ", its default"
	}
	if most > 0 && initial > most {
		r.wrong(value(n, "retry"), "initial is %v%s, which is over max, %v; one that is not is right", initial, said, most)
	}
}

// secret reads a text that errors must not quote.
func (r *reader) secret(key string, to *string) func(n *yaml.Node) {
	return func(n *yaml.Node) {
		if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
			r.wrong(n, "%s must be a text", key)
			return
		}
		*to = n.Value
	}
}

func (r *reader) headers(h *Handler, n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		r.wrong(n, "headers must be keys with values, such as Authorization: Bearer …")
		return
	}
	h.Headers = map[string]string{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, text := n.Content[i].Value, ""
		if _, twice := h.Headers[key]; twice {
			r.wrong(n.Content[i], "header %q stands twice; once is right", key)
		}
		r.secret("the header's value", &text)(deref(n.Content[i+1]))
		h.Headers[key] = text
	}
}

// ofType demands the keys that the handler's type needs, and no others' keys.
func (r *reader) ofType(h *Handler, n *yaml.Node) {
	type owned struct {
		key   string
		owner Type
	}
	owners := []owned{{"path", TypeFile}, {"url", TypeWebhook}, {"headers", TypeWebhook}}
	for _, f := range r.thriftFields(&Thrift{}) {
		owners = append(owners, owned{f.key, TypeThrift})
	}
	for _, o := range owners {
		if v := value(n, o.key); v != nil && h.Type != o.owner {
			r.wrong(v, "%s goes with type %s, and this handler is of type %s", o.key, o.owner, h.Type)
		}
	}
	switch h.Type {
	case TypeFile:
		if h.Path == "" {
			r.wrong(n, "a handler of type file needs a path")
		}
	case TypeWebhook:
		r.webhook(h, n)
	case TypeThrift:
		r.thrift(h, n)
	}
}

// webhook has the address and headers checked by what will use them.
func (r *reader) webhook(h *Handler, n *yaml.Node) {
	if h.URL == "" {
		r.wrong(n, "a handler of type webhook needs a url")
		return
	}
	w, err := h.Webhook()
	if err == nil {
		_ = w.Close() // it has no connection yet
		return
	}
	for _, one := range joined(err) {
		r.wrongWebhook(n, one)
	}
}

// joined takes apart what errors.Join has put together.
func joined(err error) []error {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		return several.Unwrap()
	}
	return []error{err}
}

// wrongWebhook tells of one thing that is wrong with a handler at the key that it is
// of. The value is not quoted: a URL's query may hold a secret.
func (r *reader) wrongWebhook(n *yaml.Node, err error) {
	var argument *eventbus.ArgumentError
	switch {
	case !errors.As(err, &argument):
		r.wrong(value(n, "url"), "%v", err)
	case argument.Field == "url":
		r.wrong(value(n, "url"), "the url is wrong: %s", argument.Reason)
	case value(n, "headers") != nil:
		r.wrong(value(n, "headers"), "header %s is wrong: %s", argument.Value, argument.Reason)
	default:
		r.wrong(n, "%v", err)
	}
}

// Webhook makes the handler, which must be of that type.
func (h *Handler) Webhook() (*handlers.Webhook, error) {
	header := http.Header{}
	for name, value := range h.Headers {
		header[name] = []string{value}
	}
	return handlers.NewWebhook(h.URL, handlers.WebhookOptions{Headers: header, MaxIdleConns: h.Config.Concurrency})
}
