package main_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otkit/otkit/openapi/client"
	platformv1 "github.com/otkit/otkit/proto/platform/v1"
)

// issuer is an OpenID Connect issuer on a loopback address.
type issuer struct {
	*httptest.Server
	key *ecdsa.PrivateKey
}

func newIssuer(t *testing.T) *issuer {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	point, err := key.PublicKey.Bytes() // 4, x, y
	require.NoError(t, err)
	i := &issuer{key: key}
	part := base64.RawURLEncoding.EncodeToString
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys",
			"id_token_signing_alg_values_supported": []string{"ES256"}})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": []map[string]string{{"kty": "EC", "crv": "P-256", "use": "sig",
			"alg": "ES256", "kid": "k1", "x": part(point[1:33]), "y": part(point[33:])}}})
	})
	i.Server = httptest.NewServer(mux)
	t.Cleanup(i.Close)
	return i
}

// token signs the claims of a good token, changed by more.
func (i *issuer) token(t *testing.T, more jwt.MapClaims) string {
	t.Helper()
	now := time.Now()
	claims := jwt.MapClaims{"iss": i.URL, "aud": "plant", "sub": "u-1", "name": "Ann", "iat": now.Unix(),
		"exp": now.Add(time.Hour).Unix(), "realm": map[string]any{"roles": []string{"Admin"}}}
	for k, v := range more {
		claims[k] = v
	}
	token := jwt.NewWithClaims(jwt.SigningMethodES256, claims)
	token.Header["kid"] = "k1"
	signed, err := token.SignedString(i.key)
	require.NoError(t, err)
	return signed
}

func TestOutsideIssuer(t *testing.T) {
	t.Parallel()
	outside, stranger := newIssuer(t), newIssuer(t)
	env := append([]string{"Auth__Oidc__Issuer=" + outside.URL, "Auth__Oidc__Audience=plant", "Auth__Oidc__RolesClaim=realm.roles"}, known...)
	e := start(t, env, "-demo", "-data", t.TempDir())
	require.Equal(t, http.StatusOK, e.admin().status(), "own tokens are still good")

	ann := e.with(outside.token(t, nil))
	require.Equal(t, http.StatusOK, ann.status())
	ann.good("sim.speed")
	require.Equal(t, client.Confirmed, ann.settled(ann.write("sim", "speed", "42", true)).State)
	_, err := ann.grpc.ReadTag(ann.rpc(), &platformv1.ReadTagRequest{TagName: "sim.speed"})
	require.NoError(t, err)

	viewer := e.with(outside.token(t, jwt.MapClaims{"realm": map[string]any{"roles": []string{"Viewer"}}}))
	require.Equal(t, http.StatusOK, viewer.status())
	_, err = viewer.grpc.WriteTag(viewer.rpc(), &platformv1.WriteTagRequest{DriverId: "sim", Address: "speed", Value: "1"})
	require.Equal(t, codes.PermissionDenied, status.Code(err), err)
	require.Equal(t, http.StatusForbidden, e.with(outside.token(t, jwt.MapClaims{"realm": nil})).status(), "no role")

	forged := newIssuer(t)
	forged.URL, forged.key = outside.URL, stranger.key
	for name, token := range map[string]string{
		"audience":     outside.token(t, jwt.MapClaims{"aud": "other"}),
		"expired":      outside.token(t, jwt.MapClaims{"exp": time.Now().Add(-time.Minute).Unix()}),
		"from later":   outside.token(t, jwt.MapClaims{"nbf": time.Now().Add(time.Minute).Unix()}),
		"issuer":       stranger.token(t, nil),
		"other key":    forged.token(t, nil),
		"no signature": unsigned(t, outside.URL),
	} {
		require.Equal(t, http.StatusUnauthorized, e.with(token).status(), name)
	}
}

func unsigned(t *testing.T, issuer string) string {
	token, err := jwt.NewWithClaims(jwt.SigningMethodNone, jwt.MapClaims{"iss": issuer, "aud": "plant", "sub": "u",
		"exp": time.Now().Add(time.Hour).Unix()}).SignedString(jwt.UnsafeAllowNoneSignatureType)
	require.NoError(t, err)
	return token
}
