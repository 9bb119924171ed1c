package settings

import (
	"fmt"
	"net"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/seed4933/eventbus/cmd/eventbus/internal/redisurl"
	"github.com/seed4933/eventbus/eventbus"
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
		field{"stop_timeout", r.duration("stop_timeout", &f.StopTimeout, time.Millisecond, 24*time.Hour)},
		field{"http", func(n *yaml.Node) { r.http(f, n) }},
		field{"topics", r.list("topics", func(n *yaml.Node) { r.topic(f, n) })},
		field{"admin", func(n *yaml.Node) {
			r.wrong(n, "this release has no Thrift admin service; remove the section admin")
		}},
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
		field{"listen", func(n *yaml.Node) {
			f.HTTP.line = n.Line
			before := len(r.problems)
			r.text("listen", &f.HTTP.Listen)(n)
			if len(r.problems) > before {
				return
			}
			if err := CheckListen(f.HTTP.Listen); err != nil {
				r.wrong(n, "%v", err)
			}
		}},
		field{"token", func(n *yaml.Node) {
			r.wrong(n, "the HTTP side of this release has only /healthz, which asks for no token; remove the key token")
		}},
	)
}

// CheckListen demands host:port, or nothing.
func CheckListen(address string) error {
	if address == "" {
		return nil
	}
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Errorf("listen is %q; HOST:PORT such as %s is right, or \"\" for no HTTP side", address, DefaultListen)
	}
	return nil
}
