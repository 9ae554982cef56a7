package auth_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/auth"
)

func part(t testing.TB, token string, i int) map[string]any {
	t.Helper()
	text, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[i])
	require.NoError(t, err)
	var m map[string]any
	require.NoError(t, json.Unmarshal(text, &m))
	return m
}

func header(t testing.TB, token string) map[string]any { t.Helper(); return part(t, token, 0) }

func TestGrant(t *testing.T) {
	c := &clock{at: time.Date(2026, 1, 1, 12, 0, 0, 999, time.UTC)}
	p := newPlant(t, auth.Options{Now: c.now, NewID: func() string { return "jti-1" }})
	g := p.login(t, "operator")
	require.Equal(t, time.Hour, g.ExpiresIn)
	require.Equal(t, time.Date(2026, 1, 1, 13, 0, 0, 0, time.UTC), g.ExpiresAt)
	require.Equal(t, []string{"Operator"}, g.Roles)

	claims := part(t, g.AccessToken, 1)
	sid, _ := claims["sid"].(string)
	require.NotEmpty(t, sid)
	delete(claims, "sid")
	at := float64(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC).Unix())
	require.Equal(t, map[string]any{
		"iss": "otkit", "aud": []any{"otkit"}, "sub": "operator", "name": "operator", "roles": []any{"Operator"},
		"iat": at, "nbf": at, "exp": at + 3600, "jti": "jti-1",
	}, claims)
	require.Equal(t, &auth.Principal{
		Issuer: "otkit", Subject: "operator", Name: "operator", Role: accounts.Operator,
		SessionID: sid, TokenID: "jti-1", ExpiresAt: time.Unix(int64(at)+3600, 0), Checker: p.Authority,
	}, p.requireGood(t, g.AccessToken))
}

func TestTokenEndsAtItsTime(t *testing.T) {
	for name, cache := range map[string]int{"remembered": 10, "forgotten": 1} {
		c := &clock{at: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)}
		p := newPlant(t, auth.Options{Now: c.now, AccessTTL: time.Minute, CacheSize: cache})
		token, other := p.login(t, "viewer").AccessToken, p.login(t, "admin").AccessToken
		p.requireGood(t, token)
		p.requireGood(t, other)
		c.at = c.at.Add(time.Minute - time.Nanosecond)
		p.requireGood(t, token)
		p.requireGood(t, other)
		c.at = c.at.Add(time.Nanosecond)
		_, err := p.Verify(t.Context(), token)
		require.ErrorIs(t, err, auth.ErrUnauthenticated, name)
	}
}

// forge signs with the plant's own key, so that nothing but the change makes the token bad.
func forge(t *testing.T, p plant, dir string, method jwt.SigningMethod, key any, change func(head, claims map[string]any)) string {
	t.Helper()
	good := p.login(t, "admin").AccessToken
	token := jwt.NewWithClaims(method, jwt.MapClaims(part(t, good, 1)))
	token.Header["kid"] = header(t, good)["kid"]
	if change != nil {
		change(token.Header, token.Claims.(jwt.MapClaims))
	}
	if key == nil {
		key = storedKey(t, dir)
	}
	signed, err := token.SignedString(key)
	require.NoError(t, err)
	return signed
}

func storedKey(t *testing.T, dir string) *ecdsa.PrivateKey {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, auth.KeysFile))
	require.NoError(t, err)
	var file struct{ Keys []struct{ PKCS8 []byte } }
	require.NoError(t, json.Unmarshal(text, &file))
	key, err := x509.ParsePKCS8PrivateKey(file.Keys[0].PKCS8)
	require.NoError(t, err)
	return key.(*ecdsa.PrivateKey)
}

