package handlers

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

// checkThriftAddress demands host:port.
func checkThriftAddress(address string) error {
	var wrong []string
	host, port, err := net.SplitHostPort(address)
	switch {
	case err != nil:
		wrong = append(wrong, "it is not a host and a port")
	case host == "":
		wrong = append(wrong, "it names no host")
	case strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '/' || r == '@' }):
		wrong = append(wrong, "its host has a character that no host can have")
	}
	if n, bad := strconv.ParseUint(port, 10, 16); err == nil && (bad != nil || n == 0) {
		wrong = append(wrong, "its port is not between 1 and 65535")
	}
	if len(wrong) == 0 {
		return nil
	}
	return invalid("address", strconv.Quote(address), strings.Join(wrong, ", and ")+"; give HOST:PORT such as 127.0.0.1:9091", nil)
}

// checkThrift fills in the defaults, and joins all that is wrong. A token is not quoted:
// it is a secret.
func checkThrift(address string, cfg ThriftConfig) (ThriftConfig, error) {
	bad := []error{checkThriftAddress(address)}
	wrong := func(field, value, reason string) {
		bad = append(bad, invalid("ThriftConfig."+field, value, reason, nil))
	}
	headers := cfg.Protocol == ThriftHeader
	switch cfg.Protocol {
	case "":
		cfg.Protocol = ThriftBinary
	case ThriftBinary, ThriftCompact, ThriftHeader:
	default:
		headers = true // nobody can tell
		wrong("Protocol", strconv.Quote(string(cfg.Protocol)), "right are: binary, compact, header")
	}
	if cfg.Unframed && cfg.Protocol == ThriftHeader {
		wrong("Unframed", "true", "protocol header has frames of its own and cannot go without; leave it out")
	}
	switch {
	case len(cfg.Service) > maxThriftService:
		wrong("Service", strconv.Quote(cfg.Service[:32]+"…"), fmt.Sprintf("it is longer than %d bytes", maxThriftService))
	case strings.ContainsFunc(cfg.Service, func(r rune) bool { return isControl(r) || r == '\t' || r == ':' }):
		wrong("Service", strconv.Quote(cfg.Service), "a name without colons and control characters is right, as the server registers it")
	}
	if cfg.Token != "" && !headers {
		wrong("Token", "", fmt.Sprintf("protocol %s has no headers and cannot carry one; set protocol header, or leave the token out and let TLS certificates tell who calls", cfg.Protocol))
	}
	if strings.ContainsFunc(cfg.Token, isControl) || len(cfg.Token) > maxThriftToken {
		wrong("Token", "", fmt.Sprintf("at most %d bytes without control characters are right", maxThriftToken))
	}
	if cfg.MaxIdle < 0 {
		wrong("MaxIdle", strconv.Itoa(cfg.MaxIdle), fmt.Sprintf("it is negative; give a number, or 0 for %d", DefaultThriftMaxIdle))
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
			wrong(d.field, d.value.String(), fmt.Sprintf("it is negative; give a duration, or 0 for %v", d.fallback))
		}
		if *d.value == 0 {
			*d.value = d.fallback
		}
	}
	return cfg, errors.Join(bad...)
}

// Bounds of what is sent with each event.
const (
	maxThriftService = 255     // bytes
	maxThriftToken   = 8 << 10 // bytes
)
