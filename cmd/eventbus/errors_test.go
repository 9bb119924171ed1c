package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// An error says once what was being done, and which topic is meant.
func TestErrorsSayOnceWhatWasDone(t *testing.T) { modes(t, testErrorsSayOnceWhatWasDone) }

func testErrorsSayOnceWhatWasDone(t *testing.T, b *bed) {
	b.ok("topic", "create", "broken")
	require.NoError(t, b.rdb.Del(t.Context(), b.namespace+":{broken}:config").Err())
	require.NoError(t, b.rdb.Set(t.Context(), b.namespace+":{broken}:config", "somebody else's", 0).Err())
	for topic, says := range map[string]string{"nope": "topic not found", "broken": "redis key holds another type: " + b.namespace + ":{broken}:config: WRONGTYPE "} {
		for _, command := range []string{
			"topic update TOPIC --max-waiting 1", "topic update TOPIC --add-group g", "topic update TOPIC --remove-group g --yes",
			"topic update TOPIC --remove-group g", "topic show TOPIC", "topic enable TOPIC", "topic disable TOPIC", "topic delete TOPIC",
			"topic delete TOPIC --yes", "handler list TOPIC", "handler show TOPIC h", "handler update TOPIC h --timeout 1s",
			"handler update TOPIC h --timeout 1s --force", "handler enable TOPIC h", "handler disable TOPIC h --force", "handler reset TOPIC h --force",
			"send TOPIC --data 1", "send TOPIC --data 1 --id 1", "failures list TOPIC", "failures list TOPIC --handler h", "failures show TOPIC id",
			"failures replay TOPIC --all", "failures replay TOPIC --handler h", "failures replay TOPIC id", "failures discard TOPIC --all --yes",
			"failures discard TOPIC id", "stats TOPIC", "stats TOPIC --group g",
		} {
			line := b.fails(1, strings.Fields(strings.Replace(command, "TOPIC", topic, 1))...)
			require.Contains(t, line, says, command)
			require.NotContains(t, line, "script", command)
			rest, ok := strings.CutPrefix(line, "eventbus: ")
			require.True(t, ok, line)
			what, rest, ok := strings.Cut(rest, ": ")
			require.True(t, ok, line)
			require.Contains(t, what, topic, command)
			if strings.HasPrefix(command, "topic delete") {
				require.True(t, strings.HasPrefix(what, "delete "), line)
			}
			for _, part := range strings.Split(rest, ": ") {
				word, _, _ := strings.Cut(part, " ")
				require.NotContains(t, []string{"add", "change", "delete", "list", "look", "read", "remove", "replay", "send", "show"}, word, line)
			}
		}
	}
}
