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
		{"topic", "a command is missing: one of create, update,"},
		{"topic frob", `unknown command "frob"; right are: create,`},
		{"topic create", "TOPIC is missing; see eventbus topic create --help"},
		{"topic create a b", `the argument "b" is one too many`},
		{"topic create a --frob", "unknown flag: --frob; see eventbus topic create --help"},
		{"topic list --group g", "--group does not go with list, which lists topics with all their groups"},
		{"topic show a --group g", "--group does not go with show, which shows the topic with all its groups"},
		{"topic update a --max-waiting 1 --group g", "--group does not go with update, which works in every group of the topic; --add-group and --remove-group name one"},
		{"topic delete a --yes --group g", "--group does not go with delete, which works in every group of the topic; topic update --remove-group removes one"},
		{"topic enable a --group g", "--group does not go with enable, which works in every group of the topic"},
		{"topic disable a --group g", "--group does not go with disable, which works in every group of the topic"},
		{"topic create a\tb", `invalid topic "a\tb"`},
		{"topic create a --max-waiting x", "--max-waiting"},
		{"topic create a --max-waiting -1", "invalid --max-waiting -1: from 0 to"},
		{"topic create a --concurrency -1 --wire x", `invalid --wire "x": "cloudevents" or "raw" is right; invalid --concurrency -1: from 0 to`},
		{"topic create a --dead-limit 99999999999999", "invalid --dead-limit 99999999999999"},
		{"topic create a --dead-age 900000h", "invalid --dead-age 900000h0m0s"},
		{"topic create a --delivery never", `invalid --delivery "never": "at_least_once" or "at_most_once" is right`},
		{"topic create a --dead-limit 0", "or -1 for no limit"},
		{"topic create a --dead-age 3d", "a duration above 0 such as 720h is right"},
		{"topic update a", "nothing to change"},
		{"topic update a --queue-key k", "goes with --add-group"},
		{"topic update a --add-group x|y", `invalid --add-group "x|y"`},
		{"topic update a --remove-group x|y --yes", `invalid --remove-group "x|y"`},
		{"topic update a --max-waiting 1 --yes", "--yes goes with --remove-group"},
		{"topic update a --max-waiting 1 --if-revision -3", "invalid --if-revision -3"},
		{"topic update a --add-group g --if-revision 3", "goes with a setting"},
		{"topic list -o yaml", `-o is "yaml"; table or json is right`},
		{"topic list --redis embedded", "give --redis the URL that eventbus serve --redis embedded prints"},
		{"topic list --redis localhost", "right are: redis://HOST:PORT/DB"},
		{"topic list --namespace a|b", `invalid --namespace "a|b": '|' at byte 1 is not allowed; a name is 1 to 255 bytes`},
		{"consumers --group {g}", `invalid --group "{g}": '{' at byte 0 is not allowed; a name is 1 to 255 bytes`},
		{"topic list --redis=", "--redis is empty"},
		{"topic list --config=", "--config is empty"},
		{"handler", "one of list, show, update, enable, disable, reset"},
		{"handler show a", "HANDLER is missing"},
		{"handler show", "TOPIC and HANDLER are missing"},
		{"handler update a h", "nothing to change"},
		{"handler update a h --timeout 5", "--timeout"},
		{"handler update a h --max-attempts 0", `invalid argument "0" for "--max-attempts" flag: a whole number of at least 1 is right`},
		{"handler update a h --timeout -1s", `invalid argument "-1s" for "--timeout" flag: a duration from 1ms to 8760h0m0s`},
		{"handler update a h --retry-initial 0s", `invalid argument "0s" for "--retry-initial" flag: a duration from 1ms to 8760h0m0s`},
		{"handler update a h --retry-max -1s", `invalid argument "-1s" for "--retry-max" flag: a duration from 1ms to 8760h0m0s`},
		{"handler update a h --breaker-failures -1", `invalid argument "-1" for "--breaker-failures" flag: a whole number of at least 0`},
		{"handler update a h --breaker-open 0s", `invalid argument "0s" for "--breaker-open" flag: a duration from 1ms to 8760h0m0s`},
		{"handler update a h --max-abandoned 0", `invalid argument "0" for "--max-abandoned" flag: a whole number of at least 1`},
		{"handler update a h --concurrency -1", `invalid argument "-1" for "--concurrency" flag: a whole number of at least 0`},
		{"handler update a h --retry-initial 5s --retry-max 1s", "--retry-initial is 5s, which is over --retry-max, 1s"},
		{"handler update a h|x --timeout 1s --force", `invalid handler "h|x"`},
		{"send", "TOPIC is missing"},
		{"send a", "give --data TEXT, --file FILE, or - for stdin"},
		{"send a b", "after the topic only - is right"},
		{"send a - -", "after the topic only - is right"},
		{"send a --data x --file y", "one is right"},
		{"send a --data x -", "one is right"},
		{"send a --file=", "--file is empty"},
		{"send a --data x --delay 3", `invalid argument "3" for "--delay" flag: `},
		{"send a --data x --delay 90", "it is without a unit; 90s or 90ms may be meant"},
		{"send a --data x --delay 5d", "there are no days; 120h may be meant"},
		{"send a --data x --delay 2030-01-31T12:00:00Z", "a time goes with --at"},
		{"send a --data x --delay 99999999h", "at most 87600h0m0s, ten years, are right"},
		{"send a --data x --at 2030-01-31T12:00:00", "its time zone is missing; 2030-01-31T12:00:00Z, or one such as 2030-01-31T12:00:00+01:00, is right"},
		{"send a --data x --at 2130-01-31T12:00:00Z", "invalid --at 2130-01-31T12:00:00Z: it is more than ten years from now; the latest that is right is 20"},
		{"failures list a --before 2030-01-31T12:00:00", "its time zone is missing"},
		{"stats --interval 5", `invalid argument "5" for "--interval" flag: a duration such as 500ms or 5s is right; it is without a unit; 5s or 5ms may be meant`},
		{"failures list a --limit x", `invalid argument "x" for "--limit" flag: a whole number is right`},
		{"failures list a --limit 99999999999999999999", `invalid argument "99999999999999999999" for "--limit" flag: it is too large`},
		{"send a --data x --delay=", `invalid argument "" for "--delay" flag: `},
		{"send a --data x --delay 90000h", "invalid --delay 90000h0m0s: at most 87600h0m0s, ten years"},
		{"send a --data x --delay 99999999h", `invalid argument "99999999h" for "--delay" flag: `},
		{"send a --data x --at tomorrow", "a time such as 2026-01-31T12:00:00Z is right"},
		{"send a --data x --at 1893456000", "a time such as 2026-01-31T12:00:00Z is right"},
		{"send a --data x --at 2030-01-01", "a time such as 2026-01-31T12:00:00Z is right"},
		{"send a --data x --at 90s", "; how long from now goes with --delay"},
		{"send a --data x --at 2300-01-01T00:00:00Z", "invalid --at "},
		{"send a --lines --at 2300-01-01T00:00:00Z", "it is more than ten years from now"},
		{"send a --data x --at 2030-01-01T00:00:00Z --delay 0", "--delay and --at do not go together; one is right"},
		{"send a --data x --id=", "--id is empty"},
		{"send a --data x --lines --id 1", "--id goes with one event"},
		{"send a --data x --header novalue", "NAME=VALUE is right"},
		{"send a --data x --header a=1 --header a=2", "twice"},
		{"send a --data x --header Upper=1", "invalid --header \"Upper\": 'U' at byte 0 is not allowed; a header's name is"},
		{"send a --data x --header a=\x01", "invalid --header a "},
		{"send a --data x --content-type \x01", "invalid --content-type "},
		{"send a --data x --id \x01", "invalid --id "},
		{"send a --data x --max-payload 0", "from 1 to 67108864 is right"},
		{"delayed", "one of list, cancel"},
		{"delayed list", "TOPIC is missing"},
		{"delayed list a b", `the argument "b" is one too many`},
		{"delayed list a --limit 0", "above zero"},
		{"delayed list a --limit 3 --all", "do not go together"},
		{"delayed list a\tb", `invalid topic "a\tb"`},
		{"delayed cancel", "TOPIC and ID are missing"},
		{"delayed cancel a", "ID is missing"},
		{"delayed cancel a ", "an id is empty"},
		{"delayed cancel a \x01", `invalid id "\x01"`},
		{"delayed cancel a|b x", `invalid topic "a|b"`},
		{"delayed cancel a x --group g", "--group does not go with cancel, which works in every group of the topic"},
		{"topic create a --redisson-order-list=maybe", `invalid argument "maybe" for "--redisson-order-list" flag: true or false is right; see`},
		{"failures", "one of list, show, replay, discard"},
		{"failures list a --limit 0", "above zero"},
		{"failures list a --limit 3 --all", "do not go together"},
		{"failures list a --state alive", `invalid --state "alive": "dead" or "retry" is right`},
		{"failures list a --before yesterday", "such as 24h"},
		{"failures list a --cursor x", `invalid --cursor "x"`},
		{"failures list a --handler x|y", `invalid --handler "x|y"`},
		{"failures replay a --handler x|y", `invalid --handler "x|y"`},
		{"help nonsense", `unknown command "nonsense"; right are: demo, serve,`},
		{"help tpoic", `unknown command "tpoic"; topic may be meant; right are: demo,`},
		{"help topic crate", `unknown command "crate"; create may be meant; right are: create,`},
		{"help send x", `eventbus send has no command "x" below it`},
		{"tpoic", `unknown command "tpoic"; topic may be meant;`},
		{"tpoic --help", `unknown command "tpoic"; topic may be meant;`},
		{"topic nonsense --help", `unknown command "nonsense"; right are: create,`},
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
		{"demo --namespace=", "--namespace is empty"},
		{"demo --namespace a|b", `invalid --namespace "a|b": `},
		{"demo --group a|b", `invalid --group "a|b": `},
		{"demo --admin localhost:9090", "--admin does not go with this command, which tells its story on Redis itself"},
		{"serve --admin localhost:9090", "--admin does not go with this command, which serves on Redis itself"},
		{"bench --admin-tls", "--admin-tls does not go with this command, which measures Redis itself"},
		{"topic list --admin localhost:9090 --redis redis://localhost", "--redis does not go with --admin: "},
		{"topic list --admin localhost:9090 --namespace a", "--namespace does not go with --admin: "},
		{"topic list --admin localhost", `--admin is "localhost"; HOST:PORT such as 127.0.0.1:9090 is right`},
		{"topic list --admin :9090", `--admin is ":9090"; HOST:PORT`},
		{"topic list --admin localhost:http", `--admin is "localhost:http"; HOST:PORT`},
		{"topic list --admin=", "--admin is empty"},
		{"consumers --admin localhost:9090 --group {g}", `invalid --group "{g}"`},
		{"topic list --admin localhost:9090 --admin-cert x", "which is missing"},
		{"topic list --admin localhost:9090 --admin-ca=", "--admin-ca is empty"},
		{"topic list --admin localhost:9090 --admin-token-file=", "--admin-token-file is empty"},
		{"topic list --admin localhost:9090 --admin-ca x --admin-tls=false", "--admin-tls=false does not go with"},
		{"topic list --admin-tls", "--admin-tls goes with --admin HOST:PORT, or EVENTBUS_ADMIN"},
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
	for _, command := range []string{"demo", "serve", "topic", "handler", "send", "delayed", "failures", "stats", "consumers", "bench"} {
		require.Contains(t, help, "\n  "+command)
		require.Contains(t, b.ok(command, "--help"), "Usage:\n  eventbus "+command)
	}
	require.Equal(t, help, b.ok("help"))
	require.Equal(t, b.ok("topic", "create", "--help"), b.ok("help", "topic", "create"))
	require.Equal(t, b.ok("topic", "create", "--help"), b.ok("topic", "create", "orders", "--help"))
	require.Regexp(t, `^eventbus \S+\n$`, b.ok("--version"))
}

// A setting is taken from its flag, else the environment, else the file.
func TestOrderOfSettings(t *testing.T) {
	b := setup(t)
	b.env = []string{"EVENTBUS_REDIS="}
	where := func(args ...string) string { return b.fails(1, append([]string{"topic", "list"}, args...)...) }
	config := b.file("x.yaml", "redis: redis://127.0.0.1:2/3\nnamespace: fromfile\ngroup: fromfile\n")
	require.Contains(t, where("--config", config), "(redis://127.0.0.1:2/3, namespace "+b.namespace+")")
	b.env = []string{"EVENTBUS_NAMESPACE=a|b"}
	require.Contains(t, b.fails(2, "topic", "list"), `invalid EVENTBUS_NAMESPACE "a|b"`)
	b.env = []string{"EVENTBUS_GROUP=a|b"}
	require.Contains(t, b.fails(2, "topic", "list"), `invalid EVENTBUS_GROUP "a|b"`)
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
