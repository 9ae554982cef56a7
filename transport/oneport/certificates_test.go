package oneport

import (
	"bytes"
	"crypto/tls"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// hands is a clock that a test moves.
type hands struct {
	mu  sync.Mutex
	now time.Time
}

func (h *hands) Now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *hands) move(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

// write replaces a file and makes sure that its time differs, whatever the file system's grain.
func write(t *testing.T, name string, data []byte, age time.Duration) {
	require.NoError(t, os.WriteFile(name, data, 0o600))
	require.NoError(t, os.Chtimes(name, time.Time{}, time.Now().Add(age)))
}

func TestCertificatesAreReloaded(t *testing.T) {
	ca := newAuthority(t)
	f := ca.files(t, "first")
	clock := &hands{now: time.Now()}
	var log bytes.Buffer
	cfg, err := Certificates(CertificateOptions{CertFile: f.cert, KeyFile: f.key, Now: clock.Now,
		Logger: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	p := start(t, Options{TLS: cfg})
	served := func() string {
		c, err := tls.Dial("tcp", p.Addr().String(), &tls.Config{RootCAs: ca.pool, ServerName: "localhost", NextProtos: []string{"h2"}})
		require.NoError(t, err)
		defer func() { _ = c.Close() }()
		require.Equal(t, "h2", c.ConnectionState().NegotiatedProtocol)
		return c.ConnectionState().PeerCertificates[0].Subject.CommonName
	}
	require.Equal(t, "first", served())

	certPEM, keyPEM := ca.issue(t, "second")
	write(t, f.cert, certPEM, time.Minute)
	require.Equal(t, "first", served(), "files are looked at once a second")
	clock.move(time.Second)
	require.Equal(t, "first", served(), "the new certificate does not fit the old key")
	require.Contains(t, log.String(), "last good ones stay")
	write(t, f.key, keyPEM, time.Minute)
	clock.move(time.Second)
	require.Equal(t, "second", served())

	write(t, f.cert, []byte("broken"), 2*time.Minute)
	clock.move(time.Second)
	require.Equal(t, "second", served())
	require.NoError(t, os.Remove(f.cert))
	clock.move(time.Second)
	require.Equal(t, "second", served())
	lines := bytes.Count(log.Bytes(), []byte("\n"))
	clock.move(time.Second)
	require.Equal(t, "second", served())
	require.Equal(t, lines, bytes.Count(log.Bytes(), []byte("\n")), "the same broken files are reported once")
}

func TestClientCertificates(t *testing.T) {
	ca, stranger := newAuthority(t), newAuthority(t)
	f := ca.files(t, "server")
	pair := func(a *authority) []tls.Certificate {
		certPEM, keyPEM := a.issue(t, "robot-7")
		c, err := tls.X509KeyPair(certPEM, keyPEM)
		require.NoError(t, err)
		return []tls.Certificate{c}
	}
	known := &tls.Config{RootCAs: ca.pool, Certificates: pair(ca)}
	// A stranger that sends its certificate although the server names other authorities.
	strange := pair(stranger)
	unknown := &tls.Config{RootCAs: ca.pool, GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		return &strange[0], nil
	}}
	none := &tls.Config{RootCAs: ca.pool}

	for name, required := range map[string]bool{"optional": false, "required": true} {
		t.Run(name, func(t *testing.T) {
			cfg, err := Certificates(CertificateOptions{CertFile: f.cert, KeyFile: f.key, ClientCAFile: f.ca, RequireClientCert: required})
			require.NoError(t, err)
			p := start(t, Options{TLS: cfg})
			url := "https://" + p.Addr().String()

			body, err := get(t, url, known.Clone())
			require.NoError(t, err)
			require.Contains(t, body, "client=robot-7")
			status, err := check(t, p.Addr().String(), credentials.NewTLS(known.Clone()))
			require.NoError(t, err)
			require.Equal(t, grpc_health_v1.HealthCheckResponse_SERVICE_UNKNOWN, status, "the gRPC service sees the certificate")

			_, err = get(t, url, unknown.Clone())
			require.Error(t, err)
			_, err = get(t, url, none.Clone())
			require.Equal(t, required, err != nil, "%v", err)
			_, err = check(t, p.Addr().String(), credentials.NewTLS(none.Clone()))
			require.Equal(t, required, err != nil, "%v", err)
		})
	}
}

func TestOldTLSIsRefused(t *testing.T) {
	ca := newAuthority(t)
	f := ca.files(t, "server")
	cfg, err := Certificates(CertificateOptions{CertFile: f.cert, KeyFile: f.key})
	require.NoError(t, err)
	p := start(t, Options{TLS: cfg})
	_, err = tls.Dial("tcp", p.Addr().String(), &tls.Config{RootCAs: ca.pool, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11})
	require.ErrorContains(t, err, "protocol version")
}

func TestBadCertificateOptions(t *testing.T) {
	f := newAuthority(t).files(t, "server")
	for field, o := range map[string]CertificateOptions{
		"CertFile":          {KeyFile: f.key},
		"KeyFile":           {CertFile: f.cert},
		"RequireClientCert": {CertFile: f.cert, KeyFile: f.key, RequireClientCert: true},
		"ClientCAFile":      {CertFile: f.cert, KeyFile: f.key, ClientCAFile: f.key},
		"ClientCAFile:":     {CertFile: f.cert, KeyFile: f.key, ClientCAFile: f.ca + "x"},
		"CertFile and":      {CertFile: f.key, KeyFile: f.key},
	} {
		_, err := Certificates(o)
		require.ErrorContains(t, err, field)
	}
}
