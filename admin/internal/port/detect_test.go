package port

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDetect(t *testing.T) {
	t.Parallel()
	for first, want := range map[string]dialect{
		"GET ": speaksHTTP, "POST": speaksHTTP, "PRI ": speaksHTTP, "GETS": unknown, "get ": unknown,
		"\x16\x03\x01\x02": speaksTLS, "\x16\x04\x01\x02": unknown,
		"\x80\x01\x00\x01": unframedBinary, "\x80\x02\x00\x01": unknown,
		"\x82\x21\x01\x04": unframedCompact, "\x82\x22\x01\x04": unknown,
		"\x00\x00\x00\x10": framed, "\x00\xfa\x00\x00": framed, "\x00\xfa\x00\x01": overlong, "\x10\x00\x00\x00": overlong, "\x10\x00\x00\x01": unknown,
	} {
		require.Equal(t, want, detect([]byte(first), DefaultMaxMessage), "%q", first)
	}
	for _, w := range httpWords {
		require.Equal(t, speaksHTTP, detect([]byte(w), maxMaxMessage))
	}
	require.Equal(t, speaksTLS, detect([]byte("\x16\x03\x00\x00"), maxMaxMessage))
}

func TestLimits_Defaults(t *testing.T) {
	t.Parallel()
	l := Limits{}.withDefaults()
	require.Equal(t, DefaultMaxMessage, l.MaxMessage)
	require.Equal(t, DefaultRead, l.Read)
	require.LessOrEqual(t, l.MaxConnections, DefaultMaxConnections)
	require.Equal(t, maxMaxMessage, Limits{MaxMessage: 1 << 30}.withDefaults().MaxMessage)
	if files := openFiles(); files > 0 {
		require.Equal(t, files/2, Limits{MaxConnections: 1 << 30}.withDefaults().MaxConnections)
	}
}
