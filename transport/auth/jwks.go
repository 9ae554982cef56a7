package auth

import (
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

// ServeHTTP answers with the public keys as a JWK set (RFC 7517).
func (k *Keys) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	set := struct {
		Keys []jwk `json:"keys"`
	}{Keys: []jwk{}}
	for _, one := range k.verifying() {
		// A key whose coordinates cannot be had was never let in.
		if x, y, err := coordinates(&one.private.PublicKey); err == nil {
			set.Keys = append(set.Keys, jwk{KeyType: "EC", Curve: "P-256", X: x, Y: y, Algorithm: "ES256", Use: "sig", ID: one.id})
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "public, max-age=60")
	_ = json.NewEncoder(w).Encode(set) // fails only when the caller is gone
}
