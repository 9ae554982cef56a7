package accountstore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/internal/storetest"
	"github.com/otkit/otkit/storage"
)

func TestPublishedKeys(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, open storetest.Opener) {
		keys := open(t, storage.Options{}).Keys()
		now := time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC)
		a := accounts.PublicKey{ID: "a", PKIX: []byte{1, 2, 0}, ExpiresAt: now.Add(time.Hour)}
		b := accounts.PublicKey{ID: "b", PKIX: []byte{3}, ExpiresAt: now.Add(2 * time.Hour)}
		require.NoError(t, keys.PublishKeys(t.Context(), []accounts.PublicKey{a, a}, now))
		require.NoError(t, keys.PublishKeys(t.Context(), []accounts.PublicKey{b}, now))
		list, err := keys.PublishedKeys(t.Context())
		require.NoError(t, err)
		require.Equal(t, []accounts.PublicKey{a, b}, list)
		b.ExpiresAt = b.ExpiresAt.Add(time.Hour)
		require.NoError(t, keys.PublishKeys(t.Context(), []accounts.PublicKey{b}, now.Add(90*time.Minute)))
		list, err = keys.PublishedKeys(t.Context())
		require.NoError(t, err)
		require.Equal(t, []accounts.PublicKey{b}, list)
	})
}
