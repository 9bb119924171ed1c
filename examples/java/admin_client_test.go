//go:build java

package java_test

import (
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

const token = "s3cret"

// keys are a server's certificate with its key, for localhost and 127.0.0.1, and
// what makes Java trust it.
type keys struct{ cert, key, store string }

func (k keys) trust() []string {
	return []string{"-Djavax.net.ssl.trustStore=" + k.store, "-Djavax.net.ssl.trustStorePassword=changeit"}
}

// makeKeys makes a certificate for a name, by Java's own keytool and openssl.
func makeKeys(t *testing.T, name string) keys {
	t.Helper()
	dir := t.TempDir()
	k := keys{cert: filepath.Join(dir, "cert.pem"), key: filepath.Join(dir, "key.pem"), store: filepath.Join(dir, "trust.p12")}
	for _, args := range [][]string{
		{"openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=bus", "-addext", "subjectAltName=" + name, "-keyout", k.key, "-out", k.cert},
		{"keytool", "-importcert", "-noprompt", "-alias", "bus", "-file", k.cert, "-keystore", k.store, "-storepass", "changeit"},
	} {
		out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	return k
}

// adminSettings are those of a server for the tour; admin is its section.
func adminSettings(t *testing.T, admin string) string {
	return fmt.Sprintf(`
admin: {%s}
topics:
  - name: invoices
    handlers:
      - {id: bill, type: webhook, url: %q, retry: {max_attempts: 7}, timeout: 9s}
`, admin, refuseOnce(t))
}

// The tour goes as it should over each transport, and Redis holds what it says.
func TestAdminClient(t *testing.T) {
	t.Parallel()
	k := makeKeys(t, "DNS:localhost,IP:127.0.0.1")
	withTLS := fmt.Sprintf("tls: {cert: %q, key: %q}", k.cert, k.key)
	for name, test := range map[string]struct {
		admin         string
		jars          []string
		options, java []string
	}{
		"FramedBinary":    {},
		"NewestLibrary":   {jars: newestLibrary},
		"UnframedBinary":  {options: []string{"--unframed"}},
		"FramedCompact":   {options: []string{"--compact"}},
		"UnframedCompact": {options: []string{"--unframed", "--compact"}},
		"HTTP":            {admin: "token: " + token, options: []string{"--token", token}},
		"TLS":             {admin: withTLS, options: []string{"--tls"}, java: k.trust()},
		"NewestHTTP":      {jars: newestLibrary, admin: "token: " + token, options: []string{"--token", token}},
		"HTTPS":           {admin: "token: " + token + ", " + withTLS, options: []string{"--tls", "--token", token, "--compact"}, java: k.trust()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, adminSettings(t, test.admin))
			java := startJavaWith(t, test.jars, test.java, "AdminClient", append([]string{s.address}, test.options...)...)
			require.Zero(t, java.wait())
			checkTour(t, java.said())
			s.checkAfterTour()
			s.process.stop(0)
		})
	}
}

// checkTour fails unless the tour said all that it should, in its order.
func checkTour(t *testing.T, said string) {
	t.Helper()
	var want strings.Builder
	line := func(pattern string) { want.WriteString(pattern + "\n") }
	line(`created receipts: AT_LEAST_ONCE, CLOUDEVENTS, at most 1000 waiting`)
	line(`AlreadyExists topic_exists: .*receipts.*`)
	line(`changed receipts: at most 100 waiting`)
	line(`Conflict conflict: .*`)
	line(`sent r-1 now, r-2 delayed, \[r-3, r-4\] in one step`)
	line(`stats of receipts, group default: 3 waiting, 1 delayed, 4 sent, 0 replayed`)
	line(`Disabled topic_disabled: .*receipts.*`)
	line(`sent r-5 after the topic was enabled`)
	line(`delayed: r-2, due at \d{13}`)
	line(`cancelled r-2 in \[default\]`)
	line(`NotFound not_delayed: .*r-2.*`)
	line(`NotFound topic_not_found: .*reciepts.*`)
	line(`InvalidArgument invalid_argument in \S+: .+`)
	line(`handler bill now has 2000 ms and 1 attempt, at revision \d+`)
	for i := 1; i <= 5; i++ {
		if i%2 == 1 {
			line(fmt.Sprintf(`a page of %d failures`, min(2, 6-i)))
		}
		line(`failure of i-\d: rejected after 1 attempts: .*422.*: \{"invoice":\d\}`)
	}
	line(`REPLAY of invoices is DONE: 5 of 5 moved`)
	line(`cancelled too late: DONE`)
	line(`stats of invoices, group default: \d+ waiting, 0 delayed, 5 sent, 5 replayed`)
	line(`deleted receipts`)
	require.Regexp(t, `^`+want.String()+`$`, said+"\n")
}

