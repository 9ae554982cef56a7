package embedded_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/cluster/bus"
	"github.com/otkit/otkit/cluster/bus/bustest"
	"github.com/otkit/otkit/cluster/bus/natsbus/embedded"
	"github.com/otkit/otkit/internal/natstest"
	"github.com/otkit/otkit/internal/realtest"
)

const patience = time.Minute

func start(t testing.TB, o embedded.Options) *embedded.Bus {
	t.Helper()
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	b, err := embedded.Start(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { closeBus(t, b) })
	return b
}

func closeBus(t testing.TB, b bus.Bus) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	require.NoError(t, b.Close(ctx))
}

func TestBus(t *testing.T) {
	bustest.TestBus(t, func(t *testing.T) (a, b bus.Bus) {
		one := start(t, embedded.Options{})
		return one, start(t, embedded.Options{Routes: routesTo(one)})
	})
}

func routesTo(list ...*embedded.Bus) (routes []string) {
	for _, b := range list {
		routes = append(routes, b.Addr().String())
	}
	return routes
}

// joined waits until messages of one engine arrive at another.
func joined(t testing.TB, from, to *embedded.Bus) {
	t.Helper()
	got := make(chan struct{}, 1)
	cancel, err := to.Subscribe("values", func([]byte) {
		select {
		case got <- struct{}{}:
		default:
		}
	})
	require.NoError(t, err)
	defer cancel()
	require.Eventually(t, func() bool {
		require.NoError(t, from.Publish("values", nil))
		return len(got) > 0
	}, patience, 5*time.Millisecond, "messages do not arrive")
}

// apart checks that engines do not join for a while that is long enough for others.
func apart(t testing.TB, a, b *embedded.Bus) {
	t.Helper()
	cancel, err := b.Subscribe("values", func([]byte) { t.Error("a message arrives") })
	require.NoError(t, err)
	defer cancel()
	for end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		require.NoError(t, a.Publish("values", nil))
	}
	require.False(t, b.Status().Up)
	require.Equal(t, "no other engine is connected", b.Status().Err)
}

func TestAnEngineThatGoesAndComes(t *testing.T) {
	port := realtest.FreePort(t)
	address := (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}).String()
	seed := start(t, embedded.Options{})
	two := start(t, embedded.Options{Routes: routesTo(seed)})
	for range 3 {
		three := start(t, embedded.Options{Listen: address, Routes: routesTo(seed)})
		joined(t, three, seed)
		joined(t, two, three) // which neither has been told of
		joined(t, three, two)
		closeBus(t, three)
		require.ErrorIs(t, three.Publish("values", nil), bus.ErrClosed)
		joined(t, seed, two)
	}
	require.True(t, two.Status().Up)
	require.Equal(t, "embedded NATS", two.Status().Kind)
	closeBus(t, seed)
	require.Eventually(t, func() bool { return !two.Status().Up }, patience, 5*time.Millisecond)
	require.Equal(t, "no other engine is connected", two.Status().Err)
	require.WithinDuration(t, time.Now(), two.Status().Since, time.Minute)
}

func TestRoutesThatChange(t *testing.T) {
	one, two, three := start(t, embedded.Options{}), start(t, embedded.Options{}), start(t, embedded.Options{})
	began := one.Status().Since
	require.True(t, one.Status().Up, "without routes an engine expects nobody")
	require.NoError(t, one.SetRoutes(routesTo(two)))
	joined(t, one, two)
	require.NoError(t, one.SetRoutes(routesTo(two, three)))
	joined(t, three, one)
	joined(t, two, three)
	require.NoError(t, one.SetRoutes(routesTo(three)))
	joined(t, one, three)
	joined(t, two, one)
	require.ErrorContains(t, one.SetRoutes([]string{"nowhere"}), "Options.Routes[0] must be like engine-1:6222")
	require.NoError(t, one.SetRoutes(nil))
	joined(t, one, two)
	connected := one.Status().Since
	require.True(t, connected.After(began))
	closeBus(t, two)
	closeBus(t, three)
	require.Eventually(t, func() bool { return one.Status().Since.After(connected) }, patience, 5*time.Millisecond, "the loss is not noticed")
	require.True(t, one.Status().Up, "it expects nobody again")
}

func TestAnotherPasswordOrPlantIsRefused(t *testing.T) {
	seed := start(t, embedded.Options{Password: "p@ss:w/rd"})
	apart(t, seed, start(t, embedded.Options{Routes: routesTo(seed)}))
	apart(t, seed, start(t, embedded.Options{Routes: routesTo(seed), Password: "other"}))
	apart(t, seed, start(t, embedded.Options{Routes: routesTo(seed), Password: "p@ss:w/rd", Prefix: "south"}))
	joined(t, seed, start(t, embedded.Options{Routes: routesTo(seed), Password: "p@ss:w/rd"}))
}

// secure returns a configuration of both ends of a route.
func secure(t testing.TB, a *natstest.Authority) *tls.Config {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(a.Issue("engine"))
	require.NoError(t, err)
	text, err := os.ReadFile(a.CAFile())
	require.NoError(t, err)
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(text))
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, RootCAs: pool, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert}
}

func TestTLSOfRoutes(t *testing.T) {
	ours, foreign := natstest.NewAuthority(t), natstest.NewAuthority(t)
	seed := start(t, embedded.Options{TLS: secure(t, ours)})
	apart(t, seed, start(t, embedded.Options{Routes: routesTo(seed)}))
	apart(t, seed, start(t, embedded.Options{Routes: routesTo(seed), TLS: secure(t, foreign)}))
	without := secure(t, ours)
	without.Certificates = nil
	apart(t, seed, start(t, embedded.Options{Routes: routesTo(seed), TLS: without}))
	two := start(t, embedded.Options{Routes: routesTo(seed), TLS: secure(t, ours)})
	joined(t, seed, two)
	three := start(t, embedded.Options{TLS: secure(t, ours)})
	require.NoError(t, two.SetRoutes(routesTo(seed, three)))
	joined(t, three, two)
}

func TestOptions(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	for _, test := range []struct {
		want string
		o    embedded.Options
	}{
		{"Options.Listen is required", embedded.Options{}},
		{"Options.Listen must be like engine-1:6222", embedded.Options{Listen: "6222"}},
		{"Options.Listen must be like engine-1:6222", embedded.Options{Listen: ":65536"}},
		{"Options.Advertise must be like engine-1:6222", embedded.Options{Listen: "127.0.0.1:0", Advertise: ":6222"}},
		{"Options.Routes[1] must be like engine-1:6222", embedded.Options{Listen: "127.0.0.1:0", Routes: []string{"a:1", "nats://a:1"}}},
		{"Options.Prefix must have", embedded.Options{Listen: "127.0.0.1:0", Prefix: "plant one"}},
		{"address already in use", embedded.Options{Listen: l.Addr().String()}},
	} {
		_, err := embedded.Start(t.Context(), test.o)
		require.ErrorContains(t, err, test.want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = embedded.Start(ctx, embedded.Options{Listen: "127.0.0.1:0"})
	require.ErrorIs(t, err, context.Canceled)
}