func TestAttacks(t *testing.T) {
	dir := t.TempDir()
	keys, err := auth.OpenKeys(dir, auth.KeysOptions{})
	require.NoError(t, err)
	p := newPlant(t, auth.Options{})
	p.Authority, err = auth.New(p.accounts, keys, auth.Options{})
	require.NoError(t, err)

	own := storedKey(t, dir)
	public, err := x509.MarshalPKIXPublicKey(&own.PublicKey)
	require.NoError(t, err)
	point, err := own.PublicKey.Bytes()
	require.NoError(t, err)
	stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	big, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	require.NoError(t, err)
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	set := func(name string, value any) func(_, claims map[string]any) {
		return func(_, claims map[string]any) {
			if value == nil {
				delete(claims, name)
			} else {
				claims[name] = value
			}
		}
	}
	head := func(name string, value any) func(head, _ map[string]any) {
		return func(head, _ map[string]any) { head[name] = value }
	}
	now := time.Now().Unix()
	es := jwt.SigningMethodES256

	p.requireGood(t, forge(t, p, dir, es, nil, nil))
	for name, bad := range map[string]string{
		"alg none":               forge(t, p, dir, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, nil),
		"alg HS256, public key":  forge(t, p, dir, jwt.SigningMethodHS256, public, nil),
		"alg HS256, point":       forge(t, p, dir, jwt.SigningMethodHS256, point, nil),
		"alg ES384":              forge(t, p, dir, jwt.SigningMethodES384, big, nil),
		"alg RS256":              forge(t, p, dir, jwt.SigningMethodRS256, rsaKey, nil),
		"key of a stranger":      forge(t, p, dir, es, stranger, nil),
		"kid unknown":            forge(t, p, dir, es, nil, head("kid", "../../etc/passwd")),
		"kid empty":              forge(t, p, dir, es, nil, head("kid", "")),
		"kid a number":           forge(t, p, dir, es, nil, head("kid", 1)),
		"key brought along":      forge(t, p, dir, es, stranger, head("jwk", map[string]any{"kty": "EC"})),
		"critical header":        forge(t, p, dir, es, nil, head("crit", []string{"exp"})),
		"alg in another case":    forge(t, p, dir, es, nil, head("alg", "es256")),
		"expired":                forge(t, p, dir, es, nil, set("exp", now-1)),
		"no exp":                 forge(t, p, dir, es, nil, set("exp", nil)),
		"exp a text":             forge(t, p, dir, es, nil, set("exp", "soon")),
		"not valid yet":          forge(t, p, dir, es, nil, set("nbf", now+60)),
		"issuer of another":      forge(t, p, dir, es, nil, set("iss", "otkit2")),
		"no issuer":              forge(t, p, dir, es, nil, set("iss", nil)),
		"audience of another":    forge(t, p, dir, es, nil, set("aud", "other")),
		"no audience":            forge(t, p, dir, es, nil, set("aud", nil)),
		"no session":             forge(t, p, dir, es, nil, set("sid", nil)),
		"session nobody has":     forge(t, p, dir, es, nil, set("sid", "0199")),
		"no subject":             forge(t, p, dir, es, nil, set("sub", nil)),
		"no role":                forge(t, p, dir, es, nil, set("roles", []string{})),
		"roles a text":           forge(t, p, dir, es, nil, set("roles", "Admin")),
		"longer than any token":  forge(t, p, dir, es, nil, set("x", strings.Repeat("x", 16<<10))),
		"signature of ASN.1":     asn1Signature(t, own, forge(t, p, dir, es, nil, nil)),
		"signature cut":          cut(forge(t, p, dir, es, nil, nil)),
		"no signature":           unsigned(forge(t, p, dir, es, nil, nil)),
		"claims of another":      swapped(forge(t, p, dir, es, nil, nil), p.login(t, "viewer").AccessToken),
		"padded":                 forge(t, p, dir, es, nil, nil) + "=",
		"a blank at the end":     forge(t, p, dir, es, nil, nil) + " ",
		"five parts, as in JWE":  "a.b.c.d.e",
		"empty parts":            "..",
		"nothing":                "",
		"JSON serialization":     `{"payload":"e30","signature":""}`,
		"base64 of another kind": strings.ReplaceAll(strings.ReplaceAll(forge(t, p, dir, es, nil, set("name", "ÿÿÿ???>>>")), "-", "+"), "_", "/"),
	} {
		_, err := p.Verify(t.Context(), bad)
		require.Equal(t, fault.Unauthenticated, fault.KindOf(err), name)
	}
}

func asn1Signature(t *testing.T, key *ecdsa.PrivateKey, token string) string {
	t.Helper()
	signed := token[:strings.LastIndexByte(token, '.')]
	hash := jwt.SigningMethodES256.Hash.New()
	hash.Write([]byte(signed))
	sig, err := ecdsa.SignASN1(rand.Reader, key, hash.Sum(nil))
	require.NoError(t, err)
	return signed + "." + base64.RawURLEncoding.EncodeToString(sig)
}

func cut(token string) string      { return token[:len(token)-4] }
func unsigned(token string) string { return token[:strings.LastIndexByte(token, '.')+1] }

