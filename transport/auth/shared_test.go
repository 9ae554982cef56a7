package auth_test

import (
	"context"
	"errors"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/transport/auth"
)

// board is where engines publish keys in tests.
type board struct {
	mu    sync.Mutex
	keys  map[string]accounts.PublicKey
	reads int
	err   error
}

func (b *board) PublishKeys(_ context.Context, keys []accounts.PublicKey, before time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.keys, func(_ string, k accounts.PublicKey) bool { return k.ExpiresAt.Before(before) })
	for _, k := range keys {
		b.keys[k.ID] = k
	}
	return b.err
}

func (b *board) PublishedKeys(context.Context) ([]accounts.PublicKey, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reads++
	return slices.Collect(maps.Values(b.keys)), b.err
}

func TestEnginesAcceptOneAnothersTokens(t *testing.T) {
	now := time.Now()
	clock := func() time.Time { return now }
	one := newPlant(t, auth.Options{Now: clock})
	keys, err := auth.OpenKeys(t.TempDir(), auth.KeysOptions{Now: clock})
	require.NoError(t, err)
	other, err := auth.New(one.accounts, keys, auth.Options{Now: clock})
	require.NoError(t, err)
	token := one.login(t, "viewer").AccessToken
	_, err = other.Verify(t.Context(), token)
	require.ErrorIs(t, err, auth.ErrUnauthenticated)

	b := &board{keys: map[string]accounts.PublicKey{}}
	require.NoError(t, one.keys.Share(t.Context(), b))
	require.NoError(t, keys.Share(t.Context(), b))
	who, err := other.Verify(t.Context(), token)
	require.NoError(t, err)
	require.Equal(t, "viewer", who.Name)
	for _, k := range []*auth.Keys{one.keys, keys} {
		w := httptest.NewRecorder()
		k.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/.well-known/jwks.json", nil))
		require.Equal(t, 2, strings.Count(w.Body.String(), `"kid"`), w.Body)
	}

	now = now.Add(time.Second) // a key made later is known at once too
	require.NoError(t, one.RotateKeys())
	fresh := one.login(t, "viewer").AccessToken
	_, err = other.Verify(t.Context(), fresh)
	require.NoError(t, err)

	// Strangers cannot make the engine read the database for each of their tokens.
	stranger := newPlant(t, auth.Options{Now: clock})
	reads := b.reads
	for range 100 {
		_, err = other.Verify(t.Context(), stranger.login(t, "viewer").AccessToken)
		require.ErrorIs(t, err, auth.ErrUnauthenticated)
	}
	require.LessOrEqual(t, b.reads, reads+1)

	// While the store does not answer, what was known stands and the rest cannot be told.
	now = now.Add(2 * time.Minute)
	b.err = errors.New("no connection")
	_, err = other.Verify(t.Context(), one.login(t, "operator").AccessToken)
	require.NoError(t, err)
	_, err = other.Verify(t.Context(), stranger.login(t, "viewer").AccessToken)
	require.ErrorIs(t, err, b.err)
	require.NotErrorIs(t, err, auth.ErrUnauthenticated)
	b.err = nil

	// What a key says of itself counts, not its name, and a key ends when it is not published any more.
	for id, k := range b.keys {
		b.keys["x"+id] = k
	}
	now = now.Add(48*time.Hour + time.Minute)
	_, err = other.Verify(t.Context(), one.login(t, "viewer").AccessToken)
	require.ErrorIs(t, err, auth.ErrUnauthenticated)
	maps.DeleteFunc(b.keys, func(id string, _ accounts.PublicKey) bool { return strings.HasPrefix(id, "x") })
	require.NoError(t, one.keys.Publish(t.Context()))
	now = now.Add(time.Second)
	_, err = other.Verify(t.Context(), one.login(t, "viewer").AccessToken)
	require.NoError(t, err)
}

// TestEngineWithAClockAheadLeavesTheKeysOfOthers has one engine whose clock is two days and a half ahead.
func TestEngineWithAClockAheadLeavesTheKeysOfOthers(t *testing.T) {
	now := time.Now()
	b := &board{keys: map[string]accounts.PublicKey{}}
	for _, ahead := range []time.Duration{0, 60 * time.Hour} {
		keys, err := auth.OpenKeys(t.TempDir(), auth.KeysOptions{Now: func() time.Time { return now.Add(ahead) }})
		require.NoError(t, err)
		require.NoError(t, keys.Share(t.Context(), b))
	}
	require.Len(t, b.keys, 2)
	require.LessOrEqual(t, auth.PublishEvery, 5*time.Minute, "what was removed all the same is soon there again")
}
