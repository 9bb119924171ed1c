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
//    getStats, Topic.groups and cancelDelayed have no pages: a topic has at most 1000
//    groups.
//  - Where -1 means no limit, what is below it is an error.
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
// header "Authorization": of HTTP, or of THeader (there "authorization"). A call of
// more than about 12 KiB whose token is missing or wrong is refused before it is
// read: with a TApplicationException, over HTTP with status 401. getServer
// says Unauthenticated; call it first.

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
  /** What stands there already, for people. */
  1: string message
  /** "topic_exists" or "group_exists". */
  2: string code
}

/** What is wrong with one argument. */
struct Argument {
  /**
   * What the message calls it: a field of a struct, with the path to it, such as
   * groups[0].queue_key, or the argument in words.
   */
  1: string name
  /** What was given, quoted and cut short; empty where there is nothing to show. */
  2: string value
  /** Why it is wrong, and what would be right. */
  3: string reason
}

/** An argument is wrong; nothing was done. */
exception InvalidArgument {
  /**
   * What is wrong, one a line where several things are, for people. Of a batch it is
   * what is wrong with its first message that is.
   */
  1: string message
  /**
   * "invalid_argument", "payload_too_large", or "wrong_type": what the queue key
   * names holds no list.
   */
  2: string code
  /**
   * The parameter or the field of one, with the path to it, that is wrong; empty
   * when it is not one alone.
   */
  3: string field
  /** Why it is wrong, and what would be right. */
  4: string reason
  /** What is wrong with each, as far as there is room, in the order of the message. */
  5: optional list<Argument> arguments
}

/** The topic is switched off, full, or has no group: nothing was sent. */
exception Disabled {
  /** Which topic or group refuses, and why, for people. */
  1: string message
  /** "topic_disabled", "topic_full", "delayed_full" or "no_group". */
  2: string code
}

/** The settings were changed by somebody else, or something else is in the way. Nothing was done. */
exception Conflict {
  /** What is in the way, for people. */
  1: string message
  /**
   * "conflict"; "topic_deleting": the topic's deletion has begun; "too_many_jobs":
   * wait for one to end, or cancel one.
   */
  2: string code
}

/**
 * Redis cannot be reached, or cannot be used as it is; or the server is busy, or stopping.
 * What was asked may be done, unless the message says otherwise: read it again.
 */
exception Unavailable {
  /** What does not answer, and whether what was asked may be done, for people. */
  1: string message
  /**
   * "unavailable", "busy" and "closed" may pass by themselves; "redis_too_old",
   * "layout_mismatch" and "wrong_type" will not.
   */
  2: string code
}

/** The token, or the header that carries it, is missing or wrong. */
exception Unauthenticated {
  /** What is missing or wrong of the two, for people; never the token. */
  1: string message
  /** "unauthenticated". */
  2: string code
}

// -------------------------------------------------------------------- server

/** Which bus a server administers. */
struct ServerInfo {
  /** With what the keys of its topics begin in Redis. */
  1: string bus_namespace
  /** The group that is meant where a call names none. */
  2: string group
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
  /** Holds for what is handed out from then on. */
  1: optional Delivery delivery
  /** Of events in a group; 0: no limit. What waits already stays, if more. */
  2: optional i64 max_waiting
  /** Of events at once in one process; 0: as many as its pool has room for. */
  3: optional i32 concurrency
  /** Of dead failures in each group; -1: no limit; 0: the default, 1 000 000. */
  4: optional i64 dead_limit
  /** -1: no limit; 0: the default, 90 days. */
  5: optional i64 dead_age_ms
  /** True: lists what is delayed from then on. */
  6: optional bool redisson_order_list
  /** Holds for what is delayed from then on; what is read is read in either form. */
  7: optional bool redisson_old_clients
  /** Demands that the topic is at this revision; else Conflict. Default 0: demands nothing. */
  8: optional i64 if_revision
}

