package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// When the answer cannot be written, one line says so, and what was done all the
// same.
func TestAnswerNotWritten(t *testing.T) { modes(t, testAnswerNotWritten) }

func testAnswerNotWritten(t *testing.T, b *bed) {
	b.ok("topic", "create", "orders")
	const full = "write /dev/stdout: no space left on device$"
	for _, c := range []struct {
		says string
		args []string
	}{
		{`^eventbus: the event was sent, with id my-id; but the answer could not be written: ` + full, []string{"send", "orders", "--data", "1", "--id", "my-id"}},
		{`^eventbus: sent (1 event, line 1|2 events, lines 1 to 2), and no more: write the answer: ` + full, []string{"send", "orders", "--lines", "--file", b.file("lines", "1\n2\n")}},
		{`^eventbus: created topic more with group default; but the answer could not be written: ` + full, []string{"topic", "create", "more"}},
		{`^eventbus: replayed 0; but the answer could not be written: ` + full, []string{"failures", "replay", "orders", "--all"}},
		{`^eventbus: write the answer: ` + full, []string{"topic", "list"}},
		{`^eventbus: write the answer: ` + full, []string{"failures", "list", "orders"}},
		{`^eventbus: write the answer: ` + full, []string{"stats", "--watch"}},
		{`^eventbus: write the answer: ` + full, []string{"demo"}},
	} {
		out, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		require.NoError(t, err)
		var errs bytes.Buffer
		command := b.command(c.args...)
		command.Stdout, command.Stderr = out, &errs
		require.Error(t, command.Run(), "%v", c.args)
		require.NoError(t, out.Close())
		require.Equal(t, 1, command.ProcessState.ExitCode())
		text := strings.TrimPrefix(errs.String(), "embedded Redis: nothing in it outlives this process\n")
		require.Regexp(t, c.says, b.oneLine(text))
	}
	require.Regexp(t, `"waiting":[23],`, b.ok("stats", "orders", "-o", "json", "--interval", "0"))
	require.Contains(t, b.ok("topic", "list"), "more")
}
