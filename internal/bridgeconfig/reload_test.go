package bridgeconfig_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/bridgeconfig"
)

// putCertificate writes a new certificate in files that look as before: the same sizes, the same times.
func putCertificate(t *testing.T, certFile, keyFile string) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	at := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	template := &x509.Certificate{SerialNumber: big.NewInt(7), NotBefore: at, NotAfter: at.AddDate(50, 0, 0), DNSNames: []string{"localhost"}}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	require.NoError(t, err)
	key, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	for path, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: cert}, keyFile: {Type: "PRIVATE KEY", Bytes: key}} {
		require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(block), 0o600))
		require.NoError(t, os.Chtimes(path, at, at))
	}
}

func TestAReloadReadsTheFilesOfTheCertificate(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	putCertificate(t, certFile, keyFile)
	t.Setenv("Server__Tls__CertFile", certFile)
	t.Setenv("Server__Tls__KeyFile", keyFile)
	s, problems, _, err := bridgeconfig.Read(nil, os.Environ(), nil, nil)
	require.NoError(t, err)
	log := slog.New(slog.DiscardHandler)
	o, certificates := s.Build(problems, "bridge-1", "1", log)
	require.NoError(t, problems.Err())
	served := func() []byte {
		config, err := o.Server.TLS.GetConfigForClient(nil)
		require.NoError(t, err)
		return config.Certificates[0].Certificate[0]
	}
	before := served()
	putCertificate(t, certFile, keyFile)
	var lines bytes.Buffer
	var level slog.LevelVar
	s.Reload(nil, nil, &level, certificates, slog.New(slog.NewTextHandler(&lines, nil)))
	require.NotEqual(t, before, served())
	require.Contains(t, lines.String(), "msg=reloaded")
}
