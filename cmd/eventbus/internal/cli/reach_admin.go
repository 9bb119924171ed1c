package cli

import (
	"crypto/tls"
	"errors"
	"net"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/seed4933/eventbus/admin"
	"github.com/seed4933/eventbus/internal/credentials"
)

// envAdmin says where the admin service is.
const envAdmin = "EVENTBUS_ADMIN"

// adminFlags say through which server's admin port a command works. A token is no
// flag: it would stand in the list of processes.
type adminFlags struct {
	address, tokenFile, ca, cert, key string
	tls                               bool
}

func (f *adminFlags) register(set *pflag.FlagSet) {
	set.StringVar(&f.address, "admin", "", "HOST:PORT of a server's admin service ("+envAdmin+"), in place of Redis;\n"+
		"its token, where it asks for one, is in "+tokenVariable)
	set.StringVar(&f.tokenFile, "admin-token-file", "", "file that holds the token of the admin service")
	set.BoolVar(&f.tls, "admin-tls", false, "reach the admin service by TLS, and believe the system's authorities")
	set.StringVar(&f.ca, "admin-ca", "", "reach it by TLS, and believe the authorities in this PEM file")
	set.StringVar(&f.cert, "admin-cert", "", "reach it by TLS, and show this certificate, a PEM file; goes with --admin-key")
	set.StringVar(&f.key, "admin-key", "", "the private key of --admin-cert, a PEM file")
}

// detailFlags are those that go with --admin.
var detailFlags = []string{"admin-token-file", "admin-tls", "admin-ca", "admin-cert", "admin-key"}

// adminGiven returns the first flag of the admin service that was given.
func (a *app) adminGiven() string {
	for _, name := range append([]string{"admin"}, detailFlags...) {
		if a.flags.set.Changed(name) {
			return "--" + name
		}
	}
	return ""
}

// refuseAdmin is for commands that work on Redis itself alone.
func (a *app) refuseAdmin(why string) error {
	if given := a.adminGiven(); given != "" {
		return wrongUsage("%s does not go with this command, which %s; --redis says where that is", given, why)
	}
	return nil
}

// chooseAdmin returns how the admin service is reached; nil where Redis itself is:
// nothing names an admin service, or the environment does and --redis goes before it.
func (a *app) chooseAdmin() (*admin.ClientConfig, error) {
	address, origin, err := a.pick("admin", a.flags.admin.address, envAdmin, "")
	if err != nil {
		return nil, err
	}
	redis := a.flags.set.Changed("redis")
	if address == "" || redis && origin == envAdmin {
		if given := a.adminGiven(); given != "" {
			return nil, wrongUsage("%s goes with --admin HOST:PORT, or %s", given, envAdmin)
		}
		return nil, nil
	}
	for _, name := range []string{"redis", "namespace"} {
		if a.flags.set.Changed(name) {
			return nil, wrongUsage("--%s does not go with %s: the server of the admin service has its own; leave one of them out", name, origin)
		}
	}
	host, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil || host == "" {
		return nil, wrongUsage("%s is %q; HOST:PORT such as 127.0.0.1:9090 is right", origin, address)
	}
	for _, name := range []string{"admin-token-file", "admin-ca", "admin-cert", "admin-key"} {
		if f := a.flags.set.Lookup(name); f.Changed && f.Value.String() == "" {
			return nil, wrongUsage("--%s is empty; give a path or leave it out", name)
		}
	}
	c := &admin.ClientConfig{Address: address}
	if c.Token, err = a.adminToken(); err != nil {
		return nil, err
	}
	c.TLS, err = a.adminTLS()
	return c, err
}

func (a *app) adminToken() (string, error) {
	if !a.flags.set.Changed("admin-token-file") {
		return a.tokenOfEnvironment()
	}
	return credentials.TokenFile(a.adminFile("admin-token-file", a.flags.admin.tokenFile))
}

// tokenOfEnvironment is the token in the variable; "" where there is none.
func (a *app) tokenOfEnvironment() (string, error) {
	text := a.env.Getenv(tokenVariable)
	if text == "" {
		return "", nil
	}
	token, err := credentials.Token(tokenVariable, text)
	if err != nil {
		return "", wrongUsage("%w", err)
	}
	return token, nil
}

func (a *app) adminFile(flag, path string) credentials.File {
	return credentials.File{Setting: "--" + flag, Path: path}
}

// adminTLS is nil for plain text.
func (a *app) adminTLS() (*tls.Config, error) {
	f := &a.flags.admin
	switch {
	case f.cert != "" && f.key == "":
		return nil, wrongUsage("--admin-cert goes with --admin-key, which is missing")
	case f.cert == "" && f.key != "":
		return nil, wrongUsage("--admin-key goes with --admin-cert, which is missing")
	case a.flags.set.Changed("admin-tls") && !f.tls && (f.ca != "" || f.cert != ""):
		return nil, wrongUsage("--admin-tls=false does not go with --admin-ca and --admin-cert, which are for TLS")
	case !f.tls && f.ca == "" && f.cert == "":
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	var caErr, pairErr error
	if f.ca != "" {
		c.RootCAs, caErr = credentials.Authorities(a.adminFile("admin-ca", f.ca))
	}
	if f.cert != "" {
		var pair tls.Certificate
		pair, pairErr = credentials.Pair(a.adminFile("admin-cert", f.cert), a.adminFile("admin-key", f.key))
		c.Certificates = []tls.Certificate{pair}
	}
	if err := errors.Join(caErr, pairErr); err != nil {
		return nil, err
	}
	return c, nil
}
