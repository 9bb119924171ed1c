package eventbus

import (
	"github.com/seed4933/eventbus/eventbus/internal/dispatch"
	"github.com/seed4933/eventbus/eventbus/internal/errs"
)

// The errors of the bus. All are returned wrapped, with what was being done;
// match them with errors.Is and errors.As.
var (
	// ErrInvalidArgument says that something given was wrong: a name, a size, a
	// duration, an option. errors.As with *ArgumentError tells which field, why,
	// and what would be right. Nothing was done.
	ErrInvalidArgument = errs.InvalidArgument
	// ErrMarshal says that the event's value cannot be written as JSON. Nothing
	// was sent. ErrInvalidArgument matches as well.
	ErrMarshal = errs.Marshal
	// ErrUnmarshal says that a payload is not JSON of the expected type. Returned
	// from a handler it sends the event to the dead set.
	ErrUnmarshal = errs.Unmarshal
	// ErrPayloadTooLarge says that a payload is over Config.MaxPayload. Nothing
	// was sent. ErrInvalidArgument matches as well.
	ErrPayloadTooLarge = errs.PayloadTooLarge

	// ErrTopicNotFound says that there is no such topic. Nothing was done.
	ErrTopicNotFound = errs.TopicNotFound
	// ErrTopicExists says that a topic of that name stands already; it is as it was.
	ErrTopicExists = errs.TopicExists
	// ErrTopicDisabled says that the topic is switched off. Nothing was sent.
	ErrTopicDisabled = errs.TopicDisabled
	// ErrTopicFull says that TopicConfig.MaxWaiting events wait, or are delayed, in a
	// group already. Nothing was sent, to no group.
	ErrTopicFull = errs.TopicFull
	// ErrDelayedFull says that it is the delayed events that are as many: it passes
	// when some are due or are cancelled. ErrTopicFull matches as well.
	ErrDelayedFull = errs.DelayedFull
	// ErrTopicDeleting says that a deletion of the topic was begun and has not
	// been completed: run it again.
	ErrTopicDeleting = errs.TopicDeleting
	// ErrGroupNotFound says that the topic has no such group.
	ErrGroupNotFound = errs.GroupNotFound
	// ErrGroupExists says that the topic has that group already; it is as it was.
	ErrGroupExists = errs.GroupExists
	// ErrNoGroup says that the topic has no group at all, so that an event would
	// reach nobody. Nothing was sent.
	ErrNoGroup = errs.NoGroup
	// ErrConflict says that the settings were changed by somebody else meanwhile:
	// read them again. Nothing was changed.
	ErrConflict = errs.Conflict

	// ErrHandlerExists says that a handler of that id is registered for the topic
	// already in this bus.
	ErrHandlerExists = errs.HandlerExists
	// ErrHandlerNotFound says that no running process of the group has such a
	// handler, and no settings are stored for it.
	ErrHandlerNotFound = errs.HandlerNotFound
	// ErrNoHandler says that Run was called on a bus without handlers.
	ErrNoHandler = errs.NoHandler
	// ErrFailureNotFound says that there is no failure of that id (any more).
	ErrFailureNotFound = errs.FailureNotFound

	// ErrNotDelayed says that no delayed event of that id waits: it was handed out
	// or cancelled, or it was never delayed.
	ErrNotDelayed = errs.NotDelayed

	// ErrClosed says that the bus was closed.
	ErrClosed = errs.Closed
	// ErrRunning says that the bus runs already: Run was called twice, or Handle
	// after Run.
	ErrRunning = errs.Running
	// ErrUnavailable says that Redis could not be reached or refused to serve. A
	// send that fails so because a reply did not come may have been executed; its
	// message says when that is sure not to be so.
	// A call whose context ends before Redis has answered returns the context's error,
	// which is none of these.
	ErrUnavailable = errs.Unavailable
	// ErrRedisTooOld says that the server is older than 6.2.
	ErrRedisTooOld = errs.RedisTooOld
	// ErrLayoutMismatch says that the namespace holds data of another layout,
	// written by another release. Nothing was touched.
	ErrLayoutMismatch = errs.LayoutMismatch
	// ErrWrongType says that a key where the bus keeps its data, or a queue key,
	// holds something else. Nothing was moved.
	ErrWrongType = errs.WrongType

	// ErrTimeout is in the failure of a handler that did not return in its time,
	// ErrAbandoned in that of one that went on regardless, and ErrPanic in that
	// of one that panicked.
	ErrTimeout   = errs.Timeout
	ErrAbandoned = errs.Abandoned
	ErrPanic     = errs.Panic
	// ErrStopping is the cause (context.Cause) of a handler's context that ends
	// because the bus stops hard.
	ErrStopping = dispatch.ErrStopping
)

// ArgumentError says which argument was wrong, why, and what would be right: it
// has the fields Field (the argument's name, or the path of a field of a Config),
// Value (what was given, quoted and cut, "" when there was none) and Reason. It
// matches ErrInvalidArgument.
type ArgumentError = errs.Argument

// PanicError is a handler's panic as an error: it has the fields Value (what the
// handler panicked with) and Stack (as debug.Stack prints it). It matches
// ErrPanic, and the error that the handler panicked with, if it was one.
type PanicError = dispatch.PanicError
