package bridgelink

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"slices"
	"strings"

	"github.com/otkit/otkit/fault"
)

// ErrPin means that the engine's certificate has none of the pinned keys: it has a new key, or somebody else answers.
var ErrPin = fault.New(fault.BadGateway, "ENGINE_KEY_UNKNOWN", "the engine's certificate does not have a key that was pinned when the bridge was bound")

const pinPrefix = "sha256/"

// Pin returns the pin of a certificate's key: "sha256/" and the base64 of the SHA-256 of its SubjectPublicKeyInfo. It stays the same when the
// certificate is renewed with the same key.
func Pin(c *x509.Certificate) string {
	sum := sha256.Sum256(c.RawSubjectPublicKeyInfo)
	return pinPrefix + base64.StdEncoding.EncodeToString(sum[:])
}

// validPin reports whether a text has the form of a pin.
func validPin(pin string) bool {
	text, ok := strings.CutPrefix(pin, pinPrefix)
	sum, err := base64.StdEncoding.DecodeString(text)
	return ok && err == nil && len(sum) == sha256.Size
}

// pinned returns a configuration that accepts the pinned keys and no others. The handshake proves that the peer has the key of its certificate.
func pinned(pins []string) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection checks the key instead of the chain and the name
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 0 {
				return errors.New("the engine has no certificate")
			}
			if !slices.Contains(pins, Pin(s.PeerCertificates[0])) {
				return ErrPin
			}
			return nil
		},
	}
}
