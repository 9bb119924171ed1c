// Package faults holds no code. Its tests break a whole bus, with real processes
// and a real redis-server, in the ways in which such systems have failed: killed
// and halted workers, lost replies, a silent, refusing or restarted Redis, stops
// at the worst moment. They hold the promises of package eventbus: nothing is
// lost, nothing runs twice unless something died, nothing floods, and all goes on
// by itself.
//
// The tests wait for servers and leases far more than they compute; TestMain
// therefore runs more of them at once than there are processors.
package faults
