package admin

import (
	"context"
	"time"

	"github.com/seed4933/eventbus/eventbus"
)

// API is what operators do with a bus. Service does it on Redis itself, Client
// through the Thrift port of a server; both return the same answers and the
// same errors, those of package eventbus. What a Client reads of times and ages is
// in whole milliseconds.
//
// A group of "" is the group of the service's bus. Lists come in pages.
//
// Errors that any call may return: eventbus.ErrUnavailable, ErrRedisTooOld,
// ErrLayoutMismatch, ErrWrongType, ErrClosed, ctx's error when ctx ends first, and of a
// Client ErrUnreachable, ErrBusy and ErrUnauthenticated. Each with arguments may return
// ErrInvalidArgument. Each method names those that come in addition; of those of package
// eventbus without its name.
type API interface {
	// Server tells which bus is administered. It asks nothing of Redis.
	Server(ctx context.Context) (ServerInfo, error)
	// Ping returns nil when Redis can be used.
	Ping(ctx context.Context) error

	// ListTopics returns topics by name.
	ListTopics(ctx context.Context, page Page) (TopicPage, error)
	// GetTopic returns a topic: ErrTopicNotFound, ErrTopicDeleting.
	GetTopic(ctx context.Context, topic string) (eventbus.Topic, error)
	// CreateTopic makes a topic: ErrTopicExists, ErrTopicDeleting.
	CreateTopic(ctx context.Context, topic string, cfg eventbus.TopicConfig) error
	// UpdateTopic returns the topic's new revision: ErrTopicNotFound, ErrTopicDeleting;
	// ErrConflict when the topic is not at the revision that u demands.
	UpdateTopic(ctx context.Context, topic string, u eventbus.TopicUpdate) (revision int64, err error)
	// DeleteTopic deletes a topic with all that it holds, and goes on with a deletion that
	// was cut short: ErrTopicNotFound.
	DeleteTopic(ctx context.Context, topic string) error
	// EnableTopic switches a topic on: ErrTopicNotFound, ErrTopicDeleting.
	EnableTopic(ctx context.Context, topic string) error
	// DisableTopic switches a topic off: ErrTopicNotFound, ErrTopicDeleting.
	DisableTopic(ctx context.Context, topic string) error
	// AddGroup adds a group to a topic: ErrTopicNotFound, ErrTopicDeleting, ErrGroupExists.
	AddGroup(ctx context.Context, topic string, g eventbus.GroupConfig) error
	// RemoveGroup removes a group with all that it holds: ErrTopicNotFound,
	// ErrTopicDeleting, ErrGroupNotFound.
	RemoveGroup(ctx context.Context, topic, group string) error

	// ListHandlers returns the handlers of a topic in a group by id: ErrTopicNotFound,
	// ErrTopicDeleting, ErrGroupNotFound.
	ListHandlers(ctx context.Context, topic, group string, page Page) (HandlerPage, error)
	// GetHandler returns one handler: ErrHandlerNotFound, and what ListHandlers returns.
	GetHandler(ctx context.Context, topic, group, id string) (eventbus.HandlerInfo, error)
	// UpdateHandler returns the topic's new revision: ErrTopicNotFound, ErrTopicDeleting,
	// ErrGroupNotFound; ErrConflict when the topic is not at the revision that u demands,
	// or others keep changing it. The handler need not be there yet.
	UpdateHandler(ctx context.Context, topic, group, id string, u eventbus.HandlerUpdate) (revision int64, err error)
	// EnableHandler switches a handler on; the circuit breaker of one that was switched off
	// begins closed. Errors are those of UpdateHandler.
	EnableHandler(ctx context.Context, topic, group, id string) error
	// DisableHandler switches a handler off. Errors are those of UpdateHandler.
	DisableHandler(ctx context.Context, topic, group, id string) error
	// ResetHandler removes all that was set at run time: ErrTopicNotFound,
	// ErrTopicDeleting, ErrGroupNotFound.
	ResetHandler(ctx context.Context, topic, group, id string) error

	// ListFailures returns failures without their events: ErrTopicNotFound,
	// ErrTopicDeleting, ErrGroupNotFound.
	ListFailures(ctx context.Context, topic, group string, q eventbus.FailureQuery) (eventbus.FailurePage, error)
	// GetFailure returns a failure with its event: ErrFailureNotFound, and what
	// ListFailures returns. Through Thrift one whose event has over 16 000 000 bytes is an
	// ErrInvalidArgument: no frame takes it.
	GetFailure(ctx context.Context, topic, group, id string) (eventbus.Failure, error)
	// CountFailures counts the failures. Errors are those of ListFailures.
	CountFailures(ctx context.Context, topic, group string) (eventbus.FailureCount, error)
	// ReplayFailures begins a replay, and returns the job that does it, which goes
	// on when ctx ends; a short one has ended by then. The filter picks MaxJobIDs at
	// most, else ErrInvalidArgument; its Progress is not used. ErrTooManyJobs, and what
	// ListFailures returns: nothing was begun.
	ReplayFailures(ctx context.Context, topic, group string, filter eventbus.FailureFilter) (Job, error)
	// DiscardFailures begins to discard failures as ReplayFailures does to replay, with the
	// same errors.
	DiscardFailures(ctx context.Context, topic, group string, filter eventbus.FailureFilter) (Job, error)
	// GetJob returns a job as it is: ErrJobNotFound.
	GetJob(ctx context.Context, id string) (Job, error)
	// CancelJob ends a job before its next step, and returns it as it is then; what it has
	// moved stays moved, and one that has ended stays as it is. ErrJobNotFound.
	CancelJob(ctx context.Context, id string) (Job, error)

	// ListDelayed returns delayed events, the earliest due first: ErrTopicNotFound,
	// ErrTopicDeleting, ErrGroupNotFound.
	ListDelayed(ctx context.Context, topic, group string, q eventbus.DelayedQuery) (eventbus.DelayedPage, error)
	// CancelDelayed returns the groups in which the event was still waiting:
	// ErrTopicNotFound, ErrTopicDeleting, ErrNotDelayed.
	CancelDelayed(ctx context.Context, topic, id string) (groups []string, err error)
	// ListUnreadable returns at most so many members: 10 for 0, at most 100. Errors are
	// those of ListDelayed.
	ListUnreadable(ctx context.Context, topic, group string, most int) (eventbus.UnreadableEvents, error)

	// Stats returns the figures of a topic's groups, by name: ErrTopicNotFound,
	// ErrTopicDeleting.
	Stats(ctx context.Context, topic string) ([]eventbus.Stats, error)
	// ListConsumers returns the processes that run handlers, by id.
	ListConsumers(ctx context.Context, page Page) (ConsumerPage, error)

	// SendBatch sends up to eventbus.MaxBatch events, all or none of them; through
	// Thrift up to 16 384 000 bytes in all. Errors are those of eventbus.Bus.Send.
	SendBatch(ctx context.Context, topic string, messages []eventbus.Message) (ids []string, err error)
}