/** A topic and its settings; see TopicSettings for what each means. */
struct Topic {
  /** 1 to 255 bytes of letters, digits and . _ - : / */
  1: string name
  /** False: sends are refused and nothing is handed out. */
  2: bool enabled
  /** A change holds in running processes within a second. */
  3: Delivery delivery
  /** As it was created. */
  4: Wire wire
  /** Of events in each group; 0: no limit. */
  5: i64 max_waiting
  /** Of events at once in one process; 0: as many as its pool has room for. */
  6: i32 concurrency
  /** Of dead failures in each group; -1: no limit. */
  7: i64 dead_limit
  /** -1: no limit. */
  8: i64 dead_age_ms
  /** By name. Empty: sends are refused, since nobody would get the event. */
  9: list<Group> groups
  /** Whether Redisson's list of the order of delayed events is kept up. */
  10: bool redisson_order_list
  /** Whether delayed events are written so that Redisson before 3.21.1 reads them. */
  11: bool redisson_old_clients
  /** Grows with every change of the topic's settings, those of its handlers included. */
  12: i64 revision
  /** By Redis's clock. */
  13: i64 created_ms
}

/** A part of the topics that there are. */
struct TopicPage {
  /** By name; those below are not among them. */
  1: list<Topic> topics
  /** Empty: this is the last page. */
  2: string next_cursor
  /** Topics of this part of the list whose deletion was begun and not completed: deleteTopic goes on with it. */
  3: list<string> deleting
  /** Topics of this part of the list whose settings are no settings: getTopic tells why. */
  4: list<string> unreadable
}

// ------------------------------------------------------------------ handlers

/** Which handler is meant. */
struct HandlerRef {
  /** 1 to 255 bytes of letters, digits and . _ - : / */
  1: string topic
  /** Empty: the server's. */
  2: string group
  /** The name under which the code, or the settings file, registers the handler; 1 to 255 bytes as a topic's. */
  3: string id
}

/** The settings of a handler, complete. */
struct HandlerSettings {
  /** False: its share of each event waits until it is enabled. */
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
  /** How many failures in a row open its circuit breaker; 0: it has none. See EventHandler for what counts of a hosted one. */
  8: i32 breaker_failures
  /** For how long an open breaker lets nothing pass. */
  9: i64 breaker_open_ms
}

/** A change to a handler's settings; what is not set stays as it is. */
struct HandlerUpdate {
  /** False: its share of each event waits until it is enabled. */
  1: optional bool enabled
  /** 1 ms to 365 days. */
  2: optional i64 timeout_ms
  /** 1 or more; 1: no retry. */
  3: optional i32 max_attempts
  /** 1 ms to 365 days; where both are set it is not over retry_max_ms. */
  4: optional i64 retry_initial_ms
  /** 1 ms to 365 days. */
  5: optional i64 retry_max_ms
  /** In one process; 0: as many as the pool has room for. */
  6: optional i32 concurrency
  /** 1 or more. */
  7: optional i32 max_abandoned
  /** 0: no breaker. */
  8: optional i32 breaker_failures
  /** 1 ms to 365 days. */
  9: optional i64 breaker_open_ms
  /** Demands that the topic is at this revision; else Conflict. Default 0: demands nothing. */
  10: optional i64 if_revision
}

/** A handler as the running processes know it. */
struct Handler {
  /** The topic whose events it handles. */
  1: string topic
  /** Never empty: the server's is named. */
  2: string group
  /** Unique within topic and group. */
  3: string id
  /** What holds now, as the process that began last runs it; not set when none runs it. */
  4: optional HandlerSettings settings
  /** What was set at run time, which goes before what the code says. */
  5: HandlerUpdate changed
  /** The ids of the processes that run it. */
  6: list<string> consumers
  /** Those of them in which its circuit breaker is open, or lets one call through to try. Not set: in none. */
  7: optional list<string> open_breakers
}

/** A part of the handlers of a topic in a group. */
struct HandlerPage {
  /** By id. */
  1: list<Handler> handlers
  /** Empty: this is the last page. */
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
  /**
   * Hands the event out at this time, by Redis's clock; one in the past is at once, but for those from 1970 to
   * 3 March 1973, which are an InvalidArgument: they were given in seconds. Goes without delay_ms.
   */
  6: optional i64 due_at_ms
}

