package main_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/otkit/otkit/openapi/client"
	platformv1 "github.com/otkit/otkit/proto/platform/v1"
)

// authority issues certificates for one test.
type authority struct {
	t    testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	last int64
}

func newAuthority(t testing.TB) *authority {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return &authority{t: t, cert: cert, key: key, last: 1}
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// issue gives a certificate and its key as PEM.
func (a *authority) issue(usage x509.ExtKeyUsage) (certPEM, keyPEM []byte) {
	a.t.Helper()
	return a.issueUntil(usage, time.Now().Add(time.Hour))
}

func (a *authority) issueUntil(usage x509.ExtKeyUsage, end time.Time) (certPEM, keyPEM []byte) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	a.last++
	template := &x509.Certificate{
		SerialNumber: big.NewInt(a.last), Subject: pkix.Name{CommonName: "test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: end,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{usage},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	require.NoError(a.t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(a.t, err)
	return pemOf("CERTIFICATE", der), pemOf("PRIVATE KEY", private)
}

func pemOf(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// secure is a session over TLS.
func (e *engine) secure(c *tls.Config) *session {
	e.t.Helper()
	transport := &http.Transport{TLSClientConfig: c, DisableKeepAlives: true}
	h := &http.Client{Transport: transport}
	api, err := client.NewClientWithResponses(e.url, client.WithHTTPClient(h))
	require.NoError(e.t, err)
	answer, err := api.LoginWithResponse(e.t.Context(), client.LoginRequest{Username: "admin", Password: password})
	require.NoError(e.t, err)
	require.NotNil(e.t, answer.JSON200, "%s", answer.Body)
	return connect(e.t, e.url, e.addr, answer.JSON200.AccessToken, h, credentials.NewTLS(c))
}

func TestTLSWithReload(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	replace := func() {
		cert, key := ca.issue(x509.ExtKeyUsageServerAuth)
		require.NoError(t, os.WriteFile(certFile, cert, 0o600))
		require.NoError(t, os.WriteFile(keyFile, key, 0o600))
	}
	replace()
	settings := "server:\n  tls:\n    certFile: " + certFile + "\n    keyFile: " + keyFile + "\n"
	e := start(t, known, "-config", file(t, "engine.yaml", settings), "-demo", "-data", t.TempDir())
	require.Contains(t, e.url, "https://")

	s := e.secure(&tls.Config{RootCAs: ca.pool()})
	s.good("sim.counter")
	read, err := s.grpc.ReadTag(s.rpc(), &platformv1.ReadTagRequest{TagName: "sim.counter"})
	require.NoError(t, err)
	require.Equal(t, "Good", read.GetTag().GetQuality())
	stream, err := s.grpc.StreamTagChanges(s.rpc(), &platformv1.StreamTagChangesRequest{NamePatterns: []string{"sim.%"}})
	require.NoError(t, err)
	_, err = stream.Recv()
	require.NoError(t, err)

	answer, err := http.Get("http://" + e.addr + "/health")
	if err == nil {
		require.Equal(t, http.StatusBadRequest, answer.StatusCode)
		require.NoError(t, answer.Body.Close())
	}
	_, err = (&http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11, RootCAs: ca.pool()}}}).Get(e.url + "/health")
	require.ErrorContains(t, err, "protocol version")

	serial := func() int64 {
		conn, err := tls.Dial("tcp", e.addr, &tls.Config{RootCAs: ca.pool()})
		require.NoError(t, err)
		defer func() { _ = conn.Close() }()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	require.Equal(t, int64(2), serial())
	replace()
	eventually(t, "the new certificate is not served", func() bool { return serial() == 3 })
	require.NoError(t, os.WriteFile(certFile, []byte("broken"), 0o600))
	require.Equal(t, int64(3), serial(), "the last good one stays")
	_, err = stream.Recv()
	require.NoError(t, err, "open streams go on")
}

func TestClientCertificates(t *testing.T) {
	t.Parallel()
	ca, stranger := newAuthority(t), newAuthority(t)
	cert, key := ca.issue(x509.ExtKeyUsageServerAuth)
	env := append([]string{
		"Server__Tls__CertFile=" + file(t, "tls.crt", string(cert)), "Server__Tls__KeyFile=" + file(t, "tls.key", string(key)),
		"Server__Tls__ClientCaFile=" + file(t, "ca.crt", string(pemOf("CERTIFICATE", ca.cert.Raw))), "Server__Tls__RequireClientCert=true",
	}, known...)
	e := start(t, env, "-data", t.TempDir())
	with := func(a *authority) *tls.Config {
		pair, err := tls.X509KeyPair(a.issue(x509.ExtKeyUsageClientAuth))
		require.NoError(t, err)
		return &tls.Config{RootCAs: ca.pool(), Certificates: []tls.Certificate{pair}}
	}
	for name, c := range map[string]*tls.Config{"none": {RootCAs: ca.pool()}, "of a stranger": with(stranger)} {
		_, err := (&http.Client{Transport: &http.Transport{TLSClientConfig: c}}).Get(e.url + "/health")
		require.ErrorContains(t, err, "certificate", name)
		s := connect(t, e.url, e.addr, "", http.DefaultClient, credentials.NewTLS(c))
		_, err = s.grpc.ReadTag(s.rpc(), &platformv1.ReadTagRequest{TagName: "x"})
		require.Equal(t, codes.Unavailable, status.Code(err), err)
	}
	s := e.secure(with(ca))
	require.Equal(t, http.StatusOK, s.status())
	_, err := s.grpc.ReadTag(s.rpc(), &platformv1.ReadTagRequest{TagName: "x"})
	require.Equal(t, codes.NotFound, status.Code(err), err)
}

func TestTLSFilesThatAreWrong(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	cert, _ := ca.issue(x509.ExtKeyUsageServerAuth)
	_, otherKey := ca.issue(x509.ExtKeyUsageServerAuth)
	certFile := "Server__Tls__CertFile=" + file(t, "tls.crt", string(cert))
	for name, env := range map[string][]string{
		"key of another certificate": {certFile, "Server__Tls__KeyFile=" + file(t, "tls.key", string(otherKey))},
		"no such key":                {certFile, "Server__Tls__KeyFile=/nowhere/tls.key"},
		"no key":                     {certFile},
	} {
		data := filepath.Join(t.TempDir(), "data")
		for _, r := range []result{run(t, env, "", "-data", data, "-listen", "127.0.0.1:0"), run(t, env, "", "config", "check", "-data", data)} {
			require.Equal(t, 1, r.code, name)
			require.Contains(t, r.err, "ey", name)
		}
	}
}
