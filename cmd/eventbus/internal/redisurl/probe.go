package redisurl

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"time"
)

// probeTimeout bounds the look at one host.
const probeTimeout = time.Second

// speech is what a server has shown itself to speak.
type speech int

const (
	speaksUnknown  speech = iota // or what the address says
	speaksTheOther               // TLS in place of plain text, or the other way round
	speaksHTTP
)

// Mismatch looks, after a connection has failed, whether the address demands TLS
// of a server that speaks plain text, or plain text of one that speaks TLS, or is that
// of an HTTP server: what a client sees of that is an end, a silence or an answer that
// it cannot read, which say little. It returns what is right instead, "" when nothing
// can be told. No credentials are sent.
func (t Target) Mismatch(ctx context.Context) string {
	rest, secure := strings.CutPrefix(t.scheme, "rediss")
	look, right := lookForPlain, "speaks plain text, not TLS: redis"+rest+":// is right"
	if !secure {
		look, right = lookForTLS, "speaks TLS: rediss"+strings.TrimPrefix(t.scheme, "redis")+":// is right"
	}
	for _, host := range t.hosts {
		switch probe(ctx, host, look) {
		case speaksTheOther:
			return host + " " + right
		case speaksHTTP:
			return host + " is an HTTP server and answers with HTTP: the address of a Redis is right"
		}
	}
	return ""
}

func probe(ctx context.Context, host string, look func(ctx context.Context, conn net.Conn) speech) speech {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", host)
	if err != nil {
		return speaksUnknown
	}
	defer conn.Close() // nothing is written that could be lost
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	return look(ctx, conn)
}

// ofHTTP is how each answer of an HTTP server begins, also the one to what is no request.
const ofHTTP = "HTTP/"

// lookForTLS looks whether the server answers a TLS greeting by one of its own, be
// it that it refuses.
func lookForTLS(ctx context.Context, conn net.Conn) speech {
	err := tls.Client(conn, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(ctx) // nothing is told to it
	var alert *net.OpError
	var record tls.RecordHeaderError
	switch {
	case err == nil, errors.As(err, &alert) && alert.Op == "remote error": // so crypto/tls calls an alert
		return speaksTheOther
	case errors.As(err, &record) && string(record.RecordHeader[:]) == ofHTTP:
		return speaksHTTP
	}
	return speaksUnknown
}

// lookForPlain looks whether the server answers as Redis does.
func lookForPlain(_ context.Context, conn net.Conn) speech {
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return speaksUnknown
	}
	first := make([]byte, len(ofHTTP))
	n, _ := io.ReadFull(conn, first) // without an answer n is 0
	switch {
	case n > 0 && slices.Contains([]byte("+-"), first[0]):
		return speaksTheOther
	case string(first[:n]) == ofHTTP:
		return speaksHTTP
	}
	return speaksUnknown
}
