package cli

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/seed4933/eventbus/admin"
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
			return nil, wrongUsage("--%s does not go with %s: the server of the admin service has its own", name, origin)
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
	c.TLS, err = a.flags.admin.tlsConfig(a.flags.set)
	return c, err
}

func (a *app) adminToken() (string, error) {
	if !a.flags.set.Changed("admin-token-file") {
		return a.env.Getenv(tokenVariable), nil
	}
	text, err := os.ReadFile(a.flags.admin.tokenFile)
	if err != nil {
		return "", fmt.Errorf("read --admin-token-file: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" {
		return "", fmt.Errorf("read --admin-token-file: %q is empty; it should hold the token", a.flags.admin.tokenFile)
	}
	return token, nil
}

// tlsConfig is nil for plain text.
func (f *adminFlags) tlsConfig(set *pflag.FlagSet) (*tls.Config, error) {
	switch {
	case (f.cert == "") != (f.key == ""):
		return nil, wrongUsage("--admin-cert and --admin-key go together; one is missing")
	case set.Changed("admin-tls") && !f.tls && (f.ca != "" || f.cert != ""):
		return nil, wrongUsage("--admin-tls=false does not go with --admin-ca and --admin-cert, which are for TLS")
	case !f.tls && f.ca == "" && f.cert == "":
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.ca != "" {
		text, err := os.ReadFile(f.ca)
		if err != nil {
			return nil, fmt.Errorf("read --admin-ca: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("read --admin-ca: %s has no certificate in PEM", f.ca)
		}
	}
	if f.cert != "" {
		pair, err := tls.LoadX509KeyPair(f.cert, f.key)
		if err != nil {
			return nil, fmt.Errorf("read --admin-cert and --admin-key: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
