package auth

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// KeysFile is the name of the key file in the data directory.
const KeysFile = "signing-keys.json"

// KeysOptions configures [OpenKeys]. The zero value works.
type KeysOptions struct {
	Now    func() time.Time // default time.Now
	Logger *slog.Logger     // default: nothing is logged
}

// Keys are the keys that sign access tokens. They are kept in a file of mode 0600 that is
// replaced atomically. One key signs; keys that signed before verify until the last of their
// tokens has expired. Engines that share a database accept one another's tokens after [Keys.Share].
// Safe for concurrent use, by one process at a time.
type Keys struct {
	path string
	now  func() time.Time

	rotating sync.Mutex // held while a new key is made

	mu     sync.RWMutex
	all    []signingKey // newest first; never changed in place
	shared *sharedKeys  // nil: not shared
}

type signingKey struct {
	id          string // RFC 7638 thumbprint
	created     time.Time
	verifyUntil time.Time // zero for the one that signs
	private     *ecdsa.PrivateKey
}

// OpenKeys reads the key file of a data directory, and makes it with a first key when there is
// none. A damaged file is an error: replacing it silently would end every session.
func OpenKeys(dataDir string, opts KeysOptions) (*Keys, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	k := &Keys{path: filepath.Join(dataDir, KeysFile), now: opts.Now}
	all, err := readKeys(k.path, opts.Logger)
	if err != nil {
		return nil, fmt.Errorf("signing keys: %w", err)
	}
	k.all = all
	if len(all) == 0 {
		if err := k.Rotate(0); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// Rotate makes a new key that signs from now on. The keys before it go on verifying for
// tokenLife, the longest life of a token that they may have signed.
func (k *Keys) Rotate(tokenLife time.Duration) error {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("signing keys: %w", err)
	}
	id, err := thumbprint(&private.PublicKey)
	if err != nil {
		return fmt.Errorf("signing keys: %w", err)
	}
	k.rotating.Lock()
	defer k.rotating.Unlock()
	k.mu.RLock()
	before, shared := k.all, k.shared
	k.mu.RUnlock()
	now := k.now().UTC()
	all := []signingKey{{id: id, created: now, private: private}}
	for _, old := range before {
		if old.verifyUntil.IsZero() {
			old.verifyUntil = now.Add(tokenLife)
		}
		if now.Before(old.verifyUntil) {
			all = append(all, old)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), publishTimeout)
	defer cancel()
	if err := shared.publish(ctx, all); err != nil { // before it signs: others must know it by then
		return err
	}
	if err := writeKeys(k.path, all); err != nil {
		return fmt.Errorf("signing keys: %w", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all = all
	return nil
}

func (k *Keys) signing() signingKey {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.all[0]
}

// verifying returns the keys whose tokens are accepted now.
func (k *Keys) verifying() []signingKey {
	k.mu.RLock()
	defer k.mu.RUnlock()
	now := k.now()
	return slices.DeleteFunc(slices.Clone(k.all), func(one signingKey) bool {
		return !one.verifyUntil.IsZero() && !now.Before(one.verifyUntil)
	})
}

// public returns the key that verifies tokens with an id, or nil if there is none. An error means that this
// could not be told.
func (k *Keys) public(ctx context.Context, id string) (*ecdsa.PublicKey, error) {
	for _, one := range k.verifying() {
		if one.id == id {
			return &one.private.PublicKey, nil
		}
	}
	k.mu.RLock()
	shared := k.shared
	k.mu.RUnlock()
	return shared.find(ctx, id)
}

// coordinates returns x and y in the fixed length that RFC 7518 (6.2.1.2) requires.
func coordinates(key *ecdsa.PublicKey) (x, y string, err error) {
	if key.Curve != elliptic.P256() {
		return "", "", errors.New("key is not on P-256")
	}
	point, err := key.Bytes() // 0x04, x, y
	if err != nil {
		return "", "", err
	}
	return base64.RawURLEncoding.EncodeToString(point[1:33]), base64.RawURLEncoding.EncodeToString(point[33:]), nil
}

// thumbprint is that of RFC 7638: SHA-256 of the required members in lexical order.
func thumbprint(key *ecdsa.PublicKey) (string, error) {
	x, y, err := coordinates(key)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(`{"crv":"P-256","kty":"EC","x":"` + x + `","y":"` + y + `"}`))
	return base64.RawURLEncoding.EncodeToString(sum[:]), nil
}
