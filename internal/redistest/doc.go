// Package redistest gives tests a real Redis, ways to break it, and processes
// that can be killed. Only tests import it.
//
//   - [Start] runs a redis-server of its own for a test: it can be stopped,
//     killed, started again on the same port and directory, and paused.
//   - [Shared] runs one for all tests of a package.
//   - [StartCluster] runs a Redis Cluster without replicas.
//   - [StartSentinel] runs a master, its replica and a Sentinel.
//   - [NewProxy] stands between a client and a server and breaks the network:
//     silence, cuts, refusals, lost replies, latency.
//   - [RunSelf] runs a function of the test binary in a process that the test
//     may kill; [Main] is its other half, called from TestMain.
//   - [Miniredis] runs the in-memory stand-in, for what needs no real server.
//
// Everything listens on 127.0.0.1 only, keeps its files in the test's temporary
// directory, and is ended when the test ends. On Linux it also ends when the
// test binary is killed; see spawn.
//
// Methods that take no [testing.TB] may be called from any goroutine. What goes
// wrong in them fails the test that the object was made for, but does not end it.
package redistest
