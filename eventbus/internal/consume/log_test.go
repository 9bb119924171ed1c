package consume

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// journal keeps what is logged, as JSON objects.
type journal struct{ lines []map[string]any }

func (j *journal) Write(line []byte) (int, error) {
	var m map[string]any
	if err := json.Unmarshal(line, &m); err != nil {
		return 0, err
	}
	j.lines = append(j.lines, m)
	return len(line), nil
}

func (j *journal) logger() *slog.Logger { return slog.New(slog.NewJSONHandler(j, nil)) }

// What lasts is said once, until it changes or is over.
func TestComplaintsAreSaidOnce(t *testing.T) {
	t.Parallel()
	j := &journal{}
	c := complaints{log: j.logger()}
	one, other := errors.New("one"), errors.New("other")
	for range 100 {
		c.say("a", "reading", one)
		c.say("b", "reading", one)
		c.say("a", "writing", one)
		c.say("c", "reading", nil)
	}
	require.Len(t, j.lines, 3)
	c.say("a", "reading", other)
	c.say("a", "reading", other)
	require.Len(t, j.lines, 4)
	require.Equal(t, "a", j.lines[3]["topic"])
	require.Equal(t, "other", j.lines[3]["err"])
	c.say("a", "reading", nil)
	c.say("a", "reading", other)
	require.Len(t, j.lines, 5)
	c.say("b", "reading", one)
	require.Len(t, j.lines, 5, "b's has lasted all the while")
}

// The first death of a topic is told at once, and of a flood the numbers: none is
// left out.
func TestDeathsAreToldInSums(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		d := deaths{log: j.logger()}
		const seconds, each = 60, 1000
		for s := range seconds {
			for i := range each {
				d.note("flood", fmt.Appendf(nil, `{"event":"e%d","handler":"h","reason":"rejected","error":"x"}`, s*each+i))
			}
			if s == 0 {
				require.Len(t, j.lines, 1)
			}
			<-time.After(time.Second)
			d.flush(deathLogEvery)
		}
		require.LessOrEqual(t, len(j.lines), seconds*int(time.Second)/int(deathLogEvery)+2)
		d.note("rare", []byte(`{"event":"one"}`))
		require.Equal(t, "one", j.lines[len(j.lines)-1]["last_event"], "another topic's first is told at once")
		d.flush(0)
		sum := 0.0
		for _, line := range j.lines {
			sum += line["failures"].(float64)
		}
		require.EqualValues(t, seconds*each+1, sum)
		before := len(j.lines)
		d.flush(0)
		require.Len(t, j.lines, before)
	})
}