// ServerInfo tells which bus is administered.
type ServerInfo struct {
	// Namespace is with what the keys of its topics begin in Redis.
	Namespace string
	// Group is the one that "" means.
	Group string
}

// Limits of pages.
const (
	// DefaultPage is the length of a page that asks for none.
	DefaultPage = 100
	// MaxPage is the greatest length of a page.
	MaxPage = 1000
)

// MaxJobIDs is how many ids one job picks at most: as many as a call to a server may
// name.
const MaxJobIDs = 1000

// Page says which part of a list is asked for.
type Page struct {
	// Limit is the greatest length. Defaults to DefaultPage, at most MaxPage.
	Limit int
	// Cursor is the Next of the page before; "" for the first.
	Cursor string
}

// TopicPage is a page of topics.
type TopicPage struct {
	Topics []eventbus.Topic
	// Deleting are topics of this part of the list whose deletion was begun and not
	// completed: DeleteTopic goes on with it.
	Deleting []string
	// Unreadable are topics of this part of the list whose settings are no settings:
	// GetTopic tells why.
	Unreadable []string
	Next       string // the cursor of the next page; "" when this is the last
}

// HandlerPage is a page of handlers.
type HandlerPage struct {
	Handlers []eventbus.HandlerInfo
	Next     string // the cursor of the next page; "" when this is the last
}

// ConsumerPage is a page of consumers.
type ConsumerPage struct {
	Consumers []eventbus.Consumer
	Next      string // the cursor of the next page; "" when this is the last
}

// JobKind says what a job does with failures.
type JobKind string

const (
	// JobReplay hands failures to their handlers anew.
	JobReplay JobKind = "replay"
	// JobDiscard removes failures for good.
	JobDiscard JobKind = "discard"
)

// JobState says how far a job is.
type JobState string

const (
	// JobRunning goes on; every other state is an end.
	JobRunning JobState = "running"
	// JobDone went through all that was picked.
	JobDone JobState = "done"
	// JobCancelled was cancelled.
	JobCancelled JobState = "cancelled"
	// JobFailed ended with an error.
	JobFailed JobState = "failed"
	// JobInterrupted was given up by the end of its process, or that has been silent for
	// 15 seconds and is taken for dead; one that was only slow may be running again.
	JobInterrupted JobState = "interrupted"
)

// Job is a replay or a discarding of failures that goes on by itself. Whatever
// its end: what it has moved stays moved, and beginning it again moves the rest. It is
// known to all services of the namespace, for 24 hours after its process last told of it.
type Job struct {
	// ID is a UUIDv7, for GetJob and CancelJob.
	ID string
	// Kind says by which call it was begun.
	Kind JobKind
	// State says how far it is.
	State JobState
	// Topic and Group are those whose failures it moves.
	Topic, Group string
	// Moved is how many failures were moved so far, Total how many of that state
	// there were when it began: an estimate of the whole. Its process tells of Moved
	// twice a second: of a JobInterrupted it may have been more.
	Moved, Total int64
	// Started is when it began, by Redis's clock.
	Started time.Time
	// Updated is when its process last told of it: its end, once it has ended.
	Updated time.Time
	// Error says why it failed, or was interrupted by the end of its process; "" otherwise.
	Error string
}
