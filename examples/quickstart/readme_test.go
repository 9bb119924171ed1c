package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The README shows this program as it is run, and it is short.
func TestREADMEShowsThisExample(t *testing.T) {
	t.Parallel()
	program, err := os.ReadFile("main.go")
	require.NoError(t, err)
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	require.Contains(t, string(readme), strings.TrimSpace(string(program)))
	require.LessOrEqual(t, strings.Count(string(program), "\n"), 25)
}
