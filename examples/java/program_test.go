//go:build java

package java_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// programLimit ends a program that hangs. Its own --seconds is shorter, so that
// it has the first word.
const programLimit = 90 * time.Second

// redisson is a release of Redisson that the program is built on.
type redisson struct {
	name string
	dir  string
	// old says that it reads and writes the members of before 3.21.1 alone.
	old bool
}

var redissons = []redisson{
	{name: "Redisson4", dir: "redisson-4"},
	{name: "Redisson3", dir: "redisson-3", old: true},
}

// offer and removal are lines of the program's input.
type (
	offer struct {
		Payload     string `json:"payload"`
		DelayMillis int64  `json:"delayMillis"`
	}
	removal struct {
		Payload string `json:"payload"`
	}
)

// answer is a line of the program's output: which fields it has depends on the
// command.
type answer struct {
	Offered  *string  `json:"offered"`
	Taken    *string  `json:"taken"`
	AtMillis int64    `json:"atMillis"`
	Size     int      `json:"size"`
	Payloads []string `json:"payloads"`
	Payload  string   `json:"payload"`
	Removed  bool     `json:"removed"`
}

// program is a run of the Java program.
type program struct {
	t       *testing.T
	name    string
	in      io.WriteCloser
	answers chan answer // closed at the end of its output
	stderr  *bytes.Buffer
	done    chan struct{}
	err     error // how it ended; to be read after done
}

// start runs a command of the program on the queue. Whatever becomes of it, it has
// ended when the test has.
func (r redisson) start(t *testing.T, command, address, queue string, options ...string) *program {
	t.Helper()
	jar := filepath.Join("delayed", r.dir, "target", "delayed.jar")
	args := append([]string{
		// small and quick to start: it lives for seconds
		"-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
		"-jar", jar, command, "redis://" + address, queue,
		"--seconds", strconv.Itoa(int(programLimit.Seconds()) - 10),
	}, options...)
	ctx, cancel := context.WithTimeout(context.Background(), programLimit)
	java := exec.CommandContext(ctx, "java", args...)
	in, err := java.StdinPipe()
	require.NoError(t, err)
	out, err := java.StdoutPipe()
	require.NoError(t, err)
	p := &program{
		t: t, name: r.name + " " + command, in: in,
		answers: make(chan answer, 10_000), stderr: &bytes.Buffer{}, done: make(chan struct{}),
	}
	java.Stderr = p.stderr
	require.NoError(t, java.Start())
	go func() {
		defer close(p.done)
		defer cancel()
		readErr := p.read(out)
		p.err = java.Wait()
		if p.err == nil {
			p.err = readErr
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-p.done
		if t.Failed() {
			t.Logf("%s ended with %v and said:\n%s", p.name, p.err, p.stderr)
		}
	})
	return p
}

func (p *program) read(out io.Reader) error {
	defer close(p.answers)
	lines := json.NewDecoder(out)
	for {
		var a answer
		if err := lines.Decode(&a); err == io.EOF {
			return nil
		} else if err != nil {
			// the program must not block while it writes on
			_, _ = io.Copy(io.Discard, out)
			return err
		}
		p.answers <- a
	}
}

// write gives the program a line of input.
func (p *program) write(input any) {
	p.t.Helper()
	line, err := json.Marshal(input)
	require.NoError(p.t, err)
	_, err = p.in.Write(append(line, '\n'))
	require.NoError(p.t, err, "write to %s", p.name)
}

// next returns the next line of the program's output.
func (p *program) next() answer {
	p.t.Helper()
	a, ok := <-p.answers // it ends at programLimit at the latest
	require.True(p.t, ok, "%s ended its output too early", p.name)
	return a
}

// finish ends the input, and returns what output is left once the program has
// ended well.
func (p *program) finish() []answer {
	p.t.Helper()
	require.NoError(p.t, p.in.Close())
	<-p.done
	require.NoError(p.t, p.err, "%s", p.name)
	require.NotContains(p.t, p.stderr.String(), " ERROR ", "%s has logged an error", p.name)
	var rest []answer
	for a := range p.answers {
		rest = append(rest, a)
	}
	return rest
}