// checkAfterTour looks for what the tour has left behind.
func (s *server) checkAfterTour() {
	s.t.Helper()
	_, err := s.bus.Topics().Get(s.t.Context(), "receipts")
	require.ErrorIs(s.t, err, eventbus.ErrTopicNotFound)
	left, err := s.rdb.Keys(s.t.Context(), "*receipts*").Result()
	require.NoError(s.t, err)
	require.Empty(s.t, left)

	require.Eventually(s.t, func() bool { return s.stats("invoices").Done == 5 }, patience, 20*time.Millisecond,
		"what was replayed is handled")
	stats := s.stats("invoices")
	require.Equal(s.t, []int64{5, 5, 5, 0, 0, 0}, []int64{stats.Sent, stats.Died, stats.Replayed, stats.Dead, stats.Retrying, stats.Waiting})
	handler, err := s.bus.Handlers().Get(s.t.Context(), "invoices", "bill")
	require.NoError(s.t, err)
	require.Equal(s.t, eventbus.HandlerUpdate{}, handler.Changed, "the tour has reset it")
}

// The lines that the README of the project shows do what it says of them.
func TestFirstCalls(t *testing.T) {
	t.Parallel()
	s := serve(t, "topics: [{name: orders}]")
	host, port, err := net.SplitHostPort(s.address)
	require.NoError(t, err)
	java := startJava(t, nil, "FirstCalls", host, port)
	require.Zero(t, java.wait())
	require.Equal(t, "REPLAY DONE", java.said())
	require.EqualValues(t, 1, s.stats("orders").Sent)
	topic, err := s.bus.Topics().Get(t.Context(), "orders")
	require.NoError(t, err)
	require.True(t, topic.Disabled)
	s.process.stop(0)
}

// What keeps a client from being served it says, and does nothing.
func TestAdminClientSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	right, foreign := makeKeys(t, "DNS:localhost,IP:127.0.0.1"), makeKeys(t, "DNS:elsewhere.example")
	secured := func(k keys) string { return fmt.Sprintf("tls: {cert: %q, key: %q}", k.cert, k.key) }
	for name, test := range map[string]struct {
		admin         string
		options, java []string
		code          int
		says          string
	}{
		"Option":        {options: []string{"--fast"}, code: 2, says: `^AdminClient: there is no option --fast$`},
		"WrongToken":    {admin: "token: " + token, options: []string{"--token", "wrong"}, code: 1, says: `^AdminClient: the server refuses the token: .+`},
		"NoToken":       {admin: "token: " + token, code: 1, says: `^AdminClient: the server refuses the token: .+`},
		"UnknownIssuer": {admin: secured(right), options: []string{"--tls"}, java: foreign.trust(), code: 1, says: `PKIX path`},
		"ForeignName":   {admin: secured(foreign), options: []string{"--tls"}, java: foreign.trust(), code: 1, says: `(?i)No subject alternative names`},
		"PlainToTLS":    {admin: secured(right), code: 1, says: `^AdminClient: org.apache.thrift`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, adminSettings(t, test.admin))
			java := startJava(t, test.java, "AdminClient", append([]string{s.address}, test.options...)...)
			require.Equal(t, test.code, java.wait())
			require.Regexp(t, `(?m)`+test.says, java.said())
			_, err := s.bus.Topics().Get(t.Context(), "receipts")
			require.ErrorIs(t, err, eventbus.ErrTopicNotFound)
			s.process.stop(0)
		})
	}
}
