// The event bus over Thrift: what operators do (EventAdmin), sending for
// programs without access to Redis (EventBus), and handlers that are hosted by
// another process (EventHandler, which that process serves and the bus calls).
//
// Conventions, for all that stands here:
//
//  - Times are milliseconds since 1970-01-01T00:00:00Z, durations milliseconds.
//    A time of 0 means that there is none.
//  - Payloads are binary and arrive byte for byte.
//  - An optional field that is not set leaves what it stands for as it is, in
//    updates, and means the default that is named at it, in creations and queries.
//  - An empty group is the group of the server ("default", unless it was
//    configured otherwise).
//  - Lists come in pages: at most `limit` elements, 100 by default and 1000 at
//    most. `next_cursor` is the cursor of the page that follows, empty at the end. A
//    page may be shorter than was asked for, or empty, although more follow: go on
//    until next_cursor is empty. A cursor is valid only for the call that returned it.
//  - Messages have at most 16 384 000 bytes, the usual limit of frames.
//  - Fields and enum values will be added. What a client does not know it may
//    ignore; what the server does not know it refuses with InvalidArgument where
//    ignoring it could do harm.
//
// One port serves all: framed and unframed, binary and compact protocol, THeader,
// and HTTP at /thrift. The services are multiplexed as "EventAdmin" and
// "EventBus"; calls that name no service reach EventAdmin.
//
// A server with a token wants it with every call, as "Bearer <token>" in the
// header "Authorization": of HTTP, or of THeader (there "authorization").

namespace go eventbusv1
namespace java io.github.seed4933.eventbus.v1
namespace py eventbus.v1
namespace js eventbus.v1

// ---------------------------------------------------------------- exceptions

/** There is no such thing. */
exception NotFound {
  /** What happened, where, and what would be right: for people. */
  1: string message
  /**
   * What is missing, for programs: "topic_not_found", "group_not_found",
   * "handler_not_found", "failure_not_found", "not_delayed", "job_not_found".
   */
  2: string code
}

/** Something of that name stands already, and is as it was. */
exception AlreadyExists {
  1: string message
  /** "topic_exists" or "group_exists". */
  2: string code
}

/** An argument is wrong; nothing was done. */
exception InvalidArgument {
  1: string message
  /** "invalid_argument" or "payload_too_large". */
  2: string code
  /** The field or argument that is wrong; empty when it is not one alone. */
  3: string field
  /** Why it is wrong, and what would be right. */
  4: string reason
}

/** The topic is switched off, full, or has no group: nothing was sent. */
exception Disabled {
  1: string message
  /** "topic_disabled", "topic_full", "delayed_full" or "no_group". */
  2: string code
}

/** The settings were changed by somebody else, or something else is in the way. Nothing was done. */
exception Conflict {
  1: string message
  /**
   * "conflict"; "topic_deleting": the topic's deletion has begun; "too_many_jobs":
   * wait for one to end, or cancel one.
   */
  2: string code
}

/**
 * Redis cannot be reached, or cannot be used as it is; or the server is stopping.
 * What was asked may be done, unless the message says otherwise: read it again.
 */
exception Unavailable {
  1: string message
  /**
   * "unavailable" and "closed" may pass by themselves; "redis_too_old",
   * "layout_mismatch" and "wrong_type" will not.
   */
  2: string code
}

/** The token, or the header that carries it, is missing or wrong. */
exception Unauthenticated {
  1: string message
  /** "unauthenticated". */
  2: string code
}

// -------------------------------------------------------------------- paging

/** Which part of a list is asked for. */
struct Page {
  /** How many at most, up to 1000. Default, and what 0 means: 100. */
  1: optional i32 limit
  /** `next_cursor` of the page before; not set, or empty, for the first. */
  2: optional string cursor
}

// -------------------------------------------------------------------- topics

/** What happens to an event whose process dies while it is handled. */
enum Delivery {
  /** It is handled again: nothing is lost, and handlers may see it twice. */
  AT_LEAST_ONCE = 1
  /** It is lost: it left Redis when it was handed out. */
  AT_MOST_ONCE = 2
}

/** How an event stands in Redis. */
enum Wire {
  /** A CloudEvents JSON object. */
  CLOUDEVENTS = 1
  /** The payload alone, for lists that others write and read. */
  RAW = 2
}

