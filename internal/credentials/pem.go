package credentials

import (
	"bytes"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// maxFile bounds what is read of a file, in bytes.
const maxFile = 4 << 20

// File is a file that a setting names.
type File struct {
	Setting string // such as --admin-ca or admin.tls.cert
	Path    string
}

// Error is what is wrong with a file.
type Error struct {
	File File
	err  error
}

func (e *Error) Error() string { return fmt.Sprintf("read %s: %v", e.File.Setting, e.err) }
func (e *Error) Unwrap() error { return e.err }

// wrong says what is wrong with what the file holds.
func (f File) wrong(text string, args ...any) error {
	return &Error{f, fmt.Errorf("%s: %w", f.Path, fmt.Errorf(text, args...))}
}

func (f File) read() ([]byte, error) {
	file, err := os.Open(f.Path)
	if err != nil {
		return nil, &Error{f, err}
	}
	defer file.Close() // only read from
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	switch {
	case err != nil:
		return nil, &Error{f, err}
	case len(text) > maxFile:
		return nil, f.wrong("it is larger than %d bytes", maxFile)
	}
	return text, nil
}

// Pair reads a certificate and its private key.
func Pair(cert, key File) (tls.Certificate, error) {
	certText, certErr := cert.blocks(isCertificate, "certificate")
	keyText, keyErr := key.blocks(isKey, "private key")
	if err := errors.Join(certErr, keyErr); err != nil {
		return tls.Certificate{}, err
	}
	certificates, err := cert.certificates(certText)
	if err != nil {
		return tls.Certificate{}, err
	}
	if private, err := keyOf(keyText); err == nil && !belongs(private, certificates[0]) {
		return tls.Certificate{}, key.wrong("the key does not belong to the certificate of %s, %s", cert.Setting, cert.Path)
	}
	pair, err := tls.X509KeyPair(certText, keyText)
	if err != nil {
		return tls.Certificate{}, key.wrong("its private key cannot be used: %w", err)
	}
	return pair, nil
}

// belongs tells that a key is that of a certificate. What package crypto/tls says of one
// that is not has no type.
func belongs(private crypto.Signer, c *x509.Certificate) bool {
	public, ok := c.PublicKey.(interface{ Equal(crypto.PublicKey) bool })
	return ok && public.Equal(private.Public())
}

// keyOf reads the first private key of PEM blocks that are such.
func keyOf(text []byte) (crypto.Signer, error) {
	b, _ := pem.Decode(text)
	if private, err := x509.ParsePKCS1PrivateKey(b.Bytes); err == nil {
		return private, nil
	}
	if private, err := x509.ParseECPrivateKey(b.Bytes); err == nil {
		return private, nil
	}
	private, err := x509.ParsePKCS8PrivateKey(b.Bytes)
	if err != nil {
		return nil, err
	}
	signer, ok := private.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("a %T cannot sign", private)
	}
	return signer, nil
}

// Authorities reads certificates of authorities.
func Authorities(f File) (*x509.CertPool, error) {
	text, err := f.blocks(isCertificate, "certificate")
	if err != nil {
		return nil, err
	}
	all, err := f.certificates(text)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	for _, c := range all {
		pool.AddCert(c)
	}
	return pool, nil
}

func isCertificate(b *pem.Block) bool { return b.Type == "CERTIFICATE" }

func isKey(b *pem.Block) bool { return strings.HasSuffix(b.Type, "PRIVATE KEY") }

// blocks reads a file and returns those of its PEM blocks that are wanted: one at
// least.
func (f File) blocks(wanted func(b *pem.Block) bool, what string) ([]byte, error) {
	text, err := f.read()
	if err != nil {
		return nil, err
	}
	var found bytes.Buffer
	var others []string
	for rest := text; ; {
		var b *pem.Block
		if b, rest = pem.Decode(rest); b == nil {
			break
		}
		switch {
		case !wanted(b):
			others = append(others, b.Type)
		case encrypted(b):
			return nil, f.wrong("its %s is encrypted; one without a passphrase is right, in a file that nobody else can read", what)
		default:
			if err := pem.Encode(&found, b); err != nil {
				return nil, f.wrong("%w", err)
			}
		}
	}
	switch {
	case found.Len() > 0:
		return found.Bytes(), nil
	case len(bytes.TrimSpace(text)) == 0:
		return nil, f.wrong("it is empty; a %s in PEM is right", what)
	case len(others) > 0:
		return nil, f.wrong("it holds no %s but PEM of another kind (%s)", what, strings.Join(others[:min(len(others), 3)], ", "))
	case isDER(text):
		return nil, f.wrong("it holds no %s in PEM but one in DER; openssl turns it into PEM", what)
	}
	return nil, f.wrong(`it holds no %s in PEM, which begins with "-----BEGIN"`, what)
}

func encrypted(b *pem.Block) bool {
	return b.Type == "ENCRYPTED PRIVATE KEY" || strings.Contains(b.Headers["Proc-Type"], "ENCRYPTED")
}

func isDER(text []byte) bool {
	_, cert := x509.ParseCertificate(text)
	_, pkcs8 := x509.ParsePKCS8PrivateKey(text)
	_, ec := x509.ParseECPrivateKey(text)
	_, rsa := x509.ParsePKCS1PrivateKey(text)
	return cert == nil || pkcs8 == nil || ec == nil || rsa == nil
}

// certificates reads the certificates of PEM blocks that are such.
func (f File) certificates(text []byte) (all []*x509.Certificate, err error) {
	for {
		var b *pem.Block
		if b, text = pem.Decode(text); b == nil {
			return all, nil
		}
		c, err := x509.ParseCertificate(b.Bytes)
		if err != nil {
			return nil, f.wrong("certificate %d of it is broken: %w", len(all)+1, err)
		}
		all = append(all, c)
	}
}
