package natsbus_test

import (
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/cluster/bus"
	"github.com/otkit/otkit/cluster/bus/natsbus"
	"github.com/otkit/otkit/internal/natstest"
)

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	require.Eventually(t, ok, patience, 5*time.Millisecond, what)
}

// line publishes rising numbers from one engine to another, which checks them and serves requests.
type line struct {
	t    testing.TB
	a, b *natsbus.Bus
	n    uint64
	last atomic.Uint64
}

func newLine(t testing.TB, a, b *natsbus.Bus) *line {
	t.Helper()
	l := &line{t: t, a: a, b: b}
	_, err := b.Subscribe("values", func(data []byte) {
		n := binary.BigEndian.Uint64(data)
		if n <= l.last.Load() {
			t.Errorf("%d came after %d", n, l.last.Load())
		}
		l.last.Store(n)
	})
	require.NoError(t, err)
	_, err = b.Serve("write", func(_ context.Context, data []byte) []byte { return data })
	require.NoError(t, err)
	return l
}

func (l *line) publish() error {
	l.n++
	return l.a.Publish("values", binary.BigEndian.AppendUint64(nil, l.n))
}

func (l *line) request() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, err := l.a.Request(ctx, "write", nil)
	return err
}

// works waits until messages and requests arrive.
func (l *line) works() {
	l.t.Helper()
	before := l.n
	eventually(l.t, "messages do not arrive", func() bool { return l.publish() == nil && l.last.Load() > before })
	eventually(l.t, "requests are not answered", func() bool { return l.request() == nil })
	for _, b := range []*natsbus.Bus{l.a, l.b} {
		s := b.Status()
		require.True(l.t, s.Up)
		require.Empty(l.t, s.Err)
	}
}

func TestAServerThatIsKilledAndStartedAgain(t *testing.T) {
	server := natstest.Start(t)
	var log log
	o := to(server)
	o.Logger = log.logger()
	l := newLine(t, connect(t, o), connect(t, to(server)))
	l.works()
	for range 3 {
		server.Kill()
		eventually(t, "the loss is not noticed", func() bool { return errors.Is(l.publish(), bus.ErrDown) && !l.a.Status().Up })
		require.ErrorIs(t, l.request(), bus.ErrDown)
		require.NotEmpty(t, l.a.Status().Err)
		require.WithinDuration(t, time.Now(), l.a.Status().Since, time.Minute)
		server.Start()
		l.works()
	}
	require.Contains(t, log.String(), "NATS not connected; retrying")
}

func TestAServerThatIsStartedLater(t *testing.T) {
	server := natstest.Start(t)
	server.Kill()
	a, b := connect(t, to(server)), connect(t, to(server))
	require.False(t, a.Status().Up)
	require.ErrorIs(t, a.Publish("values", nil), bus.ErrDown)
	l := newLine(t, a, b)
	server.Start()
	l.works()
}

func TestOneOfSeveralServersIsEnough(t *testing.T) {
	one := natstest.Start(t)
	two := natstest.Start(t)
	both := natsbus.Options{URLs: []string{one.URL(), two.URL()}}
	one.Kill()
	l := newLine(t, connect(t, both), connect(t, both))
	l.works()
	one.Start()
	two.Kill()
	l.works()
}

func TestPlantsAreKeptApartByThePrefix(t *testing.T) {
	server := natstest.Start(t)
	o := to(server)
	o.Prefix = "plant.north"
	north, south := connect(t, o), connect(t, to(server))
	newLine(t, north, south)
	require.ErrorIs(t, func() error { _, err := north.Request(t.Context(), "write", nil); return err }(), bus.ErrNoAnswer)
	l := newLine(t, north, connect(t, o))
	l.works()
}

func TestAServerWithSmallerMessages(t *testing.T) {
	server := natstest.Start(t, "max_payload: 500000")
	_, err := natsbus.Connect(t.Context(), to(server))
	require.ErrorIs(t, err, natsbus.ErrRefused)
	require.ErrorContains(t, err, "max_payload is 500000 bytes, but at least 524288 are needed")

	server.Configure()
	server.Kill()
	server.Start()
	l := newLine(t, connect(t, to(server)), connect(t, to(server)))
	l.works()
	server.Configure("max_payload: 500000")
	server.Kill()
	server.Start()
	eventually(t, "the limit is not noticed", func() bool { _ = l.publish(); return l.a.Status().Err != "" && !l.a.Status().Up })
	eventually(t, "the reason is not told", func() bool { return strings.Contains(l.a.Status().Err, "max_payload is 500000") })
	server.Configure()
	server.Kill()
	server.Start()
	l.works()
}

func TestOptions(t *testing.T) {
	url := []string{"nats://127.0.0.1:1"}
	for _, test := range []struct {
		want string
		o    natsbus.Options
	}{
		{"Options.URLs is required", natsbus.Options{}},
		{"Options.Prefix must have", natsbus.Options{URLs: url, Prefix: "plant one"}},
		{"Options.Prefix must have", natsbus.Options{URLs: url, Prefix: "plant.>"}},
		{"Options.User is required", natsbus.Options{URLs: url, Password: "p"}},
		{"must have only one of", natsbus.Options{URLs: url, User: "u", Token: "t"}},
		{"must have only one of", natsbus.Options{URLs: url, CredsFile: "u", Token: "t"}},
		{"Options.Timeout must not be negative", natsbus.Options{URLs: url, Timeout: -1}},
		{"Options.URLs[1] must be like nats://nats-1:4222", natsbus.Options{URLs: []string{url[0], "nats://otkit:s3cret@127.0.0.1:no-port"}}},
		{"Options.URLs[0] must be like nats://nats-1:4222", natsbus.Options{URLs: []string{"https://otkit:s3cret@127.0.0.1"}}},
		{"Options.URLs[0] must be like nats://nats-1:4222", natsbus.Options{URLs: []string{"nats-1:4222"}}},
	} {
		_, err := natsbus.Connect(t.Context(), test.o)
		require.ErrorContains(t, err, test.want)
		require.NotContains(t, err.Error(), "s3cret")
	}
}