/** A group of consumers: each group of a topic gets every event. */
struct Group {
  /** 1 to 255 bytes of letters, digits and . _ - : / */
  1: string name
  /** The key of the list in Redis that holds its events; empty: the bus's own. */
  2: string queue_key
}

/** The settings with which a topic is created. */
struct TopicSettings {
  /** Default AT_LEAST_ONCE. */
  1: optional Delivery delivery
  /** Default CLOUDEVENTS; cannot be changed later. */
  2: optional Wire wire
  /** How many events may wait in a group, and as many be delayed, before sends are refused. Default 0: no limit. */
  3: optional i64 max_waiting
  /** How many events of the topic one process runs at once. Default 0: as many as its pool has room for. */
  4: optional i32 concurrency
  /** How many dead failures each group keeps; -1: no limit. Default 1 000 000. */
  5: optional i64 dead_limit
  /** For how long dead failures are kept; -1: no limit. Default 90 days. */
  6: optional i64 dead_age_ms
  /** Default: the one group of the server. */
  7: optional list<Group> groups
  /** Keeps up Redisson's list of the order of delayed events. Default false. */
  8: optional bool redisson_order_list
  /** Writes delayed events so that Redisson before 3.21.1 reads them too. Default false. */
  9: optional bool redisson_old_clients
  /** Creates the topic switched off. Default false. */
  10: optional bool disabled
}

/** A change to a topic; what is not set stays as it is. */
struct TopicUpdate {
  1: optional Delivery delivery
  2: optional i64 max_waiting
  3: optional i32 concurrency
  4: optional i64 dead_limit
  5: optional i64 dead_age_ms
  6: optional bool redisson_order_list
  7: optional bool redisson_old_clients
  /** Demands that the topic is at this revision; else Conflict. Default 0: demands nothing. */
  8: optional i64 if_revision
}

/** A topic and its settings; see TopicSettings for what each means. */
struct Topic {
  1: string name
  2: bool enabled
  3: Delivery delivery
  4: Wire wire
  5: i64 max_waiting
  6: i32 concurrency
  7: i64 dead_limit
  8: i64 dead_age_ms
  9: list<Group> groups
  10: bool redisson_order_list
  11: bool redisson_old_clients
  /** Grows with every change of the topic's settings, those of its handlers included. */
  12: i64 revision
  13: i64 created_ms
}

struct TopicPage {
  1: list<Topic> topics
  2: string next_cursor
  /** Topics of this part of the list whose deletion was begun and not completed: deleteTopic goes on with it. */
  3: list<string> deleting
  /** Topics of this part of the list whose settings are no settings: getTopic tells why. */
  4: list<string> unreadable
}

// ------------------------------------------------------------------ handlers

/** Which handler is meant. */
struct HandlerRef {
  1: string topic
  /** Empty: the server's. */
  2: string group
  3: string id
}

/** The settings of a handler, complete. */
struct HandlerSettings {
  1: bool enabled
  /** After what time a handler's run counts as failed. */
  2: i64 timeout_ms
  /** How many failed attempts make a failure dead; 1: no retry. */
  3: i32 max_attempts
  /** The greatest pause before the second attempt; it doubles with each. */
  4: i64 retry_initial_ms
  /** The greatest pause of all. */
  5: i64 retry_max_ms
  /** How many events it runs at once in one process; 0: as many as the pool has room for. */
  6: i32 concurrency
  /** How many runs that went on after their timeout are borne before it gets no more. */
  7: i32 max_abandoned
  /** How many failures in a row open its circuit breaker; 0: it has none. */
  8: i32 breaker_failures
  /** For how long an open breaker lets nothing pass. */
  9: i64 breaker_open_ms
}

/** A change to a handler's settings; what is not set stays as it is. */
struct HandlerUpdate {
  1: optional bool enabled
  2: optional i64 timeout_ms
  3: optional i32 max_attempts
  4: optional i64 retry_initial_ms
  5: optional i64 retry_max_ms
  6: optional i32 concurrency
  7: optional i32 max_abandoned
  8: optional i32 breaker_failures
  9: optional i64 breaker_open_ms
  /** Demands that the topic is at this revision; else Conflict. Default 0: demands nothing. */
  10: optional i64 if_revision
}

/** A handler as the running processes know it. */
struct Handler {
  1: string topic
  2: string group
  3: string id
  /** What holds now, as the process that began last runs it; not set when none runs it. */
  4: optional HandlerSettings settings
  /** What was set at run time, which goes before what the code says. */
  5: HandlerUpdate changed
  /** The ids of the processes that run it. */
  6: list<string> consumers
}

