// Package admin is the side of a running bus that operators and their systems
// look at: so far its health, over HTTP.
package admin
