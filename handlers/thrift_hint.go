package handlers

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/seed4933/eventbus/internal/protocol"
)

// hint says what would be right.
func (t *Thrift) hint(step string, err error, head []byte) string {
	if errors.Is(err, errThriftClosed) || errors.Is(err, context.Canceled) {
		return ""
	}
	if wrong := tlsHint(err); wrong != "" {
		return wrong
	}
	switch step {
	case stepConnect:
		return connectHint(err)
	case stepHandshake:
		return "the server must serve TLS, or the handler go without"
	case stepSend:
		return t.sendHint(err)
	}
	return t.answerHint(err, head)
}

// sendHint is for what keeps an event from being written whole.
func (t *Thrift) sendHint(err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "the server did not take it in the handler's time. If it never does: " + t.wanted()
	case errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET):
		return "the server closed the connection before it had all of it; its log may tell why. If it always does: " + t.wanted()
	}
	return ""
}

// connectHint is for what keeps a connection from being made.
func connectHint(err error) string {
	var unknown *net.DNSError
	switch {
	case errors.As(err, &unknown):
		return "the address must name a host that is known here"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens there: start the process that serves EventHandler, or correct the address"
	}
	return "nothing answers there: is the address right, and is nothing in the way?"
}

// tlsHint is for what one side of TLS has against the other. It may come with the
// first answer: TLS 1.3 judges a client's certificate after the handshake.
func tlsHint(err error) string {
	var (
		plain    tls.RecordHeaderError
		unknown  x509.UnknownAuthorityError
		hostname x509.HostnameError
		invalid  x509.CertificateInvalidError
		refused  *net.OpError
	)
	switch {
	case errors.As(err, &plain):
		return "the server speaks no TLS there: leave TLS out, or have it serve TLS"
	case errors.As(err, &unknown):
		return "give the certificate (CA) that signed the server's"
	case errors.As(err, &hostname):
		return "give the name that the server's certificate has as the server name"
	case errors.As(err, &invalid):
		return "the server needs a certificate that is valid now, and for servers"
	case errors.As(err, &refused) && refused.Op == "remote error": // as crypto/tls calls an alert
		return "the server refused: does it ask for a client's certificate, and was one given that it trusts?"
	}
	return ""
}

// answerHint is for what came back, or did not.
func (t *Thrift) answerHint(err error, head []byte) string {
	var exception thrift.TApplicationException
	var strange *strangeAnswerError
	switch {
	case errors.As(err, &exception):
		if exception.TypeId() == thrift.UNKNOWN_METHOD {
			return "the server serves something else there: it must serve EventHandler" + t.named()
		}
		return ""
	case errors.Is(err, errNoResult):
		return "its method returned nothing: it must return one, DONE where all is well"
	case errors.As(err, &strange):
		return "the server must answer each call once, in its order, with what EventHandler returns"
	}
	spoken := t.spoken()
	if heard := heardIn(head); heard != "" && heard != spoken {
		return fmt.Sprintf("the answer is %s, and this side speaks %s", heard, spoken)
	}
	switch silent := len(head) == 0; {
	case silent && errors.Is(err, context.DeadlineExceeded):
		return "there was none in the handler's time. If there never is one: " + t.wanted()
	case silent && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)):
		return "the server closed the connection without one; its log may tell why. If it always does: " + t.wanted()
	case !silent && heardIn(head) == "":
		return fmt.Sprintf("it begins with %q, which is not Thrift: is this a server of EventHandler?", head)
	}
	return ""
}

// wanted says what the server must be like.
func (t *Thrift) wanted() string {
	security := "without TLS"
	if t.cfg.TLS != nil {
		security = "with TLS"
	}
	text := fmt.Sprintf("this side speaks %s, %s%s", t.spoken(), security, t.named())
	switch {
	case t.cfg.Protocol == ThriftHeader:
		return text + "; a server in Java has no THeader"
	case t.cfg.Unframed:
		return text + "; a TNonblockingServer or THsHaServer wants frames"
	}
	return text + "; a TThreadPoolServer or TSimpleServer wants none unless it was given a TFramedTransport.Factory"
}

// named is the service as part of a sentence.
func (t *Thrift) named() string {
	if t.cfg.Service == "" {
		return ""
	}
	return fmt.Sprintf(", under the name %q", t.cfg.Service)
}

// What is spoken on a connection, in words.
const (
	framedBinary    = "the binary protocol in frames"
	framedCompact   = "the compact protocol in frames"
	unframedBinary  = "the binary protocol without frames"
	unframedCompact = "the compact protocol without frames"
	header          = "THeader"
)

// spoken is what this side speaks.
func (t *Thrift) spoken() string {
	switch {
	case t.cfg.Protocol == ThriftHeader:
		return header
	case t.cfg.Protocol == ThriftCompact && t.cfg.Unframed:
		return unframedCompact
	case t.cfg.Protocol == ThriftCompact:
		return framedCompact
	case t.cfg.Unframed:
		return unframedBinary
	}
	return framedBinary
}

// heardIn tells by its first bytes what an answer is; empty when it is none of
// what is known.
func heardIn(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("HTTP/")):
		return "that of an HTTP server"
	case len(head) > 2 && (head[0] == 21 || head[0] == 22) && head[1] == 3: // alert, handshake
		return "TLS"
	case protocol.IsBinary(head):
		return unframedBinary
	case protocol.IsCompact(head):
		return unframedCompact
	}
	if len(head) < frameLength {
		return ""
	}
	switch frame := head[frameLength:]; {
	case protocol.IsBinary(frame):
		return framedBinary
	case protocol.IsCompact(frame):
		return framedCompact
	case protocol.IsHeader(frame):
		return header
	}
	return ""
}