struct HandlerPage {
  1: list<Handler> handlers
  2: string next_cursor
}

// -------------------------------------------------------------------- events

/** An event to send. */
struct Message {
  /** The payload, sent byte for byte. It must be set, and may be empty; at most 1 MiB, unless the server allows more. */
  1: binary payload
  /** Its media type. Default "application/json" when it is JSON, else "application/octet-stream". */
  2: optional string content_type
  /** 1 to 255 bytes of UTF-8 without control characters. Default: a new UUIDv7. */
  3: optional string id
  /** CloudEvents extension attributes: names of a to z and 0 to 9, at most 20 characters. */
  4: optional map<string, string> headers
  /** Hands the event out so long after Redis has taken it; at most ten years. Default 0: at once. */
  5: optional i64 delay_ms
  /** Hands the event out at this time, by Redis's clock; one in the past is at once. Goes without delay_ms. */
  6: optional i64 due_at_ms
}

/** An event as a handler gets it. */
struct Event {
  1: string id
  2: string topic
  /** The CloudEvents type: the topic, unless its sender said otherwise. */
  3: string type
  4: string source
  5: i64 time_ms
  6: string content_type
  7: binary payload
  8: map<string, string> headers
  9: string group
  /** The handler it is for. */
  10: string handler
  /** 1 for the first attempt. */
  11: i32 attempt
  /** How often a process died while it held this event, since it last ran to an end. */
  12: i32 deliveries
}

// ------------------------------------------------------------------ failures

enum FailureState {
  /** It will be tried again by itself. */
  RETRYING = 1
  /** It was given up, and waits to be replayed or discarded. */
  DEAD = 2
}

/** One event that one handler did not handle. */
struct Failure {
  1: string id
  2: FailureState state
  3: string topic
  4: string group
  /** Empty when the process died while it ran the event: it counts for all handlers then. */
  5: string handler
  6: string event_id
  /**
   * Why it is where it is: "failed", "exhausted", "rejected", "killed", "snoozed",
   * "breaker", "abandoned", "disabled" or "no_handler".
   */
  7: string reason
  /** The last error's text, cut at 4 KiB. */
  8: string error
  /** How many attempts failed, since the last replay where there was one. */
  9: i32 attempts
  10: i64 first_failed_at_ms
  11: i64 failed_at_ms
  /** When it is tried again; 0 for a dead one. */
  12: i64 next_attempt_ms
  /** The size of the kept event in bytes. */
  13: i32 size
  /** The event itself; only getFailure sets it. */
  14: optional Event event
}

/** Which failures are listed. */
struct FailureQuery {
  1: string topic
  /** Empty: the server's. */
  2: string group
  /** Default DEAD. */
  3: optional FailureState state
  /** Only those of this handler; pages may then be empty although more follow. Default: of all. */
  4: optional string handler
  5: optional Page page
}

struct FailurePage {
  1: list<Failure> failures
  2: string next_cursor
}

/** Which failures are replayed or discarded. One of ids, handler, before_ms, all must be set. */
struct FailureSelection {
  1: string topic
  /** Empty: the server's. */
  2: string group
  /** These, at most 1000, in whichever state; goes with none of the others. */
  3: optional list<string> ids
  /** Those of this handler. */
  4: optional string handler
  /** Those that failed last before this time, which is after 1970. */
  5: optional i64 before_ms
  /** Each one. */
  6: optional bool all
  /** Default DEAD. */
  7: optional FailureState state
}

struct FailureCount {
  1: i64 retrying
  2: i64 dead
}

// ---------------------------------------------------------------------- jobs

enum JobKind {
  REPLAY = 1
  DISCARD = 2
}

enum JobState {
  RUNNING = 1
  /** It went through all that was selected. */
  DONE = 2
  /** It was cancelled; what was moved by then stays moved. */
  CANCELLED = 3
  /** It ended with an error; what was moved by then stays moved. */
  FAILED = 4
  /**
   * Its server was stopped, or has been silent for 15 seconds and is taken for dead; what
   * was moved stays moved. Begin it again for the rest. One that was only slow may yet
   * be RUNNING again.
   */
  INTERRUPTED = 5
}

/**
 * A replay or a discarding that goes on by itself, whatever becomes of the
 * connection that began it. It is known to all servers of the namespace, for 24
 * hours after its end.
 */
