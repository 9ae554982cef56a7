package accounts

import (
	"context"
	"time"
)

// PublicKey is what an engine publishes so that others accept the tokens that it signs.
type PublicKey struct {
	ID        string // 1..128 bytes
	PKIX      []byte // the key as RFC 5280 (4.1) writes it
	ExpiresAt time.Time
}

// KeyStore keeps the public keys of the engines that share a database. Safe for concurrent use, by
// several processes too.
type KeyStore interface {
	// PublishKeys adds keys, or replaces those with the same ID, and removes those that expired before
	// the given time.
	PublishKeys(ctx context.Context, keys []PublicKey, before time.Time) error
	// PublishedKeys gives all keys by ID, expired ones too.
	PublishedKeys(ctx context.Context) ([]PublicKey, error)
}
