package settings

import (
	"fmt"
	"net"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/seed4933/eventbus/cmd/eventbus/internal/redisurl"
	"github.com/seed4933/eventbus/eventbus"
	"github.com/seed4933/eventbus/internal/credentials"
)

func (r *reader) file(f *File, n *yaml.Node) {
	if n.ShortTag() == "!!null" {
		return
	}
	r.object(n, "the file",
		field{"redis", r.redis(f)},
		field{"namespace", r.name("namespace", &f.Namespace, func(s string) error { return r.names.config(eventbus.Config{Namespace: s}) })},
		field{"group", r.name("group", &f.Group, func(s string) error { return r.names.config(eventbus.Config{Group: s}) })},
		field{"concurrency", number(r, "concurrency", &f.Concurrency, 1, eventbus.MaxConcurrency)},
		field{"max_payload", number(r, "max_payload", &f.MaxPayload, 1, eventbus.MaxPayloadLimit)},
		field{"stop_timeout", r.duration("stop_timeout", &f.StopTimeout, time.Millisecond, 24*time.Hour)},
		field{"http", func(n *yaml.Node) { r.http(f, n) }},
		field{"topics", r.list("topics", func(n *yaml.Node) { r.topic(f, n) })},
		field{"admin", func(n *yaml.Node) { r.admin(f, n) }},
	)
}

// redis reads the address, which errors do not quote: it may hold a password.
func (r *reader) redis(f *File) func(n *yaml.Node) {
	return func(n *yaml.Node) {
		if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
			r.wrong(n, "redis must be a URL or the word embedded")
			return
		}
		if _, err := redisurl.Parse(n.Value); err != nil {
			r.wrong(n, "%v", err)
			return
		}
		f.Redis, f.redisLine = n.Value, n.Line
	}
}

// name reads a name and has it checked.
func (r *reader) name(key string, to *string, check func(string) error) func(n *yaml.Node) {
	return func(n *yaml.Node) {
		before := len(r.problems)
		r.text(key, to)(n)
		if len(r.problems) > before {
			return
		}
		if *to == "" {
			r.wrong(n, "%s is empty; leave the key out for its default", key)
			return
		}
		if err := check(*to); err != nil {
			r.wrong(n, "%v", err)
		}
	}
}

func (r *reader) http(f *File, n *yaml.Node) {
	r.object(n, "http",
		field{"listen", r.listen(&f.HTTP.Listen, &f.HTTP.line, DefaultListen, "HTTP side")},
		field{"token", func(n *yaml.Node) {
			r.wrong(n, "the HTTP side of this release has only /healthz, which asks for no token; remove the key token")
		}},
	)
}

func (r *reader) admin(f *File, n *yaml.Node) {
	f.Admin.line = n.Line
	r.object(n, "admin",
		field{"listen", r.listen(&f.Admin.Listen, &f.Admin.line, DefaultAdmin, "Thrift admin service")},
		field{"token", r.token(&f.Admin.Token)},
		field{"tls", func(n *yaml.Node) {
			before := len(r.problems)
			r.object(n, "tls",
				field{"cert", r.text("cert", &f.Admin.Cert)},
				field{"key", r.text("key", &f.Admin.Key)},
				field{"client_ca", r.text("client_ca", &f.Admin.ClientCA)},
			)
			if len(r.problems) == before && (f.Admin.Cert == "" || f.Admin.Key == "") {
				r.wrong(n, "tls needs cert and key, both the path of a PEM file")
			}
		}},
	)
}

// token reads a token, and nothing of one that is empty. It is not quoted in errors.
func (r *reader) token(to *string) func(n *yaml.Node) {
	return func(n *yaml.Node) {
		var text string
		before := len(r.problems)
		r.secret("token", &text)(n)
		if len(r.problems) > before || text == "" {
			return
		}
		token, err := credentials.Token("token", text)
		if err != nil {
			r.wrong(n, "%v", err)
			return
		}
		*to = token
	}
}

// listen reads an address to listen on, and its line.
func (r *reader) listen(to *string, line *int, usual, what string) func(n *yaml.Node) {
	return func(n *yaml.Node) {
		*line = n.Line
		before := len(r.problems)
		r.text("listen", to)(n)
		if len(r.problems) > before {
			return
		}
		if err := CheckListen(*to, usual, what); err != nil {
			r.wrong(n, "%v", err)
		}
	}
}

// CheckListen demands host:port, or nothing: usual is an example, what the side that
// is meant.
func CheckListen(address, usual, what string) error {
	if address == "" {
		return nil
	}
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Errorf("listen is %q; HOST:PORT such as %s is right, or \"\" for no %s", address, usual, what)
	}
	return nil
}
