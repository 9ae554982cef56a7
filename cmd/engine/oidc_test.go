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

func newIssuer(t *testing.T) *issuer { return issuerOn(t, httptest.NewServer) }

func issuerOn(t *testing.T, serve func(http.Handler) *httptest.Server) *issuer {
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
	i.Server = serve(mux)
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
		"from later":   outside.token(t, jwt.MapClaims{"nbf": time.Now().Add(time.Hour).Unix()}),
		"issuer":       stranger.token(t, nil),
		"other key":    forged.token(t, nil),
		"no signature": unsigned(t, outside.URL),
	} {
		require.Equal(t, http.StatusUnauthorized, e.with(token).status(), name)
	}
}

func TestAnOutsideIssuerWithRolesAndAnAuthorityOfItsOwn(t *testing.T) {
	t.Parallel()
	outside := issuerOn(t, httptest.NewTLSServer)
	ca := file(t, "ca.pem", string(pemOf("CERTIFICATE", outside.Certificate().Raw)))
	env := with(known, []string{"Auth__Oidc__Issuer=" + outside.URL, "Auth__Oidc__Audience=plant", "Auth__Oidc__RolesClaim=realm.roles",
		"Auth__Oidc__CaFile=" + ca, "Auth__Oidc__RoleMap=plant-admins=Admin,shift=Viewer", "Log__Format=json"})
	e := start(t, env, "-demo", "-data", t.TempDir())
	roles := func(names ...string) *session {
		return e.with(outside.token(t, jwt.MapClaims{"realm": map[string]any{"roles": names}}))
	}
	value := "1"
	wrote := func(s *session) int {
		answer, err := s.WriteTagWithResponse(t.Context(), "sim", "speed", nil, client.WriteRequest{Value: &value})
		require.NoError(t, err)
		return answer.StatusCode()
	}
	admin := roles("shift", "plant-admins", "other")
	require.Equal(t, http.StatusOK, admin.status())
	admin.good("sim.speed")
	require.Equal(t, http.StatusOK, wrote(admin))
	require.Equal(t, http.StatusOK, roles("shift").status())
	require.Equal(t, http.StatusForbidden, wrote(roles("shift")))
	require.Equal(t, http.StatusForbidden, roles("Admin").status(), "with a map our own names do not count")
	none := e.await("token has no role that counts here", 1)
	require.Equal(t, "[Admin]", none[0]["roles"])

	for reason, token := range map[string]string{
		"audience":      outside.token(t, jwt.MapClaims{"aud": "other"}),
		"expired":       outside.token(t, jwt.MapClaims{"exp": time.Now().Add(-time.Minute).Unix()}),
		"not valid yet": outside.token(t, jwt.MapClaims{"nbf": time.Now().Add(time.Hour).Unix()}),
		"alg":           unsigned(t, outside.URL),
		"malformed":     "nonsense",
	} {
		before := len(e.lines("token refused"))
		s := e.with(token)
		require.Equal(t, http.StatusUnauthorized, s.status(), reason)
		require.Equal(t, http.StatusUnauthorized, s.status(), reason)
		lines := e.await("token refused", before+1)
		require.Contains(t, lines[before]["reason"], reason)
		require.NotContains(t, e.log.String(), token)
	}

	r := run(t, with(env, []string{"Auth__Oidc__RoleMap=plant-admins=King"}), "", "config", "check")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.err, "auth.oidc.roleMap")
	without := start(t, with(env, []string{"Auth__Oidc__CaFile="}), "-data", t.TempDir())
	require.Equal(t, http.StatusServiceUnavailable, without.with(outside.token(t, nil)).status(), "nobody vouches for the issuer")
}

func unsigned(t *testing.T, issuer string) string {
	token, err := jwt.NewWithClaims(jwt.SigningMethodNone, jwt.MapClaims{"iss": issuer, "aud": "plant", "sub": "u",
		"exp": time.Now().Add(time.Hour).Unix()}).SignedString(jwt.UnsafeAllowNoneSignatureType)
	require.NoError(t, err)
	return token
}
