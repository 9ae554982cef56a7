package auth_test

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/realtest"
	"github.com/otkit/otkit/transport/auth"
)

func jwks(t testing.TB, k *auth.Keys) []map[string]string {
	t.Helper()
	w := httptest.NewRecorder()
	k.ServeHTTP(w, httptest.NewRequest("GET", "/.well-known/jwks.json", nil))
	var set struct{ Keys []map[string]string }
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &set))
	return set.Keys
}

func TestKeysSurviveARestart(t *testing.T) {
	dir := t.TempDir()
	first, err := auth.OpenKeys(dir, auth.KeysOptions{})
	require.NoError(t, err)
	require.NoError(t, first.Rotate(time.Hour))
	again, err := auth.OpenKeys(dir, auth.KeysOptions{})
	require.NoError(t, err)
	require.Len(t, jwks(t, again), 2)
	require.Equal(t, jwks(t, first), jwks(t, again))
	for _, key := range jwks(t, again) {
		require.NotContains(t, key, "d", "the private part stays inside")
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1, "no temporary file stays")
}

func TestKeyFileIsClosedToOthers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("file modes are those of Unix")
	}
	dir := t.TempDir()
	_, err := auth.OpenKeys(dir, auth.KeysOptions{})
	require.NoError(t, err)
	path := filepath.Join(dir, auth.KeysFile)
	for range 2 {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
		require.NoError(t, os.Chmod(path, 0o644))
		_, err = auth.OpenKeys(dir, auth.KeysOptions{})
		require.NoError(t, err)
	}
}

func TestDamagedKeyFileIsReportedAndKept(t *testing.T) {
	dir := t.TempDir()
	_, err := auth.OpenKeys(dir, auth.KeysOptions{})
	require.NoError(t, err)
	path := filepath.Join(dir, auth.KeysFile)
	good, err := os.ReadFile(path)
	require.NoError(t, err)
	for name, text := range map[string]string{
		"empty":        "",
		"cut":          string(good[:len(good)/2]),
		"no keys":      `{"version":1,"keys":[]}`,
		"version":      strings.Replace(string(good), `"version": 1`, `"version": 2`, 1),
		"other id":     strings.Replace(string(good), `"kid": "`, `"kid": "x`, 1),
		"no key in it": `{"version":1,"keys":[{"kid":"a","pkcs8":"AAAA"}]}`,
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err = auth.OpenKeys(dir, auth.KeysOptions{})
		require.ErrorContains(t, err, "damaged", name)
		kept, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, text, string(kept), name)
	}
}

func TestRotation(t *testing.T) {
	c := &clock{at: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	p := newPlant(t, auth.Options{Now: c.now, AccessTTL: time.Hour, CacheSize: 1})
	old := p.login(t, "viewer").AccessToken
	require.NoError(t, p.RotateKeys())
	fresh := p.login(t, "viewer").AccessToken
	require.NotEqual(t, header(t, old)["kid"], header(t, fresh)["kid"])
	p.requireGood(t, old)
	p.requireGood(t, fresh) // drops the old one from the cache of one
	require.Len(t, jwks(t, p.keys), 2)

	c.at = c.at.Add(time.Hour)
	require.Len(t, jwks(t, p.keys), 1, "no token of the old key can be good any more")
	require.Equal(t, header(t, fresh)["kid"], jwks(t, p.keys)[0]["kid"])
}

// Our key set and tokens must be good for libraries that are not ours.
func TestStockLibraryVerifies(t *testing.T) {
	p := newPlant(t, auth.Options{Issuer: "https://plant.example", Audience: "plant"})
	require.NoError(t, p.RotateKeys())
	server := httptest.NewServer(p.keys)
	defer server.Close()
	ctx := oidc.ClientContext(t.Context(), server.Client())
	verifier := oidc.NewVerifier("https://plant.example", oidc.NewRemoteKeySet(ctx, server.URL),
		&oidc.Config{ClientID: "plant", SupportedSigningAlgs: []string{oidc.ES256}})
	token, err := verifier.Verify(ctx, p.login(t, "operator").AccessToken)
	require.NoError(t, err)
	var c struct {
		Name  string
		Roles []string
	}
	require.NoError(t, token.Claims(&c))
	require.Equal(t, "operator", c.Name)
	require.Equal(t, []string{"Operator"}, c.Roles)
}

// Node's own cryptography knows JWK and JWS, and computes the thumbprint by itself here.
const nodeVerify = `
const crypto = require('crypto');
const {keys, token} = JSON.parse(require('fs').readFileSync(0));
const [h, p, s] = token.split('.');
const {alg, kid} = JSON.parse(Buffer.from(h, 'base64url'));
const jwk = keys.find(k => k.kid === kid);
const {crv, kty, x, y} = jwk;
const print = crypto.createHash('sha256').update(JSON.stringify({crv, kty, x, y})).digest('base64url');
const ok = crypto.verify('sha256', Buffer.from(h + '.' + p),
  {key: crypto.createPublicKey({key: jwk, format: 'jwk'}), dsaEncoding: 'ieee-p1363'}, Buffer.from(s, 'base64url'));
console.log(alg, ok, print === kid);
`

func TestNodeVerifies(t *testing.T) {
	node := realtest.Need(t, "node")
	p := newPlant(t, auth.Options{})
	for range 3 {
		require.NoError(t, p.RotateKeys())
		in, err := json.Marshal(map[string]any{"keys": jwks(t, p.keys), "token": p.login(t, "viewer").AccessToken})
		require.NoError(t, err)
		cmd := exec.CommandContext(t.Context(), node, "-e", nodeVerify)
		cmd.Stdin = strings.NewReader(string(in))
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Equal(t, "ES256 true true\n", string(out))
	}
}
