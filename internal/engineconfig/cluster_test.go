package engineconfig_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otkit/otkit/cluster/bus"
	"github.com/otkit/otkit/internal/engineconfig"
	"github.com/otkit/otkit/internal/natstest"
	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/internal/realtest"
	"github.com/otkit/otkit/internal/settings"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/busstore"
	"github.com/otkit/otkit/storage/postgres"
	"github.com/otkit/otkit/transport/metrics"
)

func TestMain(m *testing.M) {
	pgtest.Main(m, func() int {
		if err := goleak.Find(); err != nil {
			println(err.Error())
			return 1
		}
		return 0
	})
}

// problems returns what is wrong with settings.
func problems(t testing.TB, text string) error {
	t.Helper()
	e, p, _, err := engineconfig.Read(write(t, "engine.yaml", text), nil, make(settings.Origins))
	require.NoError(t, err)
	e.Build(p, "1", slog.New(slog.DiscardHandler), metrics.New(metrics.Options{}))
	return p.Err()
}

const shared = "storage: {driver: postgres, dsn: 'host=db'}\n"

func TestClusterSettings(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.pem")
	require.NoError(t, os.WriteFile(bad, []byte("no certificate"), 0o600))
	for text, want := range map[string]string{
		"cluster: {url: engine-1}":                                     "cluster.url must be like https://engine.example.com:5001",
		"cluster: {labels: {hall: [north]}}":                           "cluster.labels must be texts: hall is not",
		"cluster: {labels: {engine: x}}":                               "cluster.labels must not have engine, which every engine has",
		"cluster: {labels: {'': x}}":                                   "cluster.labels must have names of 1 to 60 bytes",
		"cluster: {bus: {url: nats-1}}":                                "cluster.bus.url must be like nats://nats-1:4222 or tls://nats-1:4222",
		"cluster: {bus: {url: 'nats://a, nats://u:s3cret@b'}}":         "cluster.bus.url must have no user; set cluster.bus.user and cluster.bus.password",
		"cluster: {bus: {url: 'nats://a,'}}":                           "cluster.bus.url must be like",
		"cluster: {bus: {url: 'nats://a', listen: ':6222'}}":           "cluster.bus.listen must be empty with cluster.bus.url",
		"cluster: {bus: {url: 'nats://a', password: s3cret}}":          "cluster.bus.user is needed with cluster.bus.password",
		"cluster: {bus: {url: 'nats://a', user: u, token: s3cret}}":    "cluster.bus.url must have only one of user, token and credsFile",
		"cluster: {bus: {user: u}}":                                    "cluster.bus.url is needed with cluster.bus.user",
		"cluster: {bus: {token: s3cret}}":                              "cluster.bus.url is needed with cluster.bus.token",
		"cluster: {bus: {password: s3cret}}":                           "cluster.bus.url is needed with cluster.bus.password",
		"cluster: {bus: {caFile: a}}":                                  "cluster.bus.url is needed with cluster.bus.caFile",
		"cluster: {bus: {url: 'nats://a', certFile: a}}":               "cluster.bus.keyFile is needed with cluster.bus.certFile",
		"cluster: {bus: {routes: ['b:6222']}}":                         "cluster.bus.listen is needed with cluster.bus.routes",
		"cluster: {bus: {advertise: 'b:6222'}}":                        "cluster.bus.listen is needed with cluster.bus.advertise",
		"cluster: {bus: {listen: '6222'}}":                             "cluster.bus.listen must be host:port or :port",
		"cluster: {bus: {listen: ':6222'}}":                            "cluster.bus.password is needed with cluster.bus.listen, or certFile, keyFile and caFile are",
		"cluster: {bus: {listen: ':6222', certFile: a, keyFile: b}}":   "cluster.bus.caFile is needed with cluster.bus.certFile",
		"cluster: {bus: {listen: ':6222', caFile: a}}":                 "cluster.bus.certFile is needed with cluster.bus.caFile",
		"cluster: {bus: {listen: '127.0.0.1:6222', routes: [b]}}":      `cluster.bus.routes[0] must be host:port, such as engine-2:6222, not "b"`,
		"cluster: {bus: {listen: '127.0.0.1:6222', advertise: ':1'}}":  `cluster.bus.advertise must be host:port, such as engine-1:6222, not ":1"`,
		"cluster: {bus: {prefix: 'a b'}}":                              `cluster.bus.prefix must have 1 to 100 letters, digits, - and _, in words separated by dots: "a b"`,
		"cluster: {bus: {url: 'tls://a', caFile: " + dir + "/none}}":   "cluster.bus is not usable: caFile: open",
		"cluster: {bus: {url: 'tls://a', caFile: " + bad + "}}":        "cluster.bus is not usable: caFile: has no certificate in PEM form",
		"cluster: {bus: {url: 'tls://a', certFile: /a, keyFile: /b}}":  "cluster.bus is not usable: certFile: open",
		"cluster: {bus: {listen: '127.0.0.1:6222', password: s3cret}}": "",
		"cluster: {bus: {url: 'nats://a,nats://b', token: t}, labels: {hall: north, floor: 3}, url: 'http://a:5001'}": "",
	} {
		err := problems(t, shared+text)
		if want == "" {
			require.NoError(t, err, text)
			continue
		}
		require.ErrorContains(t, err, want, text)
		require.NotContains(t, err.Error(), "s3cret")
	}
	require.ErrorContains(t, problems(t, "cluster: {bus: {url: 'nats://a'}}"), "cluster.bus.url is for engines that share a database; set storage.driver to postgres")
	require.ErrorContains(t, problems(t, "cluster: {bus: {listen: '127.0.0.1:6222'}}"), "cluster.bus.listen is for engines that share a database")
}

