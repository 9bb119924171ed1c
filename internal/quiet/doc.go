// Package quiet looks whether a connection that waits for its next use is still good:
// between two calls of Thrift the peer has nothing to say.
package quiet
