package auth_test

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/transport/auth"
)

// issuer is an OpenID Connect issuer with just what a verifier of tokens needs.
type issuer struct {
	*httptest.Server
	key      atomic.Pointer[rsa.PrivateKey]
	kid      atomic.Pointer[string]
	down     atomic.Bool // discovery answers 503
	keysDown atomic.Bool // the key set answers 503
	keysAt   atomic.Pointer[string]
	asked    atomic.Int32 // for keys
	found    atomic.Int32 // for discovery
}

func newIssuer(t testing.TB) *issuer {
	t.Helper()
	i := &issuer{}
	i.rotate(t, "k1")
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		i.found.Add(1)
		if i.down.Load() {
			http.Error(w, "starting", http.StatusServiceUnavailable)
			return
		}
		keysAt := i.URL + "/keys"
		if at := i.keysAt.Load(); at != nil {
			keysAt = *at
		}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"issuer": i.URL, "jwks_uri": keysAt, "authorization_endpoint": i.URL, "token_endpoint": i.URL,
			"id_token_signing_alg_values_supported": []string{"RS256", "HS256", "none"},
		})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		i.asked.Add(1)
		if i.keysDown.Load() {
			http.Error(w, "starting", http.StatusServiceUnavailable)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": []any{map[string]string{
			"kty": "RSA", "alg": "RS256", "use": "sig", "kid": *i.kid.Load(),
			"n": base64.RawURLEncoding.EncodeToString(i.key.Load().N.Bytes()),
			"e": base64.RawURLEncoding.EncodeToString(big.NewInt(int64(i.key.Load().E)).Bytes()),
		}}})
	})
	i.Server = httptest.NewServer(mux)
	t.Cleanup(i.Close)
	return i
}

func (i *issuer) rotate(t testing.TB, kid string) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	i.key.Store(key)
	i.kid.Store(&kid)
}

func (i *issuer) sign(t testing.TB, now time.Time, change jwt.MapClaims) string {
	t.Helper()
	claims := jwt.MapClaims{
		"iss": i.URL, "aud": []string{"other", "otkit-api"}, "sub": "7f3a", "preferred_username": "anna",
		"roles": []string{"offline_access", "operator"}, "iat": now.Unix(), "nbf": now.Unix(),
		"exp": now.Add(5 * time.Minute).Unix(), "jti": "t1",
	}
	for name, value := range change {
		if value == nil {
			delete(claims, name)
		} else {
			claims[name] = value
		}
	}
	token := jwt.NewWithClaims(jwt.SigningMethodRS256, claims)
	token.Header["kid"] = *i.kid.Load()
	signed, err := token.SignedString(i.key.Load())
	require.NoError(t, err)
	return signed
}

func (i *issuer) plant(t testing.TB, c *clock, rolesClaim string) plant {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return newPlant(t, auth.Options{Now: c.now, OIDC: &auth.OIDC{
		Issuer: i.URL, Audience: "otkit-api", RolesClaim: rolesClaim, Transport: transport,
	}})
}

func TestOutsideToken(t *testing.T) {
	i, c := newIssuer(t), &clock{at: time.Now().Truncate(time.Second)}
	p := i.plant(t, c, "")
	token := i.sign(t, c.at, nil)
	who := p.requireGood(t, token)
	require.Equal(t, &auth.Principal{
		Issuer: i.URL, Subject: "7f3a", Name: "anna", Role: accounts.Operator, TokenID: "t1",
		ExpiresAt: c.at.Add(5 * time.Minute), Checker: p.Authority,
	}, who)
	require.ErrorIs(t, p.Logout(auth.WithPrincipal(t.Context(), who)), auth.ErrOutsideSession)
	p.requireGood(t, p.login(t, "viewer").AccessToken)

	c.at = c.at.Add(5*time.Minute + 30*time.Second - 1)
	p.requireGood(t, token)
	c.at = c.at.Add(1)
	p.requireBad(t, token)
	require.EqualValues(t, 1, i.asked.Load())
}

func TestOutsideTokensThatAreRefused(t *testing.T) {
	i, c := newIssuer(t), &clock{at: time.Now().Truncate(time.Second)}
	p := i.plant(t, c, "")
	for name, change := range map[string]jwt.MapClaims{
		"audience of another":      {"aud": "other"},
		"no audience":              {"aud": nil},
		"no subject":               {"sub": nil},
		"no exp":                   {"exp": nil},
		"expired beyond leeway":    {"exp": c.at.Add(-30 * time.Second).Unix()},
		"not valid beyond leeway":  {"nbf": c.at.Add(31 * time.Second).Unix()},
		"our own issuer":           {"iss": "otkit"},
		"issuer with a slash more": {"iss": i.URL + "/"},
	} {
		_, err := p.Verify(t.Context(), i.sign(t, c.at, change))
		require.ErrorIs(t, err, auth.ErrUnauthenticated, name)
	}
	for name, change := range map[string]jwt.MapClaims{
		"expired within leeway":   {"exp": c.at.Add(-29 * time.Second).Unix()},
		"not valid within leeway": {"nbf": c.at.Add(30 * time.Second).Unix()},
	} {
		_, err := p.Verify(t.Context(), i.sign(t, c.at, change))
		require.NoError(t, err, name)
	}
	claims := jwt.MapClaims{"iss": i.URL, "aud": "otkit-api", "sub": "x", "exp": c.at.Add(time.Hour).Unix()}
	for method, key := range map[jwt.SigningMethod]any{
		jwt.SigningMethodNone: jwt.UnsafeAllowNoneSignatureType, jwt.SigningMethodHS256: i.key.Load().N.Bytes(),
	} {
		forged := jwt.NewWithClaims(method, claims)
		forged.Header["kid"] = "k1"
		text, err := forged.SignedString(key)
		require.NoError(t, err)
		p.requireBad(t, text)
	}
}

