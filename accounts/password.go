package accounts

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/otkit/otkit/fault"
	"golang.org/x/crypto/argon2"
)

// Rules of passwords.
const (
	MinPasswordLength = 8    // characters
	MaxPasswordBytes  = 1024 // bytes of UTF-8
)

const (
	saltBytes    = 16
	keyBytes     = 32
	maxMemoryKiB = 1 << 20
	maxPasses    = 64
	maxThreads   = 64
)

func checkPassword(password string) error {
	switch {
	case password == "":
		return passwordRule("must not be empty")
	case !utf8.ValidString(password):
		return passwordRule("must be valid UTF-8")
	case utf8.RuneCountInString(password) < MinPasswordLength:
		return passwordRule(fmt.Sprintf("must have at least %d characters", MinPasswordLength))
	case len(password) > MaxPasswordBytes:
		return passwordRule(fmt.Sprintf("must have at most %d bytes", MaxPasswordBytes))
	}
	return nil
}

func passwordRule(rule string) error {
	return ErrInvalidAccount.Invalid(fault.Field{Field: "password", Message: rule})
}

// phc is a password hash in PHC string form: $argon2id$v=19$m=19456,t=2,p=1$salt$key
// (https://github.com/P-H-C/phc-string-format).
type phc struct {
	memoryKiB, passes uint32
	threads           uint8
	salt, key         []byte
}

var errBadHash = errors.New("stored password hash is not argon2id in PHC string form")

func parsePHC(text string) (phc, error) {
	var h phc
	var version int
	parts := strings.Split(text, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" {
		return h, errBadHash
	}
	if _, err := fmt.Sscanf(parts[2], "v=%d", &version); err != nil || version != argon2.Version {
		return h, errBadHash
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &h.memoryKiB, &h.passes, &h.threads); err != nil {
		return h, errBadHash
	}
	// A damaged or planted row must not be able to take all memory.
	if h.memoryKiB > maxMemoryKiB || h.passes == 0 || h.passes > maxPasses || h.threads == 0 || h.threads > maxThreads {
		return h, errBadHash
	}
	var err1, err2 error
	h.salt, err1 = base64.RawStdEncoding.DecodeString(parts[4])
	h.key, err2 = base64.RawStdEncoding.DecodeString(parts[5])
	if err1 != nil || err2 != nil || len(h.salt) < 8 || len(h.key) < 16 || len(h.key) > 128 {
		return h, errBadHash
	}
	if h.String() != text { // Sscanf lets some things pass
		return h, errBadHash
	}
	return h, nil
}

func (h phc) String() string {
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, h.memoryKiB, h.passes, h.threads,
		base64.RawStdEncoding.EncodeToString(h.salt), base64.RawStdEncoding.EncodeToString(h.key))
}

// hasher makes and checks password hashes with a bound on how many run and wait, because each
// takes memory and a core.
type hasher struct {
	params HashParams
	rand   io.Reader
	slots  chan struct{}
	inside atomic.Int64 // running and waiting
	dummy  phc          // checked in place of an unknown account's hash, so that both take the same time
}

func newHasher(p HashParams, random io.Reader) (*hasher, error) {
	h := &hasher{params: p, rand: random, slots: make(chan struct{}, p.Concurrent)}
	h.dummy = h.blank()
	// A random key that belongs to no password: no hashing is needed to have it.
	for _, b := range [][]byte{h.dummy.salt, h.dummy.key} {
		if _, err := io.ReadFull(random, b); err != nil {
			return nil, fmt.Errorf("accounts: random source: %w", err)
		}
	}
	return h, nil
}

func (h *hasher) blank() phc {
	return phc{
		memoryKiB: h.params.MemoryKiB, passes: h.params.Passes, threads: h.params.Threads,
		salt: make([]byte, saltBytes), key: make([]byte, keyBytes),
	}
}

func (h *hasher) hash(ctx context.Context, password string) (string, error) {
	made := h.blank()
	if _, err := io.ReadFull(h.rand, made.salt); err != nil {
		return "", fmt.Errorf("accounts: random source: %w", err)
	}
	key, err := h.derive(ctx, password, made)
	if err != nil {
		return "", err
	}
	made.key = key
	return made.String(), nil
}

// verify says whether the password belongs to the stored hash, and whether the hash should be made
// anew with today's parameters. An empty or unreadable stored hash takes the same time and is false.
func (h *hasher) verify(ctx context.Context, password, stored string) (ok, stale bool, err error) {
	against, perr := parsePHC(stored)
	if perr != nil {
		against = h.dummy
	}
	key, err := h.derive(ctx, password, against)
	if err != nil {
		return false, false, err
	}
	ok = subtle.ConstantTimeCompare(key, against.key) == 1 && perr == nil
	now := h.blank()
	stale = against.memoryKiB != now.memoryKiB || against.passes != now.passes || against.threads != now.threads ||
		len(against.key) != len(now.key) || len(against.salt) != len(now.salt)
	return ok, stale, nil
}

func (h *hasher) derive(ctx context.Context, password string, p phc) ([]byte, error) {
	defer h.inside.Add(-1)
	if h.inside.Add(1) > int64(h.params.Concurrent+h.params.Waiting) {
		return nil, tooMany(1)
	}
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return argon2.IDKey([]byte(password), p.salt, p.passes, p.memoryKiB, p.threads, uint32(len(p.key))), nil
}
