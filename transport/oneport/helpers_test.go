package oneport

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
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
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/peer"
)

// authority signs certificates for tests.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
	pem  []byte
}

func newAuthority(t testing.TB) *authority {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	a := &authority{cert: cert, key: key, pool: x509.NewCertPool(),
		pem: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
	a.pool.AddCert(cert)
	return a
}

// issue returns a certificate and its key as PEM.
func (a *authority) issue(t testing.TB, name string) (certPEM, keyPEM []byte) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	require.NoError(t, err)
	keyDER, err := x509.MarshalECPrivateKey(key)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})
}

// files are certificate files in a folder of the test.
type files struct{ cert, key, ca string }

func (a *authority) files(t testing.TB, name string) files {
	dir := t.TempDir()
	f := files{filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), filepath.Join(dir, "ca.pem")}
	certPEM, keyPEM := a.issue(t, name)
	require.NoError(t, os.WriteFile(f.cert, certPEM, 0o600))
	require.NoError(t, os.WriteFile(f.key, keyPEM, 0o600))
	require.NoError(t, os.WriteFile(f.ca, a.pem, 0o600))
	return f
}

// running is a Port with an HTTP and a gRPC server behind it.
type running struct {
	*Port
	served chan error
}

// start runs a Port until the test ends.
func start(t testing.TB, o Options) *running {
	if o.Addr == "" && o.Listener == nil {
		o.Addr = "127.0.0.1:0"
	}
	p, err := Listen(o)
	require.NoError(t, err)
	r := &running{Port: p, served: make(chan error, 3)}
	web := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		name := ""
		if req.TLS != nil && len(req.TLS.PeerCertificates) > 0 {
			name = req.TLS.PeerCertificates[0].Subject.CommonName
		}
		_, _ = fmt.Fprintf(w, "%s %s tls=%t client=%s", req.Proto, req.Method, req.TLS != nil, name)
	})}
	calls := grpc.NewServer(grpc.Creds(Credentials()))
	grpc_health_v1.RegisterHealthServer(calls, echo{})
	go func() { r.served <- p.Serve(context.Background()) }()
	go func() { _ = web.Serve(p.HTTP()); r.served <- nil }()
	go func() { _ = calls.Serve(p.GRPC()); r.served <- nil }()
	t.Cleanup(func() {
		require.NoError(t, p.Close())
		calls.Stop()
		_ = web.Close()
		for range 3 {
			require.NoError(t, <-r.served)
		}
	})
	return r
}

// echo answers a health check with the service name's length and the client's certificate.
type echo struct {
	grpc_health_v1.UnimplementedHealthServer
}

func (echo) Check(ctx context.Context, _ *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	p, _ := peer.FromContext(ctx)
	if info, ok := p.AuthInfo.(credentials.TLSInfo); ok && len(info.State.PeerCertificates) > 0 {
		return &grpc_health_v1.HealthCheckResponse{Status: grpc_health_v1.HealthCheckResponse_SERVICE_UNKNOWN}, nil
	}
	return &grpc_health_v1.HealthCheckResponse{Status: grpc_health_v1.HealthCheckResponse_SERVING}, nil
}

func check(t testing.TB, addr string, creds credentials.TransportCredentials) (grpc_health_v1.HealthCheckResponse_ServingStatus, error) {
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(creds))
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	answer, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	return answer.GetStatus(), err
}

func get(t testing.TB, url string, cfg *tls.Config) (string, error) {
	transport := &http.Transport{TLSClientConfig: cfg.Clone(), ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport, Timeout: 10 * time.Second}).Get(url)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(body), nil
}
