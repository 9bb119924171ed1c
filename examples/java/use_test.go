//go:build java

package java_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/internal/redistest"
)

// What the program cannot do it says on standard error, and exits with an error.
func TestTheProgramSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	nobody := freeAddress(t)
	for name, test := range map[string]struct {
		command, queue string
		options        []string
		input          string
		says           string
	}{
		"Command":    {command: "fetch", queue: "q", says: "COMMAND must be offer, take, exchange, list or remove, got fetch"},
		"Option":     {command: "take", queue: "q", options: []string{"--fast"}, says: "there is no option --fast"},
		"Number":     {command: "take", queue: "q", options: []string{"--count", "0"}, says: "option --count needs a whole number of 1 or more, got 0"},
		"Type":       {command: "take", queue: "q", options: []string{"--type", "kryo"}, says: "option --type needs string, bytes or json, got kryo"},
		"Connection": {command: "list", queue: "q", says: "list on queue q at redis://" + nobody + ": Connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := redissons[0].start(t, test.command, nobody, test.queue, test.options...)
			<-p.done
			require.Error(t, p.err)
			require.Contains(t, p.stderr.String(), test.says)
		})
	}
}

func TestTheProgramRefusesInputThatIsNoEvent(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t, redistest.Options{}).Client(t)
	for line, says := range map[string]string{
		`{"delayMillis":1}`:                "payload is missing",
		`{"payload":"a","delayMillis":-1}`: "delayMillis is negative: -1",
		`{"payload":"a"`:                   "line 1 of the input is not as the command needs it",
	} {
		p := redissons[0].start(t, "offer", rdb.Options().Addr, "q")
		_, err := p.in.Write([]byte(line + "\n"))
		require.NoError(t, err)
		<-p.done
		require.Error(t, p.err)
		require.Contains(t, p.stderr.String(), says)
	}
	n, err := rdb.DBSize(t.Context()).Result()
	require.NoError(t, err)
	require.Zero(t, n, "nothing was offered")
}
