package credentials_test

import (
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/internal/certtest"
	"github.com/seed4933/eventbus/internal/credentials"
)

// files are certificates and keys, and what people take for such.
type files struct {
	dir, cert, key, otherKey, both, empty, text, broken, encrypted, sealed, der, derKey, none, huge string
}

func newFiles(t *testing.T) (f files) {
	t.Helper()
	f.dir = t.TempDir()
	f.cert, f.key = certtest.New(t).Files()
	_, f.otherKey = certtest.New(t).Files()
	cert, err := os.ReadFile(f.cert)
	require.NoError(t, err)
	key, err := os.ReadFile(f.key)
	require.NoError(t, err)
	write := func(name string, text []byte) string {
		path := filepath.Join(f.dir, name)
		require.NoError(t, os.WriteFile(path, text, 0o600))
		return path
	}
	block := func(b *pem.Block) []byte { return pem.EncodeToMemory(b) }
	f.none = filepath.Join(f.dir, "none")
	f.both = write("both", append(key, cert...))
	f.empty, f.text, f.huge = write("empty", []byte(" \n")), write("text", []byte("hello\n")), write("huge", make([]byte, 5<<20))
	f.broken = write("broken", append(cert, block(&pem.Block{Type: "CERTIFICATE", Bytes: []byte{1}})...))
	f.encrypted = write("encrypted", block(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte{1}}))
	f.sealed = write("sealed", block(&pem.Block{Type: "EC PRIVATE KEY", Headers: map[string]string{"Proc-Type": "4,ENCRYPTED", "DEK-Info": "AES-128-CBC,00"}, Bytes: []byte{1}}))
	first, _ := pem.Decode(cert)
	f.der = write("der", first.Bytes)
	first, _ = pem.Decode(key)
	f.derKey = write("der key", first.Bytes)
	return f
}

func TestPair(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	for _, right := range [][2]string{{f.cert, f.key}, {f.both, f.both}} {
		pair, err := credentials.Pair(credentials.File{Setting: "--cert", Path: right[0]}, credentials.File{Setting: "--key", Path: right[1]})
		require.NoError(t, err)
		require.NotNil(t, pair.PrivateKey)
	}
	for _, c := range []struct{ cert, key, says string }{
		{f.none, f.key, "read --cert: open " + f.none + ": no such file or directory"},
		{f.dir, f.key, "read --cert: read " + f.dir + ": is a directory"},
		{f.cert, f.none, "read --key: open " + f.none + ": no such file or directory"},
		{f.none, f.none, "read --cert: open " + f.none + ": no such file or directory\nread --key: open " + f.none + ": no such file or directory"},
		{f.empty, f.key, "read --cert: " + f.empty + ": it is empty; a certificate in PEM is right"},
		{f.cert, f.empty, "read --key: " + f.empty + ": it is empty; a private key in PEM is right"},
		{f.text, f.key, "read --cert: " + f.text + `: it holds no certificate in PEM, which begins with "-----BEGIN"`},
		{f.huge, f.key, "read --cert: " + f.huge + ": it is larger than 4194304 bytes"},
		{f.key, f.cert, "read --cert: " + f.key + ": it holds no certificate but PEM of another kind (PRIVATE KEY)\n" +
			"read --key: " + f.cert + ": it holds no private key but PEM of another kind (CERTIFICATE)"},
		{f.der, f.derKey, "read --cert: " + f.der + ": it holds no certificate in PEM but one in DER; openssl turns it into PEM\n" +
			"read --key: " + f.derKey + ": it holds no private key in PEM but one in DER; openssl turns it into PEM"},
		{f.cert, f.encrypted, "read --key: " + f.encrypted + ": its private key is encrypted; one without a passphrase is right, in a file that nobody else can read"},
		{f.cert, f.sealed, "read --key: " + f.sealed + ": its private key is encrypted; one without a passphrase is right, in a file that nobody else can read"},
		{f.cert, f.otherKey, "read --key: " + f.otherKey + ": the key does not belong to the certificate of --cert, " + f.cert},
	} {
		_, err := credentials.Pair(credentials.File{Setting: "--cert", Path: c.cert}, credentials.File{Setting: "--key", Path: c.key})
		require.EqualError(t, err, c.says)
		var wrong *credentials.Error
		require.ErrorAs(t, err, &wrong)
	}
	_, err := credentials.Pair(credentials.File{Setting: "--cert", Path: f.broken}, credentials.File{Setting: "--key", Path: f.key})
	require.ErrorContains(t, err, "read --cert: "+f.broken+": certificate 2 of it is broken: x509: ")
	brokenKey := filepath.Join(f.dir, "broken key")
	require.NoError(t, os.WriteFile(brokenKey, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte{1}}), 0o600))
	_, err = credentials.Pair(credentials.File{Setting: "--cert", Path: f.cert}, credentials.File{Setting: "--key", Path: brokenKey})
	require.ErrorContains(t, err, "read --key: "+brokenKey+": its private key cannot be used: ")
}

// Whose key it is is told of every kind that there is, however its file writes it.
func TestPair_KindsOfKeys(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	ecDER, err := x509.MarshalECPrivateKey(ec)
	require.NoError(t, err)
	strong, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	edwardsDER, err := x509.MarshalPKCS8PrivateKey(edwards)
	require.NoError(t, err)
	exchange, err := ecdh.X25519().GenerateKey(rand.Reader)
	require.NoError(t, err)
	exchangeDER, err := x509.MarshalPKCS8PrivateKey(exchange)
	require.NoError(t, err)
	path := filepath.Join(f.dir, "other kind")
	for _, c := range []struct {
		block pem.Block
		says  string
	}{
		{pem.Block{Type: "EC PRIVATE KEY", Bytes: ecDER}, "the key does not belong to the certificate of --cert, " + f.cert},
		{pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(strong)}, "the key does not belong to the certificate of --cert, " + f.cert},
		{pem.Block{Type: "PRIVATE KEY", Bytes: edwardsDER}, "the key does not belong to the certificate of --cert, " + f.cert},
		{pem.Block{Type: "PRIVATE KEY", Bytes: exchangeDER}, "its private key cannot be used: "},
	} {
		require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&c.block), 0o600))
		_, err := credentials.Pair(credentials.File{Setting: "--cert", Path: f.cert}, credentials.File{Setting: "--key", Path: path})
		require.ErrorContains(t, err, "read --key: "+path+": "+c.says)
	}
}

func TestAuthorities(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	for _, right := range []string{f.cert, f.both} {
		pool, err := credentials.Authorities(credentials.File{Setting: "--ca", Path: right})
		require.NoError(t, err)
		require.False(t, pool.Equal(x509.NewCertPool()))
	}
	for path, says := range map[string]string{
		f.none:  "open " + f.none + ": no such file or directory",
		f.empty: f.empty + ": it is empty; a certificate in PEM is right",
		f.key:   f.key + ": it holds no certificate but PEM of another kind (PRIVATE KEY)",
		f.der:   f.der + ": it holds no certificate in PEM but one in DER; openssl turns it into PEM",
	} {
		_, err := credentials.Authorities(credentials.File{Setting: "--ca", Path: path})
		require.EqualError(t, err, "read --ca: "+says)
	}
	// One that is left out without a word would be missed at night.
	_, err := credentials.Authorities(credentials.File{Setting: "--ca", Path: f.broken})
	require.ErrorContains(t, err, "read --ca: "+f.broken+": certificate 2 of it is broken: x509: ")
}
