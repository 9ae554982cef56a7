package server_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/engine"
	pb "github.com/otkit/otkit/proto/platform/v1"
	"github.com/otkit/otkit/transport/oneport"
)

// selfSigned writes a certificate for 127.0.0.1 and gives its files and what trusts it.
func selfSigned(t testing.TB) (certFile, keyFile string, trust *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	keyDER, err := x509.MarshalECPrivateKey(key)
	require.NoError(t, err)
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	require.NoError(t, os.WriteFile(certFile, certPEM, 0o600))
	require.NoError(t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}), 0o600))
	trust = x509.NewCertPool()
	require.True(t, trust.AppendCertsFromPEM(certPEM))
	return certFile, keyFile, trust
}

func TestOnePortServesRESTAndGRPCOverTLS(t *testing.T) {
	t.Parallel()
	certFile, keyFile, trust := selfSigned(t)
	p := start(t, func(o *engine.Options) {
		var err error
		o.Server.TLS, err = oneport.Certificates(oneport.CertificateOptions{CertFile: certFile, KeyFile: keyFile})
		require.NoError(t, err)
	})
	p.url = "https://" + p.Addr().String()
	transport := http.DefaultTransport.(*http.Transport).Clone() // offers h2 and http/1.1, as Go's default client does
	transport.TLSClientConfig = &tls.Config{RootCAs: trust}
	require.True(t, transport.ForceAttemptHTTP2)
	t.Cleanup(transport.CloseIdleConnections)
	p.client = &http.Client{Transport: judge(t, transport)}

	require.Equal(t, 200, p.call(accounts.Viewer, http.MethodGet, "/api/v1/tags/line.flag", nil).status)
	s := p.stream("?tagNames=line.flag")
	defer s.stop()
	require.Equal(t, "line.flag", s.next()[0].TagName)

	conn, err := grpc.NewClient(p.Addr().String(), grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: trust})))
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	r, err := pb.NewPlatformApiClient(conn).ReadTag(p.as(t.Context(), accounts.Viewer), &pb.ReadTagRequest{TagName: "line.flag"})
	require.NoError(t, err)
	require.True(t, r.GetTag().GetCurrentValue().GetBoolValue())

	plain, err := http.Get("http://" + p.Addr().String() + "/health/live") // told, not hung up on
	require.NoError(t, err)
	require.Equal(t, http.StatusBadRequest, plain.StatusCode)
	require.NoError(t, plain.Body.Close())
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}
