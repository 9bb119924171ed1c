package redistest

import (
	_ "embed" // for the library's source
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// clockSource is a library that shifts the clock of the process that loads it. Go
// asks the kernel itself, so that only the server's clock can be shifted; to all
// others it is theirs that is wrong.
//
//go:embed testdata/clock.c
var clockSource []byte

// skewed returns what the environment of a server needs whose clock is wrong.
func skewed(dir string, by time.Duration) ([]string, error) {
	if by == 0 {
		return nil, nil
	}
	source, library := filepath.Join(dir, "clock.c"), filepath.Join(dir, "clock.so")
	if _, err := os.Stat(library); err != nil {
		if err := os.WriteFile(source, clockSource, 0o600); err != nil {
			return nil, fmt.Errorf("write the source of a wrong clock: %w", err)
		}
		if text, err := exec.Command("gcc", "-shared", "-fPIC", "-o", library, source).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build a wrong clock with gcc, which the race detector needs too (Debian: apt-get install gcc libc6-dev): %w: %s", err, text)
		}
	}
	return []string{"LD_PRELOAD=" + library, fmt.Sprintf("EVENTBUS_TEST_SKEW=%d", int64(by/time.Second))}, nil
}