func TestOutsideRoles(t *testing.T) {
	for _, row := range []struct {
		claim  string
		claims jwt.MapClaims
		want   accounts.Role
	}{
		{"", jwt.MapClaims{"roles": []any{"Viewer", "ADMIN", 7, nil}}, accounts.Admin},
		{"", jwt.MapClaims{"roles": "viewer operator"}, accounts.Operator},
		{"", jwt.MapClaims{"roles": []any{"root"}}, ""},
		{"", jwt.MapClaims{"roles": nil}, ""},
		{"", jwt.MapClaims{"roles": map[string]any{"Admin": true}}, ""},
		{"groups", jwt.MapClaims{"groups": []any{"Viewer"}}, accounts.Viewer},
		{"realm_access.roles", jwt.MapClaims{"realm_access": map[string]any{"roles": []any{"Admin"}}}, accounts.Admin},
		{"realm_access.roles", jwt.MapClaims{"realm_access": "Admin"}, ""},
		{"https://plant.example/roles", jwt.MapClaims{"https://plant.example/roles": []any{"Operator"}}, accounts.Operator},
	} {
		i, c := newIssuer(t), &clock{at: time.Now()}
		who := i.plant(t, c, row.claim).requireGood(t, i.sign(t, c.at, row.claims))
		require.Equal(t, row.want, who.Role, "%s %v", row.claim, row.claims)
		require.Equal(t, row.want != "", who.Can(accounts.Viewer))
	}
}

func TestIssuerThatIsDownComesBack(t *testing.T) {
	i, c := newIssuer(t), &clock{at: time.Now()}
	i.down.Store(true)
	p := i.plant(t, c, "") // starts all the same
	token := i.sign(t, c.at, nil)
	for range 10 {
		_, err := p.Verify(t.Context(), token)
		require.ErrorIs(t, err, auth.ErrIssuerUnavailable)
	}
	require.EqualValues(t, 1, i.found.Load(), "an issuer that is down is not flooded")
	p.requireGood(t, p.login(t, "viewer").AccessToken)

	i.down.Store(false)
	i.keysDown.Store(true)
	c.at = c.at.Add(11 * time.Second)
	_, err := p.Verify(t.Context(), token)
	require.ErrorIs(t, err, auth.ErrIssuerUnavailable)
	i.keysDown.Store(false)
	// The next one may still share the answer to the last.
	require.Eventually(t, func() bool {
		c.at = c.at.Add(11 * time.Second)
		_, err := p.Verify(t.Context(), token)
		return err == nil
	}, time.Minute, time.Millisecond)
	p.requireGood(t, token)
}

// unreachable is a network on which nothing answers.
type unreachable struct{ asked atomic.Int32 }

func (u *unreachable) RoundTrip(*http.Request) (*http.Response, error) {
	u.asked.Add(1)
	return nil, errors.New("no route to host")
}

func TestUnreachableIssuerIsAskedSeldom(t *testing.T) {
	i, c, network := newIssuer(t), &clock{at: time.Now()}, &unreachable{}
	p := newPlant(t, auth.Options{Now: c.now, OIDC: &auth.OIDC{Issuer: i.URL, Audience: "otkit-api", Transport: network}})
	token := i.sign(t, c.at, nil)
	for second := range 10 {
		_, err := p.Verify(t.Context(), token)
		require.ErrorIs(t, err, auth.ErrIssuerUnavailable)
		require.EqualValues(t, 1+second/5, network.asked.Load())
		c.at = c.at.Add(time.Second)
	}
}

func TestIssuerRotatesItsKey(t *testing.T) {
	i, c := newIssuer(t), &clock{at: time.Now()}
	p := i.plant(t, c, "")
	p.requireGood(t, i.sign(t, c.at, nil))
	c.at = c.at.Add(11 * time.Second)
	i.rotate(t, "k2")
	p.requireGood(t, i.sign(t, c.at, nil))
}

func TestForgedKeyIDsDoNotFloodTheIssuer(t *testing.T) {
	i, c := newIssuer(t), &clock{at: time.Now()}
	p := i.plant(t, c, "")
	p.requireGood(t, i.sign(t, c.at, nil))
	for n := range 50 {
		forged := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.MapClaims{"iss": i.URL, "aud": "otkit-api", "sub": "x"})
		forged.Header["kid"] = fmt.Sprint(n)
		text, err := forged.SignedString(i.key.Load())
		require.NoError(t, err)
		p.requireBad(t, text)
	}
	require.EqualValues(t, 1, i.asked.Load())
}

func TestKeysAreNotFetchedInTheClear(t *testing.T) {
	i, c := newIssuer(t), &clock{at: time.Now()}
	elsewhere := "http://192.0.2.1/keys"
	i.keysAt.Store(&elsewhere)
	_, err := i.plant(t, c, "").Verify(t.Context(), i.sign(t, c.at, nil))
	require.ErrorIs(t, err, auth.ErrIssuerUnavailable)
	require.ErrorContains(t, err, "loopback")
}
