package accounts

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/crypto/argon2"
)

const (
	saltBytes    = 16
	keyBytes     = 32
	maxMemoryKiB = 1 << 20
	maxPasses    = 64
	maxThreads   = 64
)

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

// hasher computes and verifies password hashes. It bounds how many run and wait, because each takes memory and a core.
type hasher struct {
	params HashParams
	rand   io.Reader
	queue  *queue
	dummy  phc // checked in place of an unknown account's hash, so that both take the same time
}

func newHasher(p HashParams, random io.Reader) (*hasher, error) {
	h := &hasher{params: p, rand: random, queue: newQueue(p.MaxConcurrent, p.MaxQueued)}
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

// place is where somebody stands who waits for a hash.
type place struct {
	address string
	rank    rank
}

// ours is the place of what the service does for itself.
var ours = place{rank: familiar}

func (h *hasher) hash(ctx context.Context, at place, password string) (string, error) {
	made := h.blank()
	if _, err := io.ReadFull(h.rand, made.salt); err != nil {
		return "", fmt.Errorf("accounts: random source: %w", err)
	}
	key, err := h.derive(ctx, at, password, made)
	if err != nil {
		return "", err
	}
	made.key = key
	return made.String(), nil
}

// verify reports whether the password belongs to the stored hash, and whether the hash should be renewed because its
// parameters differ. An empty or unreadable hash takes the same time and does not match.
func (h *hasher) verify(ctx context.Context, at place, password, stored string) (ok, stale bool, err error) {
	against, perr := parsePHC(stored)
	if perr != nil {
		against = h.dummy
	}
	key, err := h.derive(ctx, at, password, against)
	if err != nil {
		return false, false, err
	}
	ok = subtle.ConstantTimeCompare(key, against.key) == 1 && perr == nil
	now := h.blank()
	stale = against.memoryKiB != now.memoryKiB || against.passes != now.passes || against.threads != now.threads ||
		len(against.key) != len(now.key) || len(against.salt) != len(now.salt)
	return ok, stale, nil
}

func (h *hasher) derive(ctx context.Context, at place, password string, p phc) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	done, err := h.queue.enter(ctx, at.address, at.rank)
	if err != nil {
		return nil, err
	}
	defer done()
	return argon2.IDKey([]byte(password), p.salt, p.passes, p.memoryKiB, p.threads, uint32(len(p.key))), nil
}
