package handlers

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

// checkThriftAddress demands host:port.
func checkThriftAddress(address string) error {
	wrong := func(reason string) error {
		return invalid("address", strconv.Quote(address), reason+"; give HOST:PORT such as 127.0.0.1:9091", nil)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return wrong("it is not a host and a port")
	}
	if host == "" {
		return wrong("it names no host")
	}
	if strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '/' || r == '@' }) {
		return wrong("its host has a character that no host can have")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return wrong("its port is not between 1 and 65535")
	}
	return nil
}

// checkThriftConfig fills in the defaults. A token is not quoted: it is a secret.
func checkThriftConfig(cfg ThriftConfig) (ThriftConfig, error) {
	wrong := func(field, value, reason string) (ThriftConfig, error) {
		return ThriftConfig{}, invalid("ThriftConfig."+field, value, reason, nil)
	}
	switch cfg.Protocol {
	case "":
		cfg.Protocol = ThriftBinary
	case ThriftBinary, ThriftCompact, ThriftHeader:
	default:
		return wrong("Protocol", strconv.Quote(string(cfg.Protocol)), "right are: binary, compact, header")
	}
	if cfg.Unframed && cfg.Protocol == ThriftHeader {
		return wrong("Unframed", "true", "protocol header has frames of its own and cannot go without; leave it out")
	}
	if strings.ContainsFunc(cfg.Service, func(r rune) bool { return isControl(r) || r == '\t' || r == ':' }) {
		return wrong("Service", strconv.Quote(cfg.Service), "a name without colons and control characters is right, as the server registers it")
	}
	if len(cfg.Service) > maxThriftService {
		return wrong("Service", strconv.Quote(cfg.Service[:32]+"…"), fmt.Sprintf("it is longer than %d bytes", maxThriftService))
	}
	if cfg.Token != "" && cfg.Protocol != ThriftHeader {
		return wrong("Token", "", fmt.Sprintf("protocol %s has no headers and cannot carry one; set protocol header, or leave the token out and let TLS certificates tell who calls", cfg.Protocol))
	}
	if strings.ContainsFunc(cfg.Token, isControl) || len(cfg.Token) > maxThriftToken {
		return wrong("Token", "", fmt.Sprintf("at most %d bytes without control characters are right", maxThriftToken))
	}
	if cfg.MaxIdle < 0 {
		return wrong("MaxIdle", strconv.Itoa(cfg.MaxIdle), fmt.Sprintf("it is negative; give a number, or 0 for %d", DefaultThriftMaxIdle))
	}
	if cfg.MaxIdle == 0 {
		cfg.MaxIdle = DefaultThriftMaxIdle
	}
	for _, d := range []struct {
		field    string
		value    *time.Duration
		fallback time.Duration
	}{
		{"DialTimeout", &cfg.DialTimeout, DefaultThriftDialTimeout},
		{"IdleTimeout", &cfg.IdleTimeout, DefaultThriftIdleTimeout},
	} {
		if *d.value < 0 {
			return wrong(d.field, d.value.String(), fmt.Sprintf("it is negative; give a duration, or 0 for %v", d.fallback))
		}
		if *d.value == 0 {
			*d.value = d.fallback
		}
	}
	return cfg, nil
}

// Bounds of what is sent with each event.
const (
	maxThriftService = 255     // bytes
	maxThriftToken   = 8 << 10 // bytes
)
