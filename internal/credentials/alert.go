package credentials

import (
	"crypto/tls"
	"errors"
	"net"
	"reflect"
)

// The alerts of TLS by which one side refuses the other's certificate, or the lack of
// one (RFC 8446, 6.2).
const (
	badCertificate         tls.AlertError = 42
	unsupportedCertificate tls.AlertError = 43
	certificateRevoked     tls.AlertError = 44
	certificateExpired     tls.AlertError = 45
	certificateUnknown     tls.AlertError = 46
	unknownAuthority       tls.AlertError = 48
	certificateRequired    tls.AlertError = 116
)

// Refused tells that err is a word of the other side of a TLS connection, which refuses
// the certificate that it was shown, or demands one where it was shown none.
func Refused(err error) bool {
	switch alert, _ := alertOf(err); alert {
	case badCertificate, unsupportedCertificate, certificateRevoked, certificateExpired, certificateUnknown, unknownAuthority, certificateRequired:
		return true
	}
	return false
}

// alertOf returns the alert that the other side has sent. Package crypto/tls has a type
// for it that it does not export, and tls.AlertError for QUIC alone.
func alertOf(err error) (alert tls.AlertError, ok bool) {
	var remote *net.OpError
	if !errors.As(err, &remote) || remote.Op != "remote error" || remote.Err == nil {
		return 0, false
	}
	number := reflect.ValueOf(remote.Err)
	if number.Kind() != reflect.Uint8 {
		return 0, false
	}
	return tls.AlertError(number.Uint()), true
}
