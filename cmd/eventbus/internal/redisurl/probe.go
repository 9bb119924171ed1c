package redisurl

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"strings"
	"time"
)

// probeTimeout bounds the look at one host.
const probeTimeout = time.Second

// Mismatch looks, after a connection has failed, whether the address demands TLS
// of a server that speaks plain text, or plain text of one that speaks TLS: what
// a client sees of that is an end or a silence, which say nothing. It returns what
// is right instead, "" when nothing can be told. No credentials are sent.
func (t Target) Mismatch(ctx context.Context) string {
	rest, secure := strings.CutPrefix(t.scheme, "rediss")
	speaks, right := speaksPlain, "speaks plain text, not TLS: redis"+rest+":// is right"
	if !secure {
		speaks, right = speaksTLS, "speaks TLS: rediss"+strings.TrimPrefix(t.scheme, "redis")+":// is right"
	}
	for _, host := range t.hosts {
		if probe(ctx, host, speaks) {
			return host + " " + right
		}
	}
	return ""
}

func probe(ctx context.Context, host string, speaks func(ctx context.Context, conn net.Conn) bool) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", host)
	if err != nil {
		return false
	}
	defer conn.Close() // nothing is written that could be lost
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	return speaks(ctx, conn)
}

// speaksTLS tells that the server answers a TLS greeting by one of its own, be
// it that it refuses.
func speaksTLS(ctx context.Context, conn net.Conn) bool {
	err := tls.Client(conn, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(ctx) // nothing is told to it
	var alert *net.OpError
	return err == nil || errors.As(err, &alert) && alert.Op == "remote error" // so crypto/tls calls an alert
}

// speaksPlain tells that the server answers as Redis does.
func speaksPlain(_ context.Context, conn net.Conn) bool {
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return false
	}
	first := make([]byte, 1)
	n, _ := conn.Read(first) // without an answer n is 0
	return n == 1 && slices.Contains([]byte("+-"), first[0])
}
