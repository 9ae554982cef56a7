package auth

import (
	"crypto/ecdsa"
	"encoding/json"
	"net/http"
)

type jwk struct {
	KeyType   string `json:"kty"`
	Curve     string `json:"crv"`
	X         string `json:"x"`
	Y         string `json:"y"`
	Algorithm string `json:"alg"`
	Use       string `json:"use"`
	ID        string `json:"kid"`
}

// ServeHTTP answers with the public keys as a JWK set (RFC 7517), those of engines that share the
// database as well.
func (k *Keys) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	set := struct {
		Keys []jwk `json:"keys"`
	}{Keys: []jwk{}}
	listed := make(map[string]bool)
	add := func(id string, key *ecdsa.PublicKey) {
		// A key whose coordinates cannot be had was never let in.
		if x, y, err := coordinates(key); err == nil && !listed[id] {
			listed[id] = true
			set.Keys = append(set.Keys, jwk{KeyType: "EC", Curve: "P-256", X: x, Y: y, Algorithm: "ES256", Use: "sig", ID: id})
		}
	}
	for _, one := range k.verifying() {
		add(one.id, &one.private.PublicKey)
	}
	k.mu.RLock()
	shared := k.shared
	k.mu.RUnlock()
	for _, one := range shared.list(r.Context()) {
		add(one.id, one.public)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "public, max-age=60")
	_ = json.NewEncoder(w).Encode(set) // fails only when the caller is gone
}
