package modbus_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/simonvetter/modbus"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/driverconfig"
	driver "github.com/otkit/otkit/tags/modbus"
)

// selfSigned writes a certificate and its key for 127.0.0.1.
func selfSigned(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	require.NoError(t, os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}), 0o600))
	require.NoError(t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600))
	return certFile, keyFile
}

func TestTLS(t *testing.T) {
	certFile, keyFile := selfSigned(t)
	certificate, err := tls.LoadX509KeyPair(certFile, keyFile)
	require.NoError(t, err)
	pool, err := modbus.LoadCertPool(certFile)
	require.NoError(t, err)
	dev := startDevice(t)
	dev.stop(t)
	dev.set(1, "HR", 3, 42)
	server, err := modbus.NewServer(&modbus.ServerConfiguration{
		URL: "tcp+tls://" + dev.addr, TLSServerCert: &certificate, TLSClientCAs: pool, Logger: log.New(io.Discard, "", 0),
	}, dev)
	require.NoError(t, err)
	require.NoError(t, server.Start())
	t.Cleanup(func() { require.NoError(t, server.Stop()) })

	raw, err := json.Marshal(map[string]string{"Protocol": "tls", "CertFile": certFile, "KeyFile": keyFile, "CAFile": certFile})
	require.NoError(t, err)
	d, _, err := driver.FromSettings(driverconfig.Settings{ID: "plc", IPAddress: dev.addr, Settings: raw}, nil)
	require.NoError(t, err)
	require.NoError(t, d.Connect(t.Context()))
	defer func() { require.NoError(t, d.Close()) }()
	out := make([]tags.Reading, 1)
	require.NoError(t, d.Read(t.Context(), ints("HR:3"), out))
	requireReading(t, tags.IntValue(42), out[0])

	stranger, strangerKey := selfSigned(t)
	raw, err = json.Marshal(map[string]string{"Protocol": "TLS", "CertFile": stranger, "KeyFile": strangerKey, "CAFile": stranger})
	require.NoError(t, err)
	other, _, err := driver.FromSettings(driverconfig.Settings{ID: "plc", IPAddress: dev.addr, Settings: raw}, nil)
	require.NoError(t, err)
	require.ErrorIs(t, other.Connect(t.Context()), tags.ErrNotConnected)
	require.NoError(t, other.Close())
}
