package server_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/engine"
	pb "github.com/otkit/otkit/proto/platform/v1"
)

// grant is what a login answers.
type grant struct {
	AccessToken, TokenType, RefreshToken string
	ExpiresIn                            int
	ExpiresAt                            time.Time
	Roles                                []string
}

func (p *platform) login(name, secret string) answer {
	p.t.Helper()
	return p.call(nobody, http.MethodPost, "/api/v1/auth/login", map[string]any{"username": name, "password": secret})
}

func (p *platform) refresh(token string) answer {
	p.t.Helper()
	return p.call(nobody, http.MethodPost, "/api/v1/auth/refresh", map[string]any{"refreshToken": token})
}

// with makes a call with a token.
func (p *platform) with(token, method, path string) answer {
	p.t.Helper()
	r := p.request(p.t.Context(), nobody, method, path, nil)
	r.Header.Set("Authorization", "Bearer "+token)
	return p.do(r)
}

func TestLoginGivesTokensThatAnybodyCanVerify(t *testing.T) {
	t.Parallel()
	p := start(t)
	a := p.login("Operator", password) // names are compared without regard to case
	require.Equal(t, 200, a.status)
	require.Equal(t, []string{"accessToken", "expiresAt", "expiresIn", "refreshToken", "roles", "tokenType"}, keys(a.object(t)))
	var g grant
	a.into(t, &g)
	require.Equal(t, "Bearer", g.TokenType)
	require.Equal(t, 3600, g.ExpiresIn)
	require.WithinDuration(t, time.Now().Add(time.Hour), g.ExpiresAt, time.Minute)
	require.Equal(t, []string{"Operator"}, g.Roles)

	keySet := p.call(nobody, http.MethodGet, "/.well-known/jwks.json", nil)
	claims := jwt.MapClaims{}
	token, err := jwt.ParseWithClaims(g.AccessToken, claims, func(token *jwt.Token) (any, error) {
		return publicKey(t, keySet, token.Header["kid"]), nil
	}, jwt.WithValidMethods([]string{"ES256"}), jwt.WithIssuer("otkit"), jwt.WithAudience("otkit"), jwt.WithExpirationRequired())
	require.NoError(t, err)
	require.True(t, token.Valid)
	require.Subset(t, keys(map[string]any(claims)), []string{"aud", "exp", "iat", "iss", "jti", "name", "nbf", "roles", "sub"})
	require.Equal(t, []any{"Operator"}, claims["roles"])
	require.Equal(t, "operator", claims["sub"])
}

func publicKey(t *testing.T, keySet answer, id any) *ecdsa.PublicKey {
	t.Helper()
	var set struct {
		Keys []map[string]string
	}
	keySet.into(t, &set)
	for _, k := range set.Keys {
		require.NotContains(t, k, "d")
		if k["kid"] != id {
			continue
		}
		point := []byte{4} // uncompressed
		for _, member := range []string{"x", "y"} {
			raw, err := base64.RawURLEncoding.DecodeString(k[member])
			require.NoError(t, err)
			point = append(point, raw...)
		}
		key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
		require.NoError(t, err)
		return key
	}
	require.Fail(t, "no such key", "%v", id)
	return nil
}

func TestAWrongNameAndAWrongPasswordLookAlike(t *testing.T) {
	t.Parallel()
	p := start(t)
	name, secret := p.login("nosuchuser", password), p.login("viewer", "wrong")
	requireProblem(t, name, 401, "INVALID_CREDENTIALS")
	require.Equal(t, string(name.body), string(secret.body))
	require.Equal(t, "Bearer", name.header.Get("WWW-Authenticate"))
	long := p.login("viewer", string(make([]byte, 100_000)))
	require.Equal(t, string(name.body), string(long.body))
}

func TestRepeatedFailuresAreSlowedForTheAccountAndAddress(t *testing.T) {
	t.Parallel()
	p := start(t)
	var a answer
	for range 7 {
		a = p.login("viewer", "wrong")
	}
	body := requireProblem(t, a, 429, "TOO_MANY_LOGINS")
	seconds, err := strconv.Atoi(a.header.Get("Retry-After"))
	require.NoError(t, err)
	require.Positive(t, seconds)
	require.Equal(t, a.header.Get("Retry-After"), body["metadata"].(map[string]any)["retryAfter"])
	require.Equal(t, 429, p.login("VIEWER", password).status)
	require.Equal(t, 200, p.login("operator", password).status)
}

