package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/admin"
)

// changing is what differs between two calls although they are alike.
var changing = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{22}|\b1[7-9]\d{11}\b|\d{4}-\d\d-\d\dT[\d:.]+Z`)

// alike makes a call that goes to Redis itself and one through an admin service, on
// like topics, demands one answer of both, and returns it.
func alike(t *testing.T, direct, through *bed, args ...string) result {
	t.Helper()
	word := func(b *bed) result {
		r := b.call(nil, args...)
		r.err = changing.ReplaceAllString(strings.ReplaceAll(r.err, b.where(), "WHERE"), "…")
		r.err = strings.ReplaceAll(r.err, b.namespace+":", "NAMESPACE:")
		r.out = changing.ReplaceAllString(r.out, "…")
		return r
	}
	want, got := word(direct), word(through)
	require.Equal(t, want, got, "eventbus %s", strings.Join(args, " "))
	return want
}

// twoWays is a bed whose commands go to Redis itself, and one whose go through an
// admin service; each has a topic orders with two groups.
func twoWays(t *testing.T) (direct, through *bed) {
	t.Parallel()
	direct, through = setupOn(t, server), setupOn(t, server)
	through.administer(admin.ServerConfig{})
	for _, args := range [][]string{{"topic", "create", "orders"}, {"topic", "update", "orders", "--add-group", "mail"}, {"send", "orders", "--data", "1", "--delay", "1h", "--id", "d1"}} {
		require.Zero(t, alike(t, direct, through, args...).code)
	}
	return direct, through
}

// What is wrong with a call is told in the same words, with the same code, whichever
// way it goes.
func TestWrongCallsAreToldAlike(t *testing.T) {
	direct, through := twoWays(t)
	const rule = `' ' at byte 1 is not allowed; a name is 1 to 255 bytes of letters, digits and . _ - : /`
	for _, c := range []struct {
		call string // its words are apart by two spaces
		code int
		says string
	}{
		{"topic  show  a b", 2, `read topic "a b": invalid topic "a b": ` + rule},
		{"topic  create  z  --max-waiting  -1", 2, "create topic \"z\": invalid --max-waiting -1: from 0 to 1099511627776 is right"},
		{"topic  create  z  --concurrency  99999999999", 2, "invalid --concurrency 99999999999: from 0 to 100000 is right"},
		{"topic  create  z  --delivery  x  --wire  y  --max-waiting  -1", 2, `invalid --delivery "x": "at_least_once" or "at_most_once" is right; invalid --wire "y": "cloudevents" or "raw" is right; invalid --max-waiting -1: `},
		{"topic  create  z  --queue-key  a list", 0, ""},
		{"topic  update  orders  --max-waiting  -5  --if-revision  -1", 2, "invalid --max-waiting -5: from 0 to 1099511627776 is right; invalid --if-revision -1: "},
		{"topic  update  orders  --max-waiting  5  --add-group  a b", 2, `add group "a b" to topic "orders": invalid --add-group "a b": ` + rule},
		{"topic  update  orders  --max-waiting  5  --remove-group  a b", 2, `invalid --remove-group "a b": ` + rule},
		{"topic  update  orders  --max-waiting  5  --remove-group  ", 2, "--remove-group is empty; give the group's name or leave it out"},
		{"topic  update  orders  --max-waiting  5  --add-group  ", 2, "--add-group is empty; give the group's name or leave it out"},
		{"topic  update  orders  --add-group    --remove-group  ", 2, "--add-group is empty; give the group's name or leave it out; --remove-group is empty; "},
		{"topic  update  orders  --if-revision  99  --max-waiting  1", 1, "settings changed meanwhile: revision 99 was demanded, … stands there"},
		{"handler  update  nope  h  --timeout  1s", 1, `change handler "h" of topic "nope", group "default": topic not found (WHERE)`},
		{"handler  disable  orders  h", 1, `disable handler "h" of topic "orders", group "default": handler not found; known are: none; --force sets one`},
		{"handler  enable  orders  a b", 2, `enable handler "a b" of topic "orders", group "default": invalid handler "a b": ` + rule},
		{"handler  reset  orders    --force", 2, `reset handler "" of topic "orders", group "default": invalid handler: it is empty`},
		{"handler  update  orders  h  --if-revision  -1  --timeout  1s  --force", 2, "invalid --if-revision -1: a revision is positive; 0 demands none"},
		{"handler  list  orders  --group  a b", 2, `eventbus: invalid --group "a b": ` + rule},
		{"failures  list  orders  --handler  a b", 2, `list failures of topic "orders", group "default": invalid --handler "a b": ` + rule},
		{"failures  list  orders  --handler  h", 0, "handler h is not known in topic orders, group default: "},
		{"failures  list  orders  --handler  ", 2, "--handler is empty; give the handler's id, or leave it out for all"},
		{"failures  discard  orders  --before  24h  --handler  ", 2, "--handler is empty"},
		{"failures  list  orders  --state  x", 2, `list failures of topic "orders", group "default": invalid --state "x": "dead" or "retry" is right`},
		{"failures  list  orders  --cursor  x", 2, `invalid --cursor "x": it is not one that a list has returned`},
		{"failures  replay  orders  --before  1960-01-01T00:00:00Z", 2, "invalid --before 1960-01-01 00:00:00 +0000 UTC: a time after 1970 is right"},
		{"failures  replay  orders  x", 1, `replay failures of topic "orders", group "default": 1 of 1 id: failure not found; eventbus failures list`},
		{"delayed  list  orders  --cursor  x", 2, `invalid --cursor "x": it is not one that a list has returned`},
		{"delayed  cancel  orders  x", 1, `cancel event "x" of topic "orders": no delayed event of that id waits`},
		{"delayed  cancel  orders  d1  --group  mail", 2, "--group does not go with cancel, which works in every group of the topic"},
		{"send  orders  --data  1  --header  A=x", 2, `invalid --header "A": `},
		{"stats  nope  --interval  0", 1, `read figures of topic "nope": topic not found (WHERE)`},
	} {
		r := alike(t, direct, through, strings.Split(c.call, "  ")...)
		require.Equal(t, c.code, r.code, "%s: %s", c.call, r.err)
		require.Contains(t, r.err, c.says, c.call)
		require.NotContains(t, r.err, "make a bus")
	}
	require.Contains(t, alike(t, direct, through, "topic", "show", "orders", "-o", "json").out, `"max_waiting":0`, "of several changes one was wrong: none was made")
}

// An unknown group is told with those that there are.
func TestUnknownGroupsAreToldAlike(t *testing.T) {
	direct, through := twoWays(t)
	const missing = `group not found; the topic has: default, mail (WHERE)`
	for _, call := range []string{
		"handler list orders", "handler show orders h", "handler update orders h --timeout 1s", "handler update orders h --timeout 1s --force",
		"handler enable orders h", "handler disable orders h --force", "handler reset orders h --force",
		"failures list orders", "failures show orders id", "failures replay orders --all", "failures replay orders id",
		"failures discard orders --all --yes", "failures discard orders id", "delayed list orders", "stats orders --interval 0",
	} {
		r := alike(t, direct, through, append(strings.Fields(call), "--group", "none")...)
		require.Equal(t, 1, r.code, call)
		require.Contains(t, r.err, missing+"; choose one with --group", call)
		require.Contains(t, r.err, ` topic "orders"`, call)
	}
	for _, more := range []string{"", " --yes"} {
		r := alike(t, direct, through, strings.Fields("topic update orders --remove-group none"+more)...)
		require.Equal(t, "eventbus: remove group \"none\" from topic \"orders\": "+missing+"\n", r.err, "another flag than --group has named it")
	}
}
