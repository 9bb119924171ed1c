package port

import "fmt"

// maxHTTPHeader is how long the header of an HTTP request may be, in bytes.
const maxHTTPHeader = 16 << 10

// mostHeaders is how many headers a call may have, of THeader or of HTTP. The shortest
// of them takes a hundred times its bytes in memory.
const mostHeaders = 100

// errManyHeaders is returned for a call with more of them.
var errManyHeaders = fmt.Errorf("there are more than %d headers, the most that are taken", mostHeaders)

// head counts the lines of a request's head as they are read.
type head struct {
	ended bool
	blank bool // nothing stands in the line yet, and it is not the first
	lines int
}

// read is told what was read. It may be more than the head: what has come with it of the
// next request's head is not counted, 4 KiB at most, the buffer of package net/http.
func (h *head) read(b []byte) error {
	for _, c := range b {
		switch {
		case h.ended:
			return nil
		case c == '\n':
			h.ended, h.blank = h.blank, true
			h.lines++
		case c != '\r':
			h.blank = false
		}
	}
	if h.lines > 1+mostHeaders+1 {
		return errManyHeaders
	}
	return nil
}
