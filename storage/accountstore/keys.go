package accountstore

import (
	"context"
	"time"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/storage"
)

// PublishKeys implements accounts.KeyStore.
func (s *Store) PublishKeys(ctx context.Context, keys []accounts.PublicKey, before time.Time) error {
	keys = storage.Distinct(keys, func(k accounts.PublicKey) string { return k.ID })
	rows := make([][]any, len(keys))
	for i, k := range keys {
		rows[i] = []any{k.ID, k.PKIX, k.ExpiresAt.UnixMicro()}
	}
	return s.set.UpdateVital(ctx, "keys.publish", func(ctx context.Context, tx *storage.Tx) error {
		if err := tx.Lock(ctx, "engine_keys"); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "DELETE FROM engine_keys WHERE expires_us < ?", before.UnixMicro()); err != nil {
			return err
		}
		return tx.Insert(ctx, "INSERT INTO engine_keys (id, public_key, expires_us) VALUES", rows,
			"ON CONFLICT (id) DO UPDATE SET public_key = excluded.public_key, expires_us = excluded.expires_us")
	})
}

// PublishedKeys implements accounts.KeyStore.
func (s *Store) PublishedKeys(ctx context.Context) ([]accounts.PublicKey, error) {
	var all []accounts.PublicKey
	err := s.set.View(ctx, "keys.published", func(ctx context.Context, tx *storage.Tx) error {
		all = nil
		return tx.Each(ctx, "SELECT id, public_key, expires_us FROM engine_keys ORDER BY id", nil, func(row storage.Scanner) error {
			var k accounts.PublicKey
			err := row.Scan(&k.ID, &k.PKIX, (*storage.Timestamp)(&k.ExpiresAt))
			all = append(all, k)
			return err
		})
	})
	return all, err
}
