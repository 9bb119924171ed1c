package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Wrong usage is code 2 and one line that says what is wrong and what would be
// right, before any server is asked.
func TestWrongUsage(t *testing.T) {
	b := setup(t)
	b.url = "redis://127.0.0.1:1" // nobody answers there
	for _, c := range []struct {
		args string
		says string
	}{
		{"", "a command is missing: one of demo, serve, topic,"},
		{"frob", `unknown command "frob"; right are: demo, serve,`},
		{"delayed list orders", `unknown command "delayed"`},
		{"topic", "a command is missing: one of create, update,"},
		{"topic frob", `unknown command "frob"; right are: create,`},
		{"topic create", "TOPIC is missing; see eventbus topic create --help"},
		{"topic create a b", `the argument "b" is one too many`},
		{"topic create a --frob", "unknown flag: --frob; see eventbus topic create --help"},
		{"topic create a\tb", `invalid topic "a\tb"`},
		{"topic create a --max-waiting x", "--max-waiting"},
		{"topic create a --delivery never", `"at_least_once" or "at_most_once" is right`},
		{"topic create a --dead-limit 0", "or -1 for no limit"},
		{"topic create a --dead-age 3d", "a duration such as 720h is right"},
		{"topic update a", "nothing to change"},
		{"topic update a --queue-key k", "goes with --add-group"},
		{"topic update a --add-group g --if-revision 3", "goes with a setting"},
		{"topic list -o yaml", `-o is "yaml"; table or json is right`},
		{"topic list --redis embedded", "give --redis the URL that eventbus serve --redis embedded prints"},
		{"topic list --redis localhost", "right are: redis://HOST:PORT/DB"},
		{"topic list --namespace a|b", "a name is 1 to 255 bytes"},
		{"topic list --group {g}", "a name is 1 to 255 bytes"},
		{"topic list --redis=", "--redis is empty"},
		{"topic list --config=", "--config is empty"},
		{"handler", "one of list, show, update, enable, disable, reset"},
		{"handler show a", "HANDLER is missing"},
		{"handler show", "TOPIC and HANDLER is missing"},
		{"handler update a h", "nothing to change"},
		{"handler update a h --timeout 5", "--timeout"},
		{"handler update a h --max-attempts 0", "at least 1 is right"},
		{"send", "TOPIC is missing"},
		{"send a", "give --data TEXT, --file FILE, or - for stdin"},
		{"send a b", "after the topic only - is right"},
		{"send a - -", "after the topic only - is right"},
		{"send a --data x --file y", "one is right"},
		{"send a --data x -", "one is right"},
		{"send a --file=", "--file is empty"},
		{"send a --data x --delay 3s", "unknown flag: --delay"},
		{"send a --data x --at 2030-01-01T00:00:00Z", "unknown flag: --at"},
		{"send a --data x --id=", "--id is empty"},
		{"send a --data x --lines --id 1", "--id goes with one event"},
		{"send a --data x --header novalue", "NAME=VALUE is right"},
		{"send a --data x --header a=1 --header a=2", "twice"},
		{"send a --data x --header Upper=1", "a header's name is"},
		{"send a --data x --max-payload 0", "from 1 to 67108864 is right"},
		{"failures", "one of list, show, replay, discard"},
		{"failures list a --limit 0", "above zero"},
		{"failures list a --limit 3 --all", "do not go together"},
		{"failures list a --state alive", `"dead" or "retry" is right`},
		{"failures list a --before yesterday", "such as 24h"},
		{"failures list a --cursor x", "cursor"},
		{"failures replay a", "give ids, or --handler, --before or --all"},
		{"failures replay a x --all", "ids go with none of"},
		{"failures replay a --all --handler h", "--all goes with neither"},
		{"failures discard a --all", "say --yes if that is meant"},
		{"stats a b", "one too many"},
		{"stats --watch --interval 1ms", "at least 100ms"},
		{"consumers a", "one too many"},
		{"serve --log-level loud", "debug, info, warn or error"},
		{"serve --log-format xml", "text or json"},
		{"serve --http 8080", "HOST:PORT such as 127.0.0.1:8080"},
		{"demo --namespace x", "leave out --namespace"},
		{"demo --redis x://", "--redis: "},
		{"bench --events 0", "from 1 to"},
		{"bench --batch 1001", "from 1 to 1000 is right"},
		{"bench --batch 1000 --size 1000000", "--batch times --size"},
	} {
		args := strings.Split(c.args, " ")
		if c.args == "" {
			args = nil
		}
		require.Contains(t, b.fails(2, args...), c.says, c.args)
	}
}

func TestHelp(t *testing.T) {
	b := setup(t)
	help := b.ok("--help")
	for _, command := range []string{"demo", "serve", "topic", "handler", "send", "failures", "stats", "consumers", "bench"} {
		require.Contains(t, help, "\n  "+command)
		require.Contains(t, b.ok(command, "--help"), "Usage:\n  eventbus "+command)
	}
	require.NotContains(t, help, "delayed")
	require.Regexp(t, `^eventbus \S+\n$`, b.ok("--version"))
}

// A setting is taken from its flag, else the environment, else the file.
func TestOrderOfSettings(t *testing.T) {
	b := setup(t)
	b.env = []string{"EVENTBUS_REDIS="}
	where := func(args ...string) string { return b.fails(1, append([]string{"topic", "list"}, args...)...) }
	config := b.file("x.yaml", "redis: redis://127.0.0.1:2/3\nnamespace: fromfile\ngroup: fromfile\n")
	require.Contains(t, where("--config", config), "(redis://127.0.0.1:2/3, namespace "+b.namespace+")")
	b.env = []string{"EVENTBUS_REDIS=", "EVENTBUS_NAMESPACE=", "EVENTBUS_CONFIG=" + config}
	require.Contains(t, where(), "(redis://127.0.0.1:2/3, namespace fromfile)")
	b.env = []string{"EVENTBUS_REDIS=redis://127.0.0.1:3", "EVENTBUS_NAMESPACE=fromenv", "EVENTBUS_CONFIG=" + config}
	require.Contains(t, where(), "(redis://127.0.0.1:3, namespace fromenv)")
	require.Contains(t, where("--redis", "redis://127.0.0.1:4", "--namespace", "fromflag"), "(redis://127.0.0.1:4, namespace fromflag)")

	b.env = []string{"EVENTBUS_CONFIG=" + config, "EVENTBUS_GROUP=fromenv"}
	require.Contains(t, b.ok("topic", "create", "a"), "with group fromenv")
	b.env = []string{"EVENTBUS_CONFIG=" + config}
	require.Contains(t, b.ok("topic", "create", "b"), "with group fromfile")
	require.Contains(t, b.ok("topic", "create", "c", "--group", "fromflag"), "with group fromflag")
	b.env = nil
	require.Contains(t, b.ok("topic", "create", "d"), "with group default")
}