/** An event as a handler gets it. */
struct Event {
  /**
   * The same through delay, retry, dead set and replay: by it a handler tells that it
   * has seen the event. A bare payload has none until a process takes it, and another
   * one when that process dies.
   */
  1: string id
  /** The one that it was sent to. */
  2: string topic
  /** The CloudEvents type: the topic, unless its sender said otherwise. */
  3: string type
  /** Who sent it (CloudEvents source): the group of the sender, unless it named another; empty for a bare payload. */
  4: string source
  /** When it was sent, by its sender's clock; 0 for a bare payload. */
  5: i64 time_ms
  /** The media type of the payload; never empty. */
  6: string content_type
  /** As it was sent, and empty when that was. */
  7: binary payload
  /** Its CloudEvents extension attributes, without the bus's own; empty when there are none. */
  8: map<string, string> headers
  /** The group whose share of the event this is. */
  9: string group
  /** The handler it is for. */
  10: string handler
  /** 1 for the first attempt. */
  11: i32 attempt
  /** How often a process died while it held this event, since it last ran to an end. */
  12: i32 deliveries
}

// ------------------------------------------------------------------ failures

/** Whether a failure goes on by itself. */
enum FailureState {
  /** It will be tried again by itself. */
  RETRYING = 1
  /** It was given up, and waits to be replayed or discarded. */
  DEAD = 2
}

/** One event that one handler did not handle. */
struct Failure {
  /** The failure's own, for getFailure and FailureSelection; that of the event is event_id. */
  1: string id
  /** RETRYING also when it was only put off, without an attempt. */
  2: FailureState state
  /** The one that the event was sent to. */
  3: string topic
  /** Never empty: the server's is named. */
  4: string group
  /** Empty when the process died while it ran the event: it counts for all handlers then. */
  5: string handler
  /** Several failures have the same one, when several handlers failed. */
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
  /** The first of those attempts; 0 for what was only put off. */
  10: i64 first_failed_at_ms
  /** The last of those attempts. */
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
  /** It must be set. */
  1: string topic
  /** Empty: the server's. */
  2: string group
  /** Default DEAD. */
  3: optional FailureState state
  /** Only those of this handler; pages may then be empty although more follow. Default: of all. */
  4: optional string handler
  /** Not set: the first 100. */
  5: optional Page page
}

/** A part of the failures that were asked for. */
struct FailurePage {
  /** Without their events. Dead ones by the time of their death, retrying ones by their next attempt. */
  1: list<Failure> failures
  /** Empty: this is the last page. */
  2: string next_cursor
}

/** Which failures are replayed or discarded. At least one of ids, handler, before_ms and all must be set. */
struct FailureSelection {
  /** It must be set. */
  1: string topic
  /** Empty: the server's. */
  2: string group
  /** These, at most 1000, in whichever state; goes with none of the others. */
  3: optional list<string> ids
  /** Those of this handler; with before_ms those that are both. */
  4: optional string handler
  /** Those that failed last before this time; one before 3 March 1973 is an InvalidArgument: it was given in seconds. */
  5: optional i64 before_ms
  /** Each one. */
  6: optional bool all
  /** Default DEAD. */
  7: optional FailureState state
}

/** How many failures a topic has in a group. */
struct FailureCount {
  /** Those in state RETRYING, also what was only put off. */
  1: i64 retrying
  /** Those in state DEAD. */
  2: i64 dead
}

// ---------------------------------------------------------------------- jobs

/** What a job does with failures. */
enum JobKind {
  /** Hands them to their handlers anew, with fresh attempts. */
  REPLAY = 1
  /** Removes them for good. */
  DISCARD = 2
}

/** How far a job is. All but RUNNING are ends. */
enum JobState {
  /** It goes on; moved grows. */
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
  /** A UUIDv7, for getJob and cancelJob. */
  1: string id
  /** By which call it was begun. */
  2: JobKind kind
  /** Ask again while it is RUNNING; twice a second is as often as it changes. */
  3: JobState state
  /** The one whose failures it moves. */
  4: string topic
  /** Never empty: the server's is named. */
  5: string group
  /**
   * How many failures were moved so far. Its server tells of it twice a second: of one
   * that was INTERRUPTED it may have been more.
   */
  6: i64 moved
  /** How many failures of the state there were when it began: an estimate of the whole. */
  7: i64 total
  /** By Redis's clock. */
  8: i64 started_ms
  /** When its server last told of it; its end, once it has ended. */
  9: i64 updated_ms
  /** Why it failed, or was interrupted by the end of its server; empty otherwise. */
  10: string error
}

