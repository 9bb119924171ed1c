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

// The README's lines of Java for Thrift stand in a program that is built and run
// (see examples/java).
func TestREADMEShowsFirstCallsOfJava(t *testing.T) {
	t.Parallel()
	program, err := os.ReadFile("../java/thrift/src/main/java/examples/thrift/FirstCalls.java")
	require.NoError(t, err)
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, section, _ := strings.Cut(string(readme), "## Over Thrift")
	_, code, _ := strings.Cut(section, "```java\n")
	code, _, found := strings.Cut(code, "```")
	require.True(t, found, "the section shows no Java")
	const indent = "        "
	require.Contains(t, string(program), indent+strings.ReplaceAll(strings.TrimSpace(code), "\n", "\n"+indent))
}
