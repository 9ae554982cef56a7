package auth

import (
	"context"
	"crypto/ecdsa"
	"crypto/x509"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/otkit/otkit/accounts"
)

// PublishEvery is how often engines that share a database publish their keys again. An engine whose clock
// is ahead may remove what the others have published; they are then published again soon.
const PublishEvery = 5 * time.Minute

const (
	keptFor        = 48 * time.Hour // how long a published key holds, which is longer than a token may live
	removedAfter   = 24 * time.Hour // how long it is kept beyond that, since clocks differ
	publishTimeout = 5 * time.Second
	sharedFor      = time.Minute            // how long what was read of published keys is trusted
	sharedAgain    = 250 * time.Millisecond // unknown keys lead to no more readings than one in this time
)

// Share publishes the public keys for other engines and accepts tokens that they have signed from now
// on. The private keys stay in the file. Publish must be called again every [PublishEvery].
func (k *Keys) Share(ctx context.Context, store accounts.KeyStore) error {
	k.mu.Lock()
	k.shared = &sharedKeys{store: store, now: k.now}
	k.mu.Unlock()
	return k.Publish(ctx)
}

// Publish publishes the public keys. Without Share it does nothing.
func (k *Keys) Publish(ctx context.Context) error {
	k.mu.RLock()
	shared := k.shared
	k.mu.RUnlock()
	return shared.publish(ctx, k.verifying())
}

// sharedKeys are the keys of other engines. A nil one has none.
type sharedKeys struct {
	store accounts.KeyStore
	now   func() time.Time

	mu   sync.Mutex
	byID map[string]sharedKey
	read time.Time // when the store was last asked
	err  error     // its answer
}

type sharedKey struct {
	id      string
	public  *ecdsa.PublicKey
	expires time.Time
}

func (s *sharedKeys) publish(ctx context.Context, own []signingKey) error {
	if s == nil {
		return nil
	}
	now := s.now()
	list := make([]accounts.PublicKey, len(own))
	for i, one := range own {
		der, err := x509.MarshalPKIXPublicKey(&one.private.PublicKey)
		if err != nil {
			return fmt.Errorf("publish signing keys: %w", err)
		}
		expires := one.verifyUntil
		if expires.IsZero() {
			expires = now.Add(keptFor)
		}
		list[i] = accounts.PublicKey{ID: one.id, PKIX: der, ExpiresAt: expires}
	}
	if err := s.store.PublishKeys(ctx, list, now.Add(-removedAfter)); err != nil {
		return fmt.Errorf("publish signing keys: %w", err)
	}
	return nil
}

// find returns a published key, or nil if there is none. An error means that this is unknown.
func (s *sharedKeys) find(ctx context.Context, id string) (*ecdsa.PublicKey, error) {
	if s == nil {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	within := sharedAgain
	if s.now().Before(s.byID[id].expires) {
		within = sharedFor
	}
	s.refresh(ctx, within)
	if key := s.byID[id]; s.now().Before(key.expires) {
		return key.public, nil
	}
	return nil, s.err
}

// list returns the valid published keys by id.
func (s *sharedKeys) list(ctx context.Context) []sharedKey {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refresh(ctx, sharedFor)
	now := s.now()
	return slices.DeleteFunc(slices.SortedFunc(maps.Values(s.byID), func(a, b sharedKey) int {
		return b.expires.Compare(a.expires)
	}), func(k sharedKey) bool { return !now.Before(k.expires) })
}

// refresh asks the store unless it was asked within the given time. What was read before stands while
// the store does not answer.
func (s *sharedKeys) refresh(ctx context.Context, within time.Duration) {
	if age := s.now().Sub(s.read); !s.read.IsZero() && age >= 0 && age < within {
		return
	}
	// Others wait for this reading, so it must not end with the one caller that began it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), publishTimeout)
	defer cancel()
	var list []accounts.PublicKey
	list, s.err = s.store.PublishedKeys(ctx)
	s.read = s.now()
	if s.err != nil {
		s.err = fmt.Errorf("published keys: %w", s.err)
		return
	}
	s.byID = make(map[string]sharedKey, len(list))
	for _, one := range list {
		parsed, err := x509.ParsePKIXPublicKey(one.PKIX)
		if err != nil {
			continue // it verifies nothing
		}
		public, ok := parsed.(*ecdsa.PublicKey)
		if !ok {
			continue
		}
		if id, err := thumbprint(public); err == nil && id == one.ID {
			s.byID[id] = sharedKey{id: id, public: public, expires: one.ExpiresAt}
		}
	}
}