func swapped(admin, viewer string) string {
	a, v := strings.Split(admin, "."), strings.Split(viewer, ".")
	return a[0] + "." + a[1] + "." + v[2]
}

func TestLogoutEndsTokensAtOnce(t *testing.T) {
	p := newPlant(t, auth.Options{})
	g, other := p.login(t, "operator"), p.login(t, "operator")
	second, err := p.Refresh(t.Context(), g.RefreshToken)
	require.NoError(t, err)
	p.requireGood(t, g.AccessToken)
	who := p.requireGood(t, second.AccessToken)

	require.ErrorIs(t, p.Logout(t.Context()), auth.ErrUnauthenticated)
	require.NoError(t, p.Logout(auth.WithPrincipal(t.Context(), who)))
	p.requireBad(t, g.AccessToken)
	p.requireBad(t, second.AccessToken)
	p.requireGood(t, other.AccessToken)
	_, err = p.Refresh(t.Context(), second.RefreshToken)
	require.Equal(t, fault.Unauthenticated, fault.KindOf(err))
}

func TestChangesByAnotherProcessCountWithinFiveSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, auth.Options{})
		elsewhere, err := accounts.New(p.store, p.store, accounts.Options{Hash: accounts.HashParams{MemoryKiB: 8, Passes: 1}})
		require.NoError(t, err)
		token, gone := p.login(t, "operator").AccessToken, p.login(t, "viewer").AccessToken
		require.Equal(t, accounts.Operator, p.requireGood(t, token).Role)
		p.requireGood(t, gone)
		require.NoError(t, elsewhere.SetRole(t.Context(), "operator", accounts.Viewer))
		require.NoError(t, elsewhere.Remove(t.Context(), "viewer"))
		time.Sleep(5 * time.Second)
		require.Equal(t, accounts.Viewer, p.requireGood(t, token).Role)
		p.requireBad(t, gone)
	})
}

func TestFullCacheStillVerifies(t *testing.T) {
	p := newPlant(t, auth.Options{CacheSize: 3})
	var tokens []string
	for range 10 {
		tokens = append(tokens, p.login(t, "viewer").AccessToken)
	}
	for range 2 {
		for _, token := range tokens {
			p.requireGood(t, token)
		}
	}
}

func TestBadOptionsNameTheirField(t *testing.T) {
	p := newPlant(t, auth.Options{})
	for field, opts := range map[string]auth.Options{
		"AccessTTL":     {AccessTTL: time.Millisecond},
		"CacheSize":     {CacheSize: -1},
		"OIDC.Issuer":   {OIDC: &auth.OIDC{Issuer: "http://192.0.2.1/realm", Audience: "a"}},
		"OIDC.Audience": {OIDC: &auth.OIDC{Issuer: "https://issuer.example"}},
		"must differ":   {Issuer: "https://issuer.example", OIDC: &auth.OIDC{Issuer: "https://issuer.example", Audience: "a"}},
	} {
		_, err := auth.New(p.accounts, p.keys, opts)
		require.ErrorContains(t, err, field)
	}
	for _, issuer := range []string{"", "issuer", "ftp://localhost", "http://localhost.example", "http://127.0.0.1.example", "://"} {
		_, err := auth.New(p.accounts, p.keys, auth.Options{OIDC: &auth.OIDC{Issuer: issuer, Audience: "a"}})
		require.ErrorContains(t, err, "OIDC.Issuer", issuer)
	}
	for _, issuer := range []string{"https://issuer.example/realms/a", "http://localhost:8080", "http://[::1]:8080", "http://127.0.0.2"} {
		_, err := auth.New(p.accounts, p.keys, auth.Options{OIDC: &auth.OIDC{Issuer: issuer, Audience: "a"}})
		require.NoError(t, err, issuer)
	}
}

func BenchmarkVerify(b *testing.B) {
	p := newPlant(b, auth.Options{})
	token := p.login(b, "viewer").AccessToken
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := p.Verify(b.Context(), token); err != nil {
				b.Error(err)
			}
		}
	})
}

// BenchmarkVerifyFirst is the cost of a token that was not seen before.
func BenchmarkVerifyFirst(b *testing.B) {
	p := newPlant(b, auth.Options{CacheSize: 1})
	tokens := [2]string{p.login(b, "viewer").AccessToken, p.login(b, "viewer").AccessToken}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := p.Verify(b.Context(), tokens[i%2]); err != nil {
			b.Fatal(err)
		}
	}
}
