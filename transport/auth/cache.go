package auth

import (
	"crypto/sha256"
	"sync"
	"time"
)

type tokenHash [sha256.Size]byte

func hashOf(token string) tokenHash {
	var short [1024]byte // on the stack: own tokens fit, and every call comes through here
	if n := copy(short[:], token); n == len(token) {
		return sha256.Sum256(short[:n])
	}
	return sha256.Sum256([]byte(token))
}

// verified is a token whose signature and claims were found right. Its principal never changes.
type verified struct {
	principal *Principal
	expires   time.Time // with the leeway, where there is one
	outside   bool
}

// tokenCache remembers verified tokens by their hash, so that memory holds no usable token. Only
// what was verified gets in, so a stranger cannot fill it.
type tokenCache struct {
	max int

	mu     sync.RWMutex
	tokens map[tokenHash]*verified
}

func (c *tokenCache) get(h tokenHash) *verified {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.tokens[h]
}

// put remembers a token. When there is no room, the one that ends soonest of a few picked at
// random makes room.
func (c *tokenCache) put(h tokenHash, v *verified) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.tokens) >= c.max {
		var soonest tokenHash
		var ends time.Time
		looked := 0
		for one, e := range c.tokens {
			if ends.IsZero() || e.expires.Before(ends) {
				soonest, ends = one, e.expires
			}
			if looked++; looked == 16 {
				break
			}
		}
		delete(c.tokens, soonest)
	}
	c.tokens[h] = v
}

func (c *tokenCache) drop(h tokenHash) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.tokens, h)
}
