package e2e_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// renewKey writes a certificate with a new key, which nobody has signed, and returns the pin of the key.
func renewKey(t *testing.T, dir string) (pin string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "engine"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(90 * 24 * time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	for name, block := range map[string]*pem.Block{"key.pem": {Type: "PRIVATE KEY", Bytes: secret}, "cert.pem": {Type: "CERTIFICATE", Bytes: der}} {
		file := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(file+".new", pem.EncodeToMemory(block), 0o600))
		require.NoError(t, os.Rename(file+".new", file))
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	require.NoError(t, err)
	sum := sha256.Sum256(public)
	return "sha256/" + base64.StdEncoding.EncodeToString(sum[:])
}

// A bridge follows its engine from key to key as long as it is told, and trusts no other one.
func TestTheKeyOfTheEngineIsPinned(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	renewKey(t, dir)
	data := t.TempDir()
	p := newPlant(t, options{bridgeData: data, engineEnv: []string{"Server__Tls__CertFile=" + filepath.Join(dir, "cert.pem"), "Server__Tls__KeyFile=" + filepath.Join(dir, "key.pem")}})
	p.bind()
	p.device.counts(t, 20)
	pin := renewKey(t, dir)
	eventually(t, "the bridge does not learn the new key", func() bool {
		state, err := os.ReadFile(filepath.Join(data, "binding.json")) //nolint:gosec // of the test
		require.NoError(t, err)
		return strings.Contains(string(state), pin)
	})
	p.engine.kill()
	p.device.counts(t, 20)
	p.engine.start()
	p.login()
	p.linked(true)
	p.device.counts(t, 20)
	p.requireEach(p.complete())

	p.engine.kill()
	renewKey(t, dir)
	p.engine.start()
	p.login()
	token := p.bridgeToken()
	eventually(t, "the bridge does not say why there is no link", func() bool {
		var status struct{ Link struct{ LastError string } }
		p.ask("/api/bridge/monitoring/status", token, &status)
		return strings.Contains(status.Link.LastError, "pinned when the bridge was bound")
	})
	require.False(t, p.binding().IsLinkOpen)
	answer, err := p.UnbindBridgeWithResponse(t.Context(), bridgeID)
	require.NoError(t, err)
	require.Equal(t, http.StatusNoContent, answer.StatusCode())
	p.bind()
	p.device.counts(t, 20)
	p.complete()
}
