package natsbus_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/cluster/bus/natsbus"
	"github.com/otkit/otkit/internal/natstest"
)

// refused checks that a server refuses an engine.
func refused(t testing.TB, o natsbus.Options) {
	t.Helper()
	_, err := natsbus.Connect(t.Context(), o)
	require.ErrorIs(t, err, natsbus.ErrRefused)
}

func TestPasswordsAndTokens(t *testing.T) {
	server := natstest.Start(t, `authorization { user: otkit, password: "s3cret" }`)
	o := to(server)
	refused(t, o)
	o.User, o.Password = "otkit", "wrong"
	refused(t, o)
	o.Password = "s3cret"
	l := newLine(t, connect(t, o), connect(t, o))
	l.works()
	connect(t, natsbus.Options{URLs: []string{"nats://otkit:s3cret@" + server.Addr()}})

	// The administrator changes the password, and back: an engine that runs waits for it.
	server.Configure(`authorization { user: otkit, password: "other" }`)
	server.Kill()
	server.Start()
	eventually(t, "the refusal is not told", func() bool { return strings.Contains(l.a.Status().Err, "Authorization Violation") })
	server.Configure(`authorization { user: otkit, password: "s3cret" }`)
	server.Kill()
	server.Start()
	l.works()

	server.Configure(`authorization { token: "t0ken" }`)
	server.Kill()
	server.Start()
	o = to(server)
	o.Token = "wrong"
	refused(t, o)
	o.Token = "t0ken"
	newLine(t, connect(t, o), connect(t, o)).works()
}

func TestPermissions(t *testing.T) {
	server := natstest.Start(t, `authorization { users: [
		{ user: all, password: p, permissions: { publish: "otkit.>", subscribe: "otkit.>" } }
		{ user: hears, password: p, permissions: { publish: "other.>", subscribe: "otkit.>" } }
		{ user: says, password: p, permissions: { publish: "otkit.>", subscribe: "other.>" } }
	] }`)
	for _, user := range []string{"hears", "says"} {
		o := to(server)
		o.User, o.Password = user, "p"
		_, err := natsbus.Connect(t.Context(), o)
		require.ErrorIs(t, err, natsbus.ErrRefused)
		require.ErrorContains(t, err, "must be allowed to publish and to subscribe to otkit.>")
	}
	o := to(server)
	o.User, o.Password = "all", "p"
	newLine(t, connect(t, o), connect(t, o)).works()
}

// account makes an operator with an account and a user, and returns the configuration of a server and the user's file.
func account(t testing.TB) (config, file string) {
	t.Helper()
	pair := func(kind func() (nkeys.KeyPair, error)) (nkeys.KeyPair, string) {
		key, err := kind()
		require.NoError(t, err)
		public, err := key.PublicKey()
		require.NoError(t, err)
		return key, public
	}
	operator, operatorID := pair(nkeys.CreateOperator)
	owner, accountID := pair(nkeys.CreateAccount)
	user, userID := pair(nkeys.CreateUser)
	operatorJWT, err := jwt.NewOperatorClaims(operatorID).Encode(operator)
	require.NoError(t, err)
	accountJWT, err := jwt.NewAccountClaims(accountID).Encode(operator)
	require.NoError(t, err)
	userJWT, err := jwt.NewUserClaims(userID).Encode(owner)
	require.NoError(t, err)
	seed, err := user.Seed()
	require.NoError(t, err)
	text, err := jwt.FormatUserConfig(userJWT, seed)
	require.NoError(t, err)
	file = filepath.Join(t.TempDir(), "engine.creds")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	return fmt.Sprintf("operator: %s\nresolver: MEMORY\nresolver_preload: { %s: %s }", operatorJWT, accountID, accountJWT), file
}

func TestCredentials(t *testing.T) {
	config, file := account(t)
	_, foreign := account(t)
	server := natstest.Start(t, config)
	o := to(server)
	refused(t, o)
	o.CredsFile = foreign
	refused(t, o)
	o.CredsFile = file
	newLine(t, connect(t, o), connect(t, o)).works()
}

// trusting returns a configuration that trusts an authority.
func trusting(t testing.TB, a *natstest.Authority) *tls.Config {
	t.Helper()
	text, err := os.ReadFile(a.CAFile())
	require.NoError(t, err)
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(text))
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}

func TestTLS(t *testing.T) {
	ours, foreign := natstest.NewAuthority(t), natstest.NewAuthority(t)
	cert, key := ours.Issue("server")
	secure := fmt.Sprintf("tls { cert_file: %q, key_file: %q, ca_file: %q, verify: ", cert, key, ours.CAFile())
	server := natstest.Start(t, secure+"false }")
	o := to(server)
	refused(t, o) // the system's authorities
	o.TLS = trusting(t, foreign)
	refused(t, o)
	o.TLS = trusting(t, ours)
	newLine(t, connect(t, o), connect(t, o)).works()

	server.Configure(secure + "true }")
	server.Kill()
	server.Start()
	refused(t, o)
	pair := func(a *natstest.Authority) []tls.Certificate {
		cert, key := a.Issue("engine")
		pair, err := tls.LoadX509KeyPair(cert, key)
		require.NoError(t, err)
		return []tls.Certificate{pair}
	}
	o.TLS.Certificates = pair(foreign)
	refused(t, o)
	o.TLS = trusting(t, ours)
	o.TLS.Certificates = pair(ours)
	newLine(t, connect(t, o), connect(t, o)).works()

	server.Configure()
	server.Kill()
	server.Start()
	refused(t, o) // it wants encryption, and the server has none
}