func TestARefreshTokenIsGoodOnce(t *testing.T) {
	t.Parallel()
	p := start(t)
	var first, second grant
	p.login("viewer", password).into(t, &first)
	a := p.refresh(first.RefreshToken)
	require.Equal(t, 200, a.status)
	a.into(t, &second)
	require.NotEqual(t, first.RefreshToken, second.RefreshToken)
	require.NotEqual(t, first.AccessToken, second.AccessToken)
	require.Equal(t, []string{"Viewer"}, second.Roles)
	require.Equal(t, 200, p.with(second.AccessToken, http.MethodGet, "/api/v1/drivers").status)

	requireProblem(t, p.refresh(first.RefreshToken), 401, "INVALID_REFRESH_TOKEN")
	requireProblem(t, p.refresh(second.RefreshToken), 401, "INVALID_REFRESH_TOKEN") // one of its holders is a thief
	requireProblem(t, p.with(second.AccessToken, http.MethodGet, "/api/v1/drivers"), 401, "UNAUTHORIZED")
	requireProblem(t, p.refresh("made.up"), 401, "INVALID_REFRESH_TOKEN")
}

func TestLogoutEndsTheSessionAtOnce(t *testing.T) {
	t.Parallel()
	p := start(t)
	var one, other grant
	p.login("viewer", password).into(t, &one)
	p.login("viewer", password).into(t, &other)
	a := p.with(one.AccessToken, http.MethodPost, "/api/v1/auth/logout")
	require.Equal(t, 204, a.status)
	require.Empty(t, a.body)
	requireProblem(t, p.with(one.AccessToken, http.MethodGet, "/api/v1/drivers"), 401, "UNAUTHORIZED")
	requireProblem(t, p.with(one.AccessToken, http.MethodPost, "/api/v1/auth/logout"), 401, "UNAUTHORIZED")
	requireProblem(t, p.refresh(one.RefreshToken), 401, "INVALID_REFRESH_TOKEN")
	require.Equal(t, 200, p.with(other.AccessToken, http.MethodGet, "/api/v1/drivers").status)
	requireProblem(t, p.call(nobody, http.MethodPost, "/api/v1/auth/logout", nil), 401, "UNAUTHORIZED")
}

func TestTokensThatAreNoneAreRefused(t *testing.T) {
	t.Parallel()
	p := start(t)
	good := p.token(accounts.Viewer)
	header, err := json.Marshal(map[string]string{"alg": "none", "typ": "JWT"})
	require.NoError(t, err)
	unsigned := base64.RawURLEncoding.EncodeToString(header) + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"admin","roles":["Admin"]}`)) + "."
	for _, value := range []string{"", "Bearer", "Bearer ", "Basic " + good, good, "Bearer " + good + "x", "Bearer " + good[:len(good)-4], "Bearer " + unsigned, "Bearer x y"} {
		r := p.request(t.Context(), nobody, http.MethodGet, "/api/v1/drivers", nil)
		r.Header.Set("Authorization", value)
		requireProblem(t, p.do(r), 401, "UNAUTHORIZED")
		if value != "" {
			api := pb.NewPlatformApiClient(p.conn())
			_, err := api.ReadTag(metadata.AppendToOutgoingContext(t.Context(), "authorization", value), &pb.ReadTagRequest{TagName: "line.flag"})
			requireStatus(t, err, codes.Unauthenticated, "UNAUTHORIZED")
		}
	}
	r := p.request(t.Context(), nobody, http.MethodGet, "/api/v1/drivers", nil)
	r.Header.Set("Authorization", "bearer "+good)
	require.Equal(t, 200, p.do(r).status)
}

func TestAnExpiredTokenIsRefused(t *testing.T) {
	t.Parallel()
	p := start(t, func(o *engine.Options) { o.Accounts.AccessTTL = time.Second })
	token := p.token(accounts.Viewer)
	require.Eventually(t, func() bool { return p.with(token, http.MethodGet, "/api/v1/drivers").status == 401 }, patience, 20*time.Millisecond)
}

func TestTheFirstStartMakesAnAdmin(t *testing.T) {
	t.Parallel()
	p := start(t, func(o *engine.Options) {
		o.Accounts.Accounts, o.Accounts.Sessions = nil, nil
		o.Accounts.AdminUsername = "chief"
	})
	require.NotEmpty(t, p.InitialAdminPassword())
	var g grant
	p.login("chief", p.InitialAdminPassword()).into(t, &g)
	require.Equal(t, []string{"Admin"}, g.Roles)

	set := start(t, func(o *engine.Options) {
		o.Accounts.Accounts, o.Accounts.Sessions = nil, nil
		o.Accounts.AdminPassword = password
	})
	require.Empty(t, set.InitialAdminPassword())
	require.Equal(t, 200, set.login("admin", password).status)
}
