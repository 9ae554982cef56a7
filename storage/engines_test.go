package storage_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/storage"
)

func TestBoard(t *testing.T) {
	onBoth(t, func(t *testing.T, open opener) {
		now := time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC)
		board := open(t, storage.Options{Now: func() time.Time { return now }}).Board()
		last, err := board.LastPost(t.Context())
		require.NoError(t, err)
		require.Zero(t, last)
		n := alerting.Notification{ID: "first", Message: "too hot", Severity: alarms.Critical, At: now, Labels: map[string]string{"a": "b"}}
		for range 2 { // a repeat is no second post
			require.NoError(t, board.Post(t.Context(), n))
		}
		posts, err := board.Posts(t.Context(), 0, 10)
		require.NoError(t, err)
		require.Len(t, posts, 1)
		require.Equal(t, n, posts[0].Notification)

		// Whoever follows the board while many post misses nothing.
		const posters, each = 4, 25
		var wg sync.WaitGroup
		for p := range posters {
			wg.Go(func() {
				for i := range each {
					if err := board.Post(t.Context(), alerting.Notification{ID: fmt.Sprint(p, "-", i)}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		seen := map[string]bool{}
		after := posts[0].Seq
		for len(seen) < posters*each {
			posts, err := board.Posts(t.Context(), after, 7)
			require.NoError(t, err)
			for _, p := range posts {
				require.Greater(t, p.Seq, after)
				after = p.Seq
				seen[p.Notification.ID] = true
			}
		}
		wg.Wait()
		last, err = board.LastPost(t.Context())
		require.NoError(t, err)
		require.Equal(t, after, last)

		now = now.Add(time.Hour)
		require.NoError(t, board.TrimPosts(t.Context(), now))
		require.NoError(t, board.Post(t.Context(), alerting.Notification{ID: "late"}))
		posts, err = board.Posts(t.Context(), 0, 10)
		require.NoError(t, err)
		require.Len(t, posts, 1)
		require.Greater(t, posts[0].Seq, last, "numbers are not given again")
	})
}

func TestPublishedKeys(t *testing.T) {
	onBoth(t, func(t *testing.T, open opener) {
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
