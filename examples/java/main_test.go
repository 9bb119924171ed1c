//go:build java

// Package java_test runs the Java programs of this folder beside the bus, on a
// real Redis. It needs redis-server, a JDK of 17 or later and Maven, which builds
// the programs first:
//
//	go test -tags java ./examples/java
package java_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// buildLimit has room for Maven to download everything for the first time.
const buildLimit = 15 * time.Minute

func TestMain(m *testing.M) {
	if err := build(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

func build() error {
	ctx, cancel := context.WithTimeout(context.Background(), buildLimit)
	defer cancel()
	mvn := exec.CommandContext(ctx, "mvn", "--batch-mode", "--quiet", "--no-transfer-progress", "package")
	mvn.Stdout, mvn.Stderr = os.Stderr, os.Stderr
	if err := mvn.Run(); err != nil {
		return fmt.Errorf("build the Java programs with mvn, which these tests need on the PATH (Debian: apt-get install maven default-jdk-headless): %w", err)
	}
	return nil
}
