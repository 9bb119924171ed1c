package admin

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed4933/eventbus/eventbus"
)

//go:embed job.lua
var jobLua string

const (
	// jobKept is for how long a job is known after its process last told of it.
	jobKept = 24 * time.Hour
	// jobSilent is after what time of silence its process is taken for dead. It
	// tells of a job every jobBeat.
	jobSilent = 15 * time.Second
)

// jobStore keeps jobs in Redis, so that all services of a namespace know them, and
// they outlive the process that runs them. Times are by Redis's clock.
type jobStore struct {
	rdb       redis.UniversalClient
	namespace string
	script    *redis.Script
}

func newJobStore(rdb redis.UniversalClient, namespace string) *jobStore {
	return &jobStore{rdb: rdb, namespace: namespace, script: redis.NewScript(jobLua)}
}

// save writes how far a job is, and returns whether somebody wants it cancelled.
func (s *jobStore) save(ctx context.Context, j Job) (cancelled bool, err error) {
	_, cancelled, err = s.call(ctx, j.ID, "save", jobKept.Milliseconds(), "kind", string(j.Kind), "state", string(j.State), "topic", j.Topic,
		"group", j.Group, "moved", j.Moved, "total", j.Total, "error", j.Error)
	return cancelled, err
}

// load reads a job: ErrJobNotFound.
func (s *jobStore) load(ctx context.Context, id string) (Job, error) {
	j, _, err := s.call(ctx, id, "load", 0)
	return j, err
}

// cancel asks whoever runs the job to end it: ErrJobNotFound.
func (s *jobStore) cancel(ctx context.Context, id string) (Job, error) {
	j, _, err := s.call(ctx, id, "cancel", 0)
	return j, err
}

func (s *jobStore) forget(ctx context.Context, id string) error {
	return s.rdb.Del(ctx, s.key(id)).Err()
}

func (s *jobStore) key(id string) string { return s.namespace + ":job:" + id }

func (s *jobStore) call(ctx context.Context, id string, args ...any) (j Job, cancelled bool, err error) {
	reply, err := s.script.Run(ctx, s.rdb, []string{s.key(id)}, args...).StringSlice()
	if err != nil {
		var refused redis.Error
		if errors.As(err, &refused) && redis.HasErrorPrefix(err, "WRONGTYPE") {
			return j, false, fmt.Errorf("%w: %w", eventbus.ErrWrongType, err)
		}
		return j, false, fmt.Errorf("%w: %w", eventbus.ErrUnavailable, err)
	}
	if len(reply) < 2 {
		return j, false, ErrJobNotFound
	}
	now, fields := number(reply[0]), map[string]string{}
	for i := 1; i+1 < len(reply); i += 2 {
		fields[reply[i]] = reply[i+1]
	}
	j = Job{
		ID: id, Kind: JobKind(fields["kind"]), State: JobState(fields["state"]), Topic: fields["topic"], Group: fields["group"],
		Moved: number(fields["moved"]), Total: number(fields["total"]), Error: fields["error"],
		Started: time.UnixMilli(number(fields["started"])).UTC(), Updated: time.UnixMilli(number(fields["updated"])).UTC(),
	}
	if j.State == JobRunning && now-j.Updated.UnixMilli() > jobSilent.Milliseconds() {
		j.State = JobInterrupted
	}
	return j, fields["cancel"] == "1", nil
}

// number reads what the script wrote.
func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64) // a field that somebody spoiled counts as 0
	return n
}
