package accounts

import (
	"context"
	"time"
)

// PublicKey is a key that an engine publishes so that other engines accept the tokens it signs.
type PublicKey struct {
	ID        string // 1..128 bytes
	PKIX      []byte // the key as RFC 5280 (4.1) writes it
	ExpiresAt time.Time
}

// KeyStore holds the public keys of the engines that share a database. Safe for concurrent use, by
// several processes too.
type KeyStore interface {
	// PublishKeys adds keys, or replaces those with the same ID, and removes those that expired before
	// the given time.
	PublishKeys(ctx context.Context, keys []PublicKey, before time.Time) error
	// PublishedKeys returns all keys by ID, including expired ones.
	PublishedKeys(ctx context.Context) ([]PublicKey, error)
}
