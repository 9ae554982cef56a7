package discoverypart

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/discovery"
	"github.com/otkit/otkit/transport/bridgelink"
)

func certificate(t *testing.T) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: big.NewInt(1)}, &x509.Certificate{}, &key.PublicKey, key)
	require.NoError(t, err)
	leaf, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, bridgelink.Pin(leaf)
}

// The pin is that of the certificate which the server would show now.
func TestPinsOfTheCertificateInUse(t *testing.T) {
	first, firstPin := certificate(t)
	second, secondPin := certificate(t)
	require.NotEqual(t, firstPin, secondPin)
	require.Empty(t, Endpoint{}.pins())
	require.Empty(t, Endpoint{TLS: &tls.Config{}}.pins())
	fixed := &tls.Config{Certificates: []tls.Certificate{first}}
	require.Equal(t, []string{firstPin}, Endpoint{TLS: fixed}.pins())
	asked := &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &second, nil }}
	require.Equal(t, []string{secondPin}, Endpoint{TLS: asked}.pins())
	changing := &tls.Config{Certificates: fixed.Certificates, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return asked, nil }}
	require.Equal(t, []string{secondPin}, Endpoint{TLS: changing}.pins())
}

func TestTheURLOfTheEngine(t *testing.T) {
	at := func(addr string) Endpoint {
		a, err := net.ResolveTCPAddr("tcp", addr)
		require.NoError(t, err)
		return Endpoint{Addr: func() net.Addr { return a }}
	}
	for _, c := range []struct {
		o      Options
		bridge string
		want   string
	}{
		{Options{Endpoint: at(":5001")}, "http://127.0.0.1:5100", "http://127.0.0.1:5001"},
		{Options{Endpoint: at(":5001")}, "http://[::1]:5100", "http://[::1]:5001"},
		{Options{Endpoint: at("10.9.8.7:5001")}, "http://127.0.0.1:5100", "http://10.9.8.7:5001"},
		{Options{Endpoint: Endpoint{Addr: at(":443").Addr, TLS: &tls.Config{}}}, "https://127.0.0.1", "https://127.0.0.1:443"},
		{Options{Endpoint: at("127.0.0.1:5001")}, "http://127.0.0.1:5100", "http://127.0.0.1:5001"},
		{Options{EngineURL: "https://engine", Endpoint: Endpoint{TLS: &tls.Config{}}}, "http://127.0.0.1", "https://engine"},
		{Options{EngineURL: "http://engine:5001", Endpoint: at(":5001")}, "http://127.0.0.1", "http://engine:5001"},
	} {
		url, err := (&Discovery{opts: c.o}).engineURL(t.Context(), c.bridge)
		require.NoError(t, err)
		require.Equal(t, c.want, url)
	}
	for _, o := range []Options{{}, {Endpoint: at("127.0.0.1:5001")}, {EngineURL: "https://engine", Endpoint: at(":5001")}} {
		_, err := (&Discovery{opts: o}).engineURL(t.Context(), "http://10.9.8.7:5100")
		require.ErrorIs(t, err, discovery.ErrNoEngineURL)
	}
	for _, bad := range []string{"engine:5001", "ftp://engine", "http://", "http://u@engine", "http://engine/x", "http://engine?x"} {
		require.Error(t, CheckEngineURL(bad), bad)
	}
}
