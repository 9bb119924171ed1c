//go:build java

// Package java_test runs the Java programs of this folder beside the bus, on a
// real Redis. It needs redis-server, Thrift's compiler, a JDK of 17 or later and
// Maven, which builds the programs first:
//
//	go test -tags java ./examples/java
package java_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// buildLimit has room for Maven to download everything for the first time.
const buildLimit = 15 * time.Minute

// binary is the command line, as users run it.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "eventbus-java")
	if err == nil {
		binary = filepath.Join(dir, "eventbus")
		err = build()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(dir) // a temporary folder
		os.Exit(code)
	}))
}

func build() error {
	ctx, cancel := context.WithTimeout(context.Background(), buildLimit)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", binary, "../../cmd/eventbus").CombinedOutput(); err != nil {
		return fmt.Errorf("build the command line: %w\n%s", err, out)
	}
	mvn := exec.CommandContext(ctx, "mvn", "--batch-mode", "--quiet", "--no-transfer-progress", "package")
	mvn.Stdout, mvn.Stderr = os.Stderr, os.Stderr
	if err := mvn.Run(); err != nil {
		return fmt.Errorf("build the Java programs with mvn, which these tests need on the PATH (Debian: apt-get install maven default-jdk-headless thrift-compiler): %w", err)
	}
	return nil
}
