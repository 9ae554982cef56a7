package accounts

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
)

// secretKind is what the secret of a session is for. A secret of one kind is worth nothing as another.
type secretKind string

const (
	refreshSecret secretKind = ""
	browserSecret secretKind = "browser session "
)

// hash returns what the store has of a secret.
func (k secretKind) hash(secret string) []byte {
	sum := sha256.Sum256([]byte(string(k) + secret))
	return sum[:]
}

// newSecret returns the secret of a session and its hash.
func (s *Service) newSecret(kind secretKind, id string) (secret string, hash []byte, err error) {
	var random [32]byte
	if _, err := io.ReadFull(s.opts.Rand, random[:]); err != nil {
		return "", nil, fmt.Errorf("accounts: random source: %w", err)
	}
	if !validSessionID(id) {
		return "", nil, errors.New("accounts: Options.NewID must return 1 to 64 of letters, digits, _@-")
	}
	secret = id + "." + base64.RawURLEncoding.EncodeToString(random[:])
	return secret, kind.hash(secret), nil
}

// sessionOf returns the session that a secret claims to be of.
func sessionOf(secret string) (id string, ok bool) {
	id, _, ok = strings.Cut(secret, ".")
	return id, ok && validSessionID(id) && len(secret) <= 256
}