struct Job {
  1: string id
  2: JobKind kind
  3: JobState state
  4: string topic
  5: string group
  /**
   * How many failures were moved so far. Its server tells of it twice a second: of one
   * that was INTERRUPTED it may have been more.
   */
  6: i64 moved
  /** How many failures of the state there were when it began: an estimate of the whole. */
  7: i64 total
  8: i64 started_ms
  /** When its server last told of it; its end, once it has ended. */
  9: i64 updated_ms
  /** Why it failed; empty otherwise. */
  10: string error
}

// ------------------------------------------------------------------- delayed

/** An event that is not due yet. */
struct DelayedEvent {
  1: string id
  /** By Redis's clock. */
  2: i64 due_at_ms
  /** The size of what is kept, in bytes. */
  3: i32 size
}

struct DelayedPage {
  1: list<DelayedEvent> events
  2: string next_cursor
}

/** Entries of others in the set of delayed events that could not be read, and were set aside. */
struct UnreadableEvents {
  1: i64 total
  /** The newest of them. */
  2: list<binary> members
  /** The key of the list in Redis that holds them. */
  3: string list_key
}

// ------------------------------------------------------------------- figures

/**
 * What a topic holds for one group, and what has happened to it. Rates are the
 * differences of two readings' counters over the difference of their read_at_ms.
 */
struct Stats {
  1: string topic
  2: string group
  3: bool enabled
  4: i64 waiting
  5: i64 in_flight
  6: i64 delayed
  7: i64 retrying
  8: i64 dead
  /** The age of the oldest event that waits; 0 when none does, or it has no time. */
  9: i64 oldest_age_ms
  /** When the next delayed event is due; 0 when there is none. */
  10: i64 next_due_ms
  /** Entries in the set of delayed events that could not be read. */
  11: i64 unreadable
  /** Counter: events that were sent, delayed ones included. */
  12: i64 sent
  /** Counter: events that all their handlers have handled. */
  13: i64 done
  /** Counter: attempts that failed. */
  14: i64 failed
  /** Counter: shares of events that were put off without an attempt. */
  15: i64 put_off
  /** Counter: failures that became dead. */
  16: i64 died
  17: i64 replayed
  18: i64 discarded
  /** Counter: dead failures that were dropped at the topic's limits. */
  19: i64 dropped
  /** When Redis was asked, by its clock. */
  20: i64 read_at_ms
  /** Counter: delayed events that were cancelled. */
  21: i64 cancelled
}

// ----------------------------------------------------------------- consumers

struct RunningHandler {
  1: string topic
  2: string id
  3: HandlerSettings settings
}

/** A process that runs handlers. */
struct Consumer {
  1: string id
  2: string group
  3: string host
  4: i32 pid
  5: i64 started_ms
  /** Until when it is known to live, unless it says so again. */
  6: i64 expires_ms
  /** It has not said so in time: it is taken for dead, and its events are run by others. */
  7: bool expired
  8: list<RunningHandler> handlers
}

struct ConsumerPage {
  1: list<Consumer> consumers
  2: string next_cursor
}

// ------------------------------------------------------------------ services

