// Package admin is the side of a bus that operators and their systems look at:
// the administration, in Go and over Thrift, and the bus's health over HTTP.
//
// API lists what there is to do, Service does it on Redis, Client through the
// Thrift port of a server. A service that runs a bus offers the port in a few
// lines: see the example of Serve.
package admin
