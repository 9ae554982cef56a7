package license

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/otkit/otkit/fault"
)

// Errors of keys.
var (
	ErrMalformed = fault.New(fault.Invalid, "LICENSE_MALFORMED", "the text is not a license key")
	// ErrSignature means that none of the known vendors has signed the key: it is forged, changed or of another vendor.
	ErrSignature = fault.New(fault.Invalid, "LICENSE_SIGNATURE", "the license key is not signed by a known vendor")
	ErrExpired   = fault.New(fault.Invalid, "LICENSE_EXPIRED", "the license has expired")
	ErrNotYet    = fault.New(fault.Invalid, "LICENSE_NOT_YET_VALID", "the license is not valid yet; check the clock of this machine")
	ErrBridge    = fault.New(fault.Invalid, "LICENSE_OTHER_BRIDGE", "the license is for another bridge")
)

// Limits of a license.
const (
	MaxKeyBytes = 8192 // of a key
	maxFeatures = 100
	maxText     = 256 // bytes of each text
)

// maxSkew is how far in the future a license may have been issued: clocks differ.
const maxSkew = 24 * time.Hour

// License is what a vendor grants.
type License struct {
	Licensee  string    `json:"licensee"`           // required
	Edition   string    `json:"edition"`            // such as professional; required
	BridgeID  string    `json:"bridgeId,omitempty"` // the only bridge it is for; empty for any
	Features  []string  `json:"features,omitempty"`
	IssuedAt  time.Time `json:"issuedAt"`
	ExpiresAt time.Time `json:"expiresAt,omitzero"` // zero for never
}

// Validate returns an ErrMalformed that names what is missing or too long.
func (l License) Validate() error {
	var bad []fault.Field
	add := func(field, message string) { bad = append(bad, fault.Field{Field: field, Message: message}) }
	for _, f := range []struct {
		name, value string
		required    bool
	}{{"licensee", l.Licensee, true}, {"edition", l.Edition, true}, {"bridgeId", l.BridgeID, false}} {
		switch {
		case f.required && f.value == "":
			add(f.name, "is required")
		case len(f.value) > maxText:
			add(f.name, fmt.Sprintf("must not be longer than %d bytes", maxText))
		}
	}
	if len(l.Features) > maxFeatures {
		add("features", fmt.Sprintf("must not have more than %d items", maxFeatures))
	}
	for i, f := range l.Features {
		if f == "" || len(f) > maxText {
			add(fmt.Sprintf("features[%d]", i), fmt.Sprintf("must have 1 to %d bytes", maxText))
			break
		}
	}
	if l.IssuedAt.IsZero() {
		add("issuedAt", "is required")
	}
	if !l.ExpiresAt.IsZero() && !l.ExpiresAt.After(l.IssuedAt) {
		add("expiresAt", "must be after issuedAt")
	}
	if len(bad) > 0 {
		return ErrMalformed.Invalid(bad...)
	}
	return nil
}

// Check returns nil if the license is in force for a bridge at a time, else ErrBridge, ErrNotYet or ErrExpired.
func (l License) Check(bridgeID string, now time.Time) error {
	switch {
	case l.BridgeID != "" && l.BridgeID != bridgeID:
		return ErrBridge.Because("it names %q, and this bridge is %q", l.BridgeID, bridgeID)
	case l.IssuedAt.After(now.Add(maxSkew)):
		return ErrNotYet.Because("it was issued at %s", l.IssuedAt.UTC().Format(time.RFC3339))
	case !l.ExpiresAt.IsZero() && !now.Before(l.ExpiresAt):
		return ErrExpired.Because("on %s", l.ExpiresAt.UTC().Format(time.RFC3339))
	}
	return nil
}

const version = "otkit1"

// text is base64url without padding that has one form only: a changed key is never taken for the same one.
var text = base64.RawURLEncoding.Strict()

// Sign returns the key of a license. It is for vendors; the private key stays with them.
func Sign(key ed25519.PrivateKey, l License) (string, error) {
	if len(key) != ed25519.PrivateKeySize {
		return "", errors.New("license: the private key must be an Ed25519 key")
	}
	l.IssuedAt, l.ExpiresAt = l.IssuedAt.UTC(), l.ExpiresAt.UTC()
	if err := l.Validate(); err != nil {
		return "", err
	}
	payload, err := json.Marshal(l)
	if err != nil {
		return "", err
	}
	signed := version + "." + text.EncodeToString(payload)
	out := signed + "." + text.EncodeToString(ed25519.Sign(key, []byte(signed)))
	if len(out) > MaxKeyBytes {
		return "", ErrMalformed.Because("it would have %d bytes, of at most %d", len(out), MaxKeyBytes)
	}
	return out, nil
}

// Parse returns the license of a key that one of the vendors has signed, in force or not: see [License.Check]. White space around the
// key is ignored. Errors are ErrMalformed and ErrSignature.
func Parse(key string, vendors []ed25519.PublicKey) (License, error) {
	if len(key) > MaxKeyBytes {
		return License{}, ErrMalformed.Because("it is longer than %d bytes", MaxKeyBytes)
	}
	key = strings.TrimSpace(key)
	head, sign, ok := cutLast(key)
	named, body, found := strings.Cut(head, ".")
	switch {
	case !ok || !found:
		return License{}, ErrMalformed.Because("it has not three parts")
	case named != version:
		return License{}, ErrMalformed.Because("its version is not %s", version)
	}
	signature, err := text.DecodeString(sign)
	if err != nil || len(signature) != ed25519.SignatureSize {
		return License{}, ErrMalformed.Because("its signature cannot be read")
	}
	payload, err := text.DecodeString(body)
	if err != nil {
		return License{}, ErrMalformed.Because("its payload cannot be read")
	}
	if !signedBy(vendors, []byte(head), signature) { // before anything in it is believed
		return License{}, ErrSignature
	}
	var l License
	if err := json.Unmarshal(payload, &l); err != nil {
		return License{}, ErrMalformed.Because("its payload is not a license").Wrap(err)
	}
	return l, l.Validate()
}

func cutLast(key string) (before, after string, found bool) {
	if i := strings.LastIndexByte(key, '.'); i >= 0 {
		return key[:i], key[i+1:], true
	}
	return key, "", false
}

func signedBy(vendors []ed25519.PublicKey, message, signature []byte) bool {
	for _, v := range vendors {
		if len(v) == ed25519.PublicKeySize && ed25519.Verify(v, message, signature) {
			return true
		}
	}
	return false
}

// ParsePublicKey reads a public key of a vendor: 32 bytes as base64.
func ParsePublicKey(s string) (ed25519.PublicKey, error) {
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(s))
	if err != nil || len(raw) != ed25519.PublicKeySize {
		return nil, errors.New("must be an Ed25519 public key: 32 bytes as base64")
	}
	return raw, nil
}