func TestLabels(t *testing.T) {
	e := load(t, settings.Options{File: write(t, "engine.yaml", "cluster: {labels: {hall: north, floor: 3, clean: true}}\ndiscovery: {engineUrl: 'http://a:5001'}"),
		Environ: []string{"Cluster__Labels__Hall=south", "Cluster__Labels__Line=7"}})
	labels, err := e.Cluster.LabelMap()
	require.NoError(t, err)
	require.Equal(t, map[string]string{"hall": "south", "floor": "3", "clean": "true", "Line": "7"}, labels)
	require.Equal(t, "http://a:5001", e.ClusterURL())
	e.Cluster.URL = "http://b:5001"
	require.Equal(t, "http://b:5001", e.ClusterURL())
	labels, err = engineconfig.Defaults().Cluster.LabelMap()
	require.NoError(t, err)
	require.Empty(t, labels)
}

// openBus opens the bus of an engine with some settings.
func openBus(t testing.TB, db *storage.DB, text string, log *bytes.Buffer) bus.Bus {
	t.Helper()
	e := load(t, settings.Options{File: write(t, "engine.yaml", shared+text)})
	b, err := e.Cluster.OpenBus(t.Context(), db, slog.New(slog.NewTextHandler(log, nil)))
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		require.NoError(t, b.Close(ctx))
	})
	return b
}

// joined waits until requests of one engine are answered by another.
func joined(t testing.TB, asks, serves bus.Bus) {
	t.Helper()
	cancel, err := serves.Serve("write", func(_ context.Context, data []byte) []byte { return data })
	require.NoError(t, err)
	defer cancel()
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := asks.Request(ctx, "write", nil)
		return err == nil
	}, time.Minute, 5*time.Millisecond)
}

func TestBusOverPostgreSQL(t *testing.T) {
	db, err := postgres.Open(t.Context(), postgres.Options{DSN: pgtest.DSN(t)}, busstore.Schema())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close(context.Background())) })
	var log bytes.Buffer
	a, b := openBus(t, db, "", &log), openBus(t, db, "", &bytes.Buffer{})
	require.Equal(t, "PostgreSQL", a.Status().Kind)
	require.Contains(t, log.String(), "engines send messages over PostgreSQL: neither cluster.bus.url nor cluster.bus.listen is set")
	joined(t, a, b)
}

func TestBusOverNATS(t *testing.T) {
	ours := natstest.NewAuthority(t)
	cert, key := ours.Issue("server")
	server := natstest.Start(t, fmt.Sprintf("tls { cert_file: %q, key_file: %q, ca_file: %q, verify: true }", cert, key, ours.CAFile()),
		`authorization { user: otkit, password: "s3cret" }`)
	cert, key = ours.Issue("engine")
	text := fmt.Sprintf("cluster: {bus: {url: 'tls://%s', user: otkit, password: s3cret, caFile: %q, certFile: %q, keyFile: %q, prefix: plant-a}}", server.Addr(), ours.CAFile(), cert, key)
	a, b := openBus(t, nil, text, &bytes.Buffer{}), openBus(t, nil, text, &bytes.Buffer{})
	require.Equal(t, "NATS", a.Status().Kind)
	joined(t, a, b)

	e := load(t, settings.Options{File: write(t, "engine.yaml", shared+text)})
	e.Cluster.Bus.Password = "wrong"
	_, err := e.Cluster.OpenBus(t.Context(), nil, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "cluster.bus: the NATS server cannot be used")

	ours.Issue("engine") // renewed
	server.Kill()
	server.Start()
	joined(t, a, b)
}

func TestBusOverServersOfTheEngines(t *testing.T) {
	ours := natstest.NewAuthority(t)
	cert, key := ours.Issue("engine")
	port := func() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(realtest.FreePort(t))) }
	one, two := port(), port()
	text := func(own, other string) string {
		return fmt.Sprintf("cluster: {bus: {listen: %q, routes: [%q], password: s3cret, caFile: %q, certFile: %q, keyFile: %q}}", own, other, ours.CAFile(), cert, key)
	}
	a, b := openBus(t, nil, text(one, two), &bytes.Buffer{}), openBus(t, nil, text(two, one), &bytes.Buffer{})
	require.Equal(t, "embedded NATS", a.Status().Kind)
	joined(t, a, b)
	ours.Issue("engine") // renewed
	c := openBus(t, nil, text(port(), one), &bytes.Buffer{})
	joined(t, c, b)

	var log bytes.Buffer
	openBus(t, nil, "cluster: {bus: {listen: '0.0.0.0:0', password: s3cret}}", &log)
	require.Contains(t, log.String(), "messages among engines are not encrypted")
}
