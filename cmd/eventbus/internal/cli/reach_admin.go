package cli

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/seed4933/eventbus/admin"
	"github.com/seed4933/eventbus/internal/credentials"
)

// Environment variables: where the admin service is, and how it is reached.
const (
	envAdmin     = "EVENTBUS_ADMIN"
	envAdminTLS  = "EVENTBUS_ADMIN_TLS"
	envAdminCA   = "EVENTBUS_ADMIN_CA"
	envAdminCert = "EVENTBUS_ADMIN_CERT"
	envAdminKey  = "EVENTBUS_ADMIN_KEY"
)

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
	set.BoolVar(&f.tls, "admin-tls", false, "reach the admin service by TLS, and believe the system's authorities\n("+envAdminTLS+", true or false)")
	set.StringVar(&f.ca, "admin-ca", "", "reach it by TLS, and believe the authorities in this PEM file ("+envAdminCA+")")
	set.StringVar(&f.cert, "admin-cert", "", "reach it by TLS, and show this certificate, a PEM file\n("+envAdminCert+"); goes with --admin-key")
	set.StringVar(&f.key, "admin-key", "", "the private key of --admin-cert, a PEM file ("+envAdminKey+")")
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
	return credentials.TokenFile(credentials.File{Setting: "--admin-token-file", Path: a.flags.admin.tokenFile})
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

// adminFiles are the files that TLS is spoken with, each with what names it; those that
// nothing names have no path.
func (a *app) adminFiles() (ca, cert, key credentials.File) {
	f := &a.flags.admin
	pick := func(name, flag, env string) credentials.File {
		path, origin, _ := a.pick(name, flag, env, "") // an empty flag is told of already
		return credentials.File{Setting: origin, Path: path}
	}
	return pick("admin-ca", f.ca, envAdminCA), pick("admin-cert", f.cert, envAdminCert), pick("admin-key", f.key, envAdminKey)
}

// wantsTLS tells whether TLS is asked for by name, and what says so, or says that it is
// not wanted; "" where nothing does.
func (a *app) wantsTLS() (wanted bool, origin string, err error) {
	if a.flags.set.Changed("admin-tls") {
		return a.flags.admin.tls, fmt.Sprintf("--admin-tls=%t", a.flags.admin.tls), nil
	}
	text := a.env.Getenv(envAdminTLS)
	if text == "" {
		return false, "", nil
	}
	if wanted, err = strconv.ParseBool(text); err != nil {
		return false, "", wrongUsage("%s is %q; true or false is right", envAdminTLS, text)
	}
	return wanted, envAdminTLS + "=" + text, nil
}

// adminTLS is nil for plain text. What a flag says of TLS goes before what the
// environment does.
func (a *app) adminTLS() (*tls.Config, error) {
	wanted, origin, err := a.wantsTLS()
	if err != nil {
		return nil, err
	}
	ca, cert, key := a.adminFiles()
	if origin != "" && !wanted {
		byFlag := a.flags.set.Changed("admin-tls")
		for _, f := range []credentials.File{ca, cert, key} {
			if f.Path != "" && byFlag == strings.HasPrefix(f.Setting, "--") {
				return nil, wrongUsage("%s does not go with %s, which is for TLS", origin, f.Setting)
			}
		}
		if byFlag {
			return nil, nil
		}
	}
	switch {
	case cert.Path != "" && key.Path == "":
		return nil, wrongUsage("%s goes with --admin-key or %s, which is missing", cert.Setting, envAdminKey)
	case cert.Path == "" && key.Path != "":
		return nil, wrongUsage("%s goes with --admin-cert or %s, which is missing", key.Setting, envAdminCert)
	case !wanted && ca.Path == "" && cert.Path == "":
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	var caErr, pairErr error
	if ca.Path != "" {
		c.RootCAs, caErr = credentials.Authorities(ca)
	}
	if cert.Path != "" {
		var pair tls.Certificate
		pair, pairErr = credentials.Pair(cert, key)
		c.Certificates = []tls.Certificate{pair}
	}
	if err := errors.Join(caErr, pairErr); err != nil {
		return nil, err
	}
	return c, nil
}