// ------------------------------------------------------------------- delayed

/** An event that is not due yet. */
struct DelayedEvent {
  /** Empty where none is kept: on raw topics, and for what others offered. Only what has one can be cancelled by it. */
  1: string id
  /** By Redis's clock. */
  2: i64 due_at_ms
  /** The size of what is kept, in bytes. */
  3: i32 size
}

/** A part of the delayed events of a topic in a group. */
struct DelayedPage {
  /** The earliest due first. Overdue ones stand here until a process moves them. */
  1: list<DelayedEvent> events
  /** Empty: this is the last page. */
  2: string next_cursor
}

/** Entries of others in the set of delayed events that could not be read, and were set aside. */
struct UnreadableEvents {
  /** How many there are; members has some of them. */
  1: i64 total
  /** Those that came due first, byte for byte; fewer than were asked for where they are large. */
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
  /** The one that was asked for. */
  1: string topic
  /** One of the topic's. */
  2: string group
  /** The topic's switch: the same for all its groups. */
  3: bool enabled
  /** Events in the queue that no process has taken. */
  4: i64 waiting
  /** Events that processes have taken and not completed; with AT_MOST_ONCE none are counted. */
  5: i64 in_flight
  /** Events that are not due yet, and those that are due and were not moved to the queue yet. */
  6: i64 delayed
  /** Failures that will be tried again. */
  7: i64 retrying
  /** Failures that wait to be replayed or discarded. */
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
  /** Counter: failures that were replayed. */
  17: i64 replayed
  /** Counter: failures that were discarded. */
  18: i64 discarded
  /** Counter: dead failures that were dropped at the topic's limits. */
  19: i64 dropped
  /** When Redis was asked, by its clock. */
  20: i64 read_at_ms
  /** Counter: delayed events that were cancelled. */
  21: i64 cancelled
}

// ----------------------------------------------------------------- consumers

/** A handler in one process. */
struct RunningHandler {
  /** The topic whose events it handles. */
  1: string topic
  /** The handler's; its group is the process's. */
  2: string id
  /** What holds in this process. Another one may have other defaults in its code. */
  3: HandlerSettings settings
  /** Its circuit breaker is open in this process, or lets one call through to try. Default false. */
  4: optional bool open_breaker
}

/** A process that runs handlers. */
struct Consumer {
  /** New with each start, and when the process was taken for dead and goes on. */
  1: string id
  /** The one whose events it handles. */
  2: string group
  /** The name of its machine, as that gives it. */
  3: string host
  /** Its process id on that machine, or in its container. */
  4: i32 pid
  /** By the clock of its machine. */
  5: i64 started_ms
  /** Until when it is known to live, unless it says so again. */
  6: i64 expires_ms
  /** It has not said so in time: it is taken for dead, and its events are run by others. */
  7: bool expired
  /** By topic; of one topic in the order in which they run. */
  8: list<RunningHandler> handlers
}

/** A part of the processes of the namespace. */
struct ConsumerPage {
  /** By id, of all groups. */
  1: list<Consumer> consumers
  /** Empty: this is the last page. */
  2: string next_cursor
}

// ------------------------------------------------------------------ services