/** What operators do. */
service EventAdmin {
  /** Returns when the server can use its Redis. */
  void ping() throws (1: Unavailable unavailable, 2: Unauthenticated unauthenticated)

  /** The topics, by name. */
  TopicPage listTopics(1: Page page)
    throws (1: InvalidArgument invalid, 2: Unavailable unavailable, 3: Unauthenticated unauthenticated)

  Topic getTopic(1: string name)
    throws (1: NotFound missing, 2: InvalidArgument invalid, 3: Unavailable unavailable, 4: Unauthenticated unauthenticated, 5: Conflict conflict)

  Topic createTopic(1: string name, 2: TopicSettings settings)
    throws (1: AlreadyExists exists, 2: InvalidArgument invalid, 3: Unavailable unavailable, 4: Unauthenticated unauthenticated, 5: Conflict conflict, 6: NotFound missing)

  /** Changes settings, and returns the topic as it is then. Running processes follow within a second. */
  Topic updateTopic(1: string name, 2: TopicUpdate update)
    throws (1: NotFound missing, 2: InvalidArgument invalid, 3: Unavailable unavailable, 4: Unauthenticated unauthenticated, 5: Conflict conflict)

  /**
   * Deletes a topic with all that it holds, in bounded steps. After an error the
   * same call goes on with it; until then the topic takes no events.
   */
  void deleteTopic(1: string name)
    throws (1: NotFound missing, 2: InvalidArgument invalid, 3: Unavailable unavailable, 4: Unauthenticated unauthenticated, 5: Conflict conflict)

  Topic enableTopic(1: string name)
    throws (1: NotFound missing, 2: InvalidArgument invalid, 3: Unavailable unavailable, 4: Unauthenticated unauthenticated, 5: Conflict conflict)

  /** From its return on no send succeeds and no event is handed out. What waits stays. */
  Topic disableTopic(1: string name)
    throws (1: NotFound missing, 2: InvalidArgument invalid, 3: Unavailable unavailable, 4: Unauthenticated unauthenticated, 5: Conflict conflict)

  /** Gives the topic one more group, which gets the events that are sent from now on. */
  Topic addGroup(1: string topic, 2: Group group)
    throws (1: NotFound missing, 2: AlreadyExists exists, 3: InvalidArgument invalid, 4: Unavailable unavailable, 5: Unauthenticated unauthenticated, 6: Conflict conflict)

  /** Removes a group with all that it holds. */
  Topic removeGroup(1: string topic, 2: string group)
    throws (1: NotFound missing, 2: InvalidArgument invalid, 3: Unavailable unavailable, 4: Unauthenticated unauthenticated, 5: Conflict conflict)

  /** The handlers of a topic in a group, by id: those that run somewhere, and those with settings of their own. */
  HandlerPage listHandlers(1: string topic, 2: string group, 3: Page page)
    throws (1: NotFound missing, 2: InvalidArgument invalid, 3: Unavailable unavailable, 4: Unauthenticated unauthenticated, 5: Conflict conflict)

  Handler getHandler(1: HandlerRef handler)
    throws (1: NotFound missing, 2: InvalidArgument invalid, 3: Unavailable unavailable, 4: Unauthenticated unauthenticated, 5: Conflict conflict)

  /** Changes settings. Running processes follow within a second; the handler need not run yet. Returns the topic's revision. */
  i64 updateHandler(1: HandlerRef handler, 2: HandlerUpdate update)
    throws (1: NotFound missing, 2: InvalidArgument invalid, 3: Unavailable unavailable, 4: Unauthenticated unauthenticated, 5: Conflict conflict)

  void enableHandler(1: HandlerRef handler)
    throws (1: NotFound missing, 2: InvalidArgument invalid, 3: Unavailable unavailable, 4: Unauthenticated unauthenticated, 5: Conflict conflict)

  /** Its share of each event waits until it is enabled again. */
  void disableHandler(1: HandlerRef handler)
    throws (1: NotFound missing, 2: InvalidArgument invalid, 3: Unavailable unavailable, 4: Unauthenticated unauthenticated, 5: Conflict conflict)

  /** Removes all that was set at run time: what the code says holds again. */
  void resetHandler(1: HandlerRef handler)
    throws (1: NotFound missing, 2: InvalidArgument invalid, 3: Unavailable unavailable, 4: Unauthenticated unauthenticated, 5: Conflict conflict)

  /** The failures of a state, those that failed first, or are due first, first. */
  FailurePage listFailures(1: FailureQuery query)
    throws (1: NotFound missing, 2: InvalidArgument invalid, 3: Unavailable unavailable, 4: Unauthenticated unauthenticated, 5: Conflict conflict)

  /** One failure, with its event; an InvalidArgument where that has over 16 000 000 bytes, which no frame takes. */
  Failure getFailure(1: string topic, 2: string group, 3: string id)
    throws (1: NotFound missing, 2: InvalidArgument invalid, 3: Unavailable unavailable, 4: Unauthenticated unauthenticated, 5: Conflict conflict)

  FailureCount countFailures(1: string topic, 2: string group)
    throws (1: NotFound missing, 2: InvalidArgument invalid, 3: Unavailable unavailable, 4: Unauthenticated unauthenticated, 5: Conflict conflict)

  /**
   * Begins to hand failures to their handlers anew, and returns the job that does
   * it; it may have ended by then. What fails while it runs is not replayed again.
   */
  Job replayFailures(1: FailureSelection selection)
    throws (1: NotFound missing, 2: InvalidArgument invalid, 3: Unavailable unavailable, 4: Unauthenticated unauthenticated, 5: Conflict conflict)

  /** Begins to remove failures for good, and returns the job that does it; it may have ended by then. */
  Job discardFailures(1: FailureSelection selection)
    throws (1: NotFound missing, 2: InvalidArgument invalid, 3: Unavailable unavailable, 4: Unauthenticated unauthenticated, 5: Conflict conflict)

  Job getJob(1: string id)
    throws (1: NotFound missing, 2: InvalidArgument invalid, 3: Unavailable unavailable, 4: Unauthenticated unauthenticated)

  /** Ends a job before its next step, and returns it as it is; one that has ended stays as it is. */
  Job cancelJob(1: string id)
    throws (1: NotFound missing, 2: InvalidArgument invalid, 3: Unavailable unavailable, 4: Unauthenticated unauthenticated)

  /** The delayed events of a topic in a group, the one that is due first first. */
  DelayedPage listDelayed(1: string topic, 2: string group, 3: Page page)
    throws (1: NotFound missing, 2: InvalidArgument invalid, 3: Unavailable unavailable, 4: Unauthenticated unauthenticated, 5: Conflict conflict)

  /** Cancels a delayed event in all groups, and returns those in which it was still waiting. */
  list<string> cancelDelayed(1: string topic, 2: string id)
    throws (1: NotFound missing, 2: InvalidArgument invalid, 3: Unavailable unavailable, 4: Unauthenticated unauthenticated, 5: Conflict conflict)

  /** What others have put into the set of delayed events and nobody can read, at most `limit` of it (default 10, at most 100). */
  UnreadableEvents listUnreadable(1: string topic, 2: string group, 3: i32 limit)
    throws (1: NotFound missing, 2: InvalidArgument invalid, 3: Unavailable unavailable, 4: Unauthenticated unauthenticated, 5: Conflict conflict)

  /** The figures of a topic, one element a group, by name. */
  list<Stats> getStats(1: string topic)
    throws (1: NotFound missing, 2: InvalidArgument invalid, 3: Unavailable unavailable, 4: Unauthenticated unauthenticated, 5: Conflict conflict)

  /** The processes that run handlers, by id, those included that are taken for dead. */
  ConsumerPage listConsumers(1: Page page)
    throws (1: InvalidArgument invalid, 2: Unavailable unavailable, 3: Unauthenticated unauthenticated)
}

