// Package quiet tells whether an idle connection can be used again. Between two calls of
// Thrift the peer sends nothing: whatever has arrived, be it the end of the connection,
// makes it useless.
package quiet
