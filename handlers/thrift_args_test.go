package handlers

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

func TestNewThrift_Invalid(t *testing.T) {
	t.Parallel()
	const right = "127.0.0.1:9090"
	for _, c := range []struct {
		address string
		cfg     ThriftConfig
		field   string
		says    string
	}{
		{"", ThriftConfig{}, "address", "it is not a host and a port; give HOST:PORT such as"},
		{"localhost", ThriftConfig{}, "address", "it is not a host and a port"},
		{":9090", ThriftConfig{}, "address", "it names no host"},
		{"localhost:thrift", ThriftConfig{}, "address", "its port is not between"},
		{"localhost:0", ThriftConfig{}, "address", "its port is not between"},
		{"localhost:65536", ThriftConfig{}, "address", "its port is not between"},
		{"user@host:1", ThriftConfig{}, "address", "a character that no host can have"},
		{"a b:1", ThriftConfig{}, "address", "a character that no host can have"},
		{right, ThriftConfig{Protocol: "json"}, "ThriftConfig.Protocol", "right are: binary, compact, header"},
		{right, ThriftConfig{Protocol: ThriftHeader, Unframed: true}, "ThriftConfig.Unframed", "frames of its own"},
		{right, ThriftConfig{Service: "a:b"}, "ThriftConfig.Service", "without colons"},
		{right, ThriftConfig{Service: "a\n"}, "ThriftConfig.Service", "without colons"},
		{right, ThriftConfig{Service: strings.Repeat("x", 256)}, "ThriftConfig.Service", "longer than 255 bytes"},
		{right, ThriftConfig{Token: "secret"}, "ThriftConfig.Token", "protocol binary has no headers and cannot carry one; set protocol header"},
		{right, ThriftConfig{Token: "secret", Protocol: ThriftCompact}, "ThriftConfig.Token", "protocol compact has no headers"},
		{right, ThriftConfig{Token: "secret\n", Protocol: ThriftHeader}, "ThriftConfig.Token", "without control characters"},
		{right, ThriftConfig{Token: strings.Repeat("secret", 9000), Protocol: ThriftHeader}, "ThriftConfig.Token", "at most 8192 bytes"},
		{right, ThriftConfig{MaxIdle: -1}, "ThriftConfig.MaxIdle", "or 0 for 16"},
		{right, ThriftConfig{DialTimeout: -1}, "ThriftConfig.DialTimeout", "or 0 for 5s"},
		{right, ThriftConfig{IdleTimeout: -1}, "ThriftConfig.IdleTimeout", "or 0 for 50s"},
	} {
		h, err := NewThrift(c.address, c.cfg)
		require.Nil(t, h)
		require.ErrorIs(t, err, eventbus.ErrInvalidArgument)
		var argument *eventbus.ArgumentError
		require.ErrorAs(t, err, &argument)
		require.Equal(t, c.field, argument.Field)
		require.ErrorContains(t, err, c.says)
		require.NotContains(t, err.Error(), "secret")
	}
}

func TestNewThrift_Defaults(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"127.0.0.1:1", "[::1]:65535", "billing.internal:9090"} {
		h := openThrift(t, address, ThriftConfig{})
		require.Equal(t, ThriftConfig{
			Protocol: ThriftBinary, MaxIdle: 16, DialTimeout: 5 * time.Second, IdleTimeout: 50 * time.Second,
		}, h.cfg)
	}
}

// All that is wrong is said at once.
func TestNewThrift_SaysAllThatIsWrong(t *testing.T) {
	t.Parallel()
	_, err := NewThrift(":70000", ThriftConfig{
		Protocol: "json", Unframed: true, Service: "a:b", Token: "secret\n", MaxIdle: -1, DialTimeout: -1, IdleTimeout: -1,
	})
	require.EqualError(t, err, `invalid address ":70000": it names no host, and its port is not between 1 and 65535; give HOST:PORT such as 127.0.0.1:9091
invalid ThriftConfig.Protocol "json": right are: binary, compact, header
invalid ThriftConfig.Service "a:b": a name without colons and control characters is right, as the server registers it
invalid ThriftConfig.Token: at most 8192 bytes without control characters are right
invalid ThriftConfig.MaxIdle -1: it is negative; give a number, or 0 for 16
invalid ThriftConfig.DialTimeout -1ns: it is negative; give a duration, or 0 for 5s
invalid ThriftConfig.IdleTimeout -1ns: it is negative; give a duration, or 0 for 50s`)
}