/** Sending, for programs without access to Redis. */
service EventBus {
  /**
   * Sends one event to every group of the topic, and returns its id. Once it has
   * returned, the event is in Redis. After Unavailable the message says when it
   * may have been sent; sending it again under the same id is the caller's choice.
   */
  string send(1: string topic, 2: Message message)
    throws (1: NotFound missing, 2: InvalidArgument invalid, 3: Disabled disabled, 4: Unavailable unavailable, 5: Unauthenticated unauthenticated, 6: Conflict conflict)

  /** Is send with a delay: the event is handed out delay_ms after Redis has taken it. The message names no time itself. */
  string sendDelayed(1: string topic, 2: Message message, 3: i64 delay_ms)
    throws (1: NotFound missing, 2: InvalidArgument invalid, 3: Disabled disabled, 4: Unavailable unavailable, 5: Unauthenticated unauthenticated, 6: Conflict conflict)

  /** Sends up to 1000 events in one step: all of them, in their order, to every group, or none. Returns their ids. */
  list<string> sendBatch(1: string topic, 2: list<Message> messages)
    throws (1: NotFound missing, 2: InvalidArgument invalid, 3: Disabled disabled, 4: Unavailable unavailable, 5: Unauthenticated unauthenticated, 6: Conflict conflict)
}

// ----------------------------------------------------------- hosted handlers

enum Outcome {
  /** The event is handled. */
  DONE = 1
  /** It failed; the bus tries again, as the handler's settings say. */
  RETRY = 2
  /** It failed; the bus tries again after retry_after_ms. */
  RETRY_AFTER = 3
  /** It can never be handled: it becomes a dead failure at once. */
  REJECT = 4
}

/** What became of an event. */
struct HandleResult {
  1: Outcome outcome
  /** Why, for whoever looks at the failure; not used with DONE. */
  2: optional string message
  /** For RETRY_AFTER: the pause before the next attempt, more than 0. */
  3: optional i64 retry_after_ms
}

/**
 * Served by a process that hosts a handler; the bus is its client. An exception
 * of any kind, or none in the handler's time, is a failed attempt.
 */
service EventHandler {
  HandleResult handle(1: Event event)
}