/** What operators do. */
service EventAdmin {
  /** Which bus the server administers. It asks nothing of Redis. */
  ServerInfo getServer() throws (1: Unauthenticated unauthenticated)

  /** Returns when the server can use its Redis. */
  void ping() throws (1: Unavailable unavailable, 2: Unauthenticated unauthenticated)

  /** The topics, by name. */
  TopicPage listTopics(1: Page page)
    throws (1: InvalidArgument invalid, 2: Unavailable unavailable, 3: Unauthenticated unauthenticated)

  /** A topic whose deletion was begun and not completed is a Conflict. */
  Topic getTopic(1: string name)
    throws (1: NotFound missing, 2: InvalidArgument invalid, 3: Unavailable unavailable, 4: Unauthenticated unauthenticated, 5: Conflict conflict)

  /** Makes a topic and returns it. Settings that are not set at all are the defaults. */
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

  /** Lets sends succeed again and has what waits handed out; of one that is enabled it changes nothing. */
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

  /** NotFound when no process runs it and nothing was set for it. */
  Handler getHandler(1: HandlerRef handler)
    throws (1: NotFound missing, 2: InvalidArgument invalid, 3: Unavailable unavailable, 4: Unauthenticated unauthenticated, 5: Conflict conflict)

  /**
   * Changes settings. Running processes follow within a second. Returns the topic's revision.
   * The handler need not run anywhere: an id that nothing knows is taken as well, and shown
   * by listHandlers from then on.
   */
  i64 updateHandler(1: HandlerRef handler, 2: HandlerUpdate update)
    throws (1: NotFound missing, 2: InvalidArgument invalid, 3: Unavailable unavailable, 4: Unauthenticated unauthenticated, 5: Conflict conflict)

  /**
   * Has its share of events run again; what waited meanwhile comes within a minute. The circuit breaker of one that
   * was disabled begins closed, so that disabling and enabling it has it tried at once after a repair.
   */
  void enableHandler(1: HandlerRef handler)
    throws (1: NotFound missing, 2: InvalidArgument invalid, 3: Unavailable unavailable, 4: Unauthenticated unauthenticated, 5: Conflict conflict)

  /** Its share of each event waits until it is enabled again. An id that nothing knows is taken, as by updateHandler. */
  void disableHandler(1: HandlerRef handler)
    throws (1: NotFound missing, 2: InvalidArgument invalid, 3: Unavailable unavailable, 4: Unauthenticated unauthenticated, 5: Conflict conflict)

  /** Removes all that was set at run time: what the code says holds again. */
  void resetHandler(1: HandlerRef handler)
    throws (1: NotFound missing, 2: InvalidArgument invalid, 3: Unavailable unavailable, 4: Unauthenticated unauthenticated, 5: Conflict conflict)

  /** The failures of a state: dead ones by the time of their death, retrying ones by their next attempt, the earliest first. */
  FailurePage listFailures(1: FailureQuery query)
    throws (1: NotFound missing, 2: InvalidArgument invalid, 3: Unavailable unavailable, 4: Unauthenticated unauthenticated, 5: Conflict conflict)

  /** One failure, with its event; an InvalidArgument where that has over 16 000 000 bytes, which no frame takes. */
  Failure getFailure(1: string topic, 2: string group, 3: string id)
    throws (1: NotFound missing, 2: InvalidArgument invalid, 3: Unavailable unavailable, 4: Unauthenticated unauthenticated, 5: Conflict conflict)

  /** For the length of lists, which pages do not tell. */
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

  /** NotFound for one that ended more than 24 hours ago. */
  Job getJob(1: string id)
    throws (1: NotFound missing, 2: InvalidArgument invalid, 3: Unavailable unavailable, 4: Unauthenticated unauthenticated)

  /** Ends a job before its next step, and returns it as it is; one that has ended stays as it is. */
  Job cancelJob(1: string id)
    throws (1: NotFound missing, 2: InvalidArgument invalid, 3: Unavailable unavailable, 4: Unauthenticated unauthenticated)

  /** The delayed events of a topic in a group, the earliest due first. */
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

/** What a handler can say of an event. Another value, or none, counts as RETRY. */
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
  /** It must be set. */
  1: Outcome outcome
  /** Why, for whoever looks at the failure; not used with DONE. */
  2: optional string message
  /** For RETRY_AFTER: the pause before the next attempt, more than 0. */
  3: optional i64 retry_after_ms
}

/**
 * Served by a process that hosts a handler; the bus is its client. An exception
 * of any kind, or no answer in the handler's time, is a failed attempt. For the circuit
 * breaker neither a HandleResult counts, nor that handle returned none, nor the exceptions
 * INTERNAL_ERROR and UNKNOWN, with which runtimes answer when handle has thrown something:
 * the process is not down.
 */
service EventHandler {
  /** Handles an event for the handler that it names. The bus may call again with the same one: tell by its id. */
  HandleResult handle(1: Event event)
}
