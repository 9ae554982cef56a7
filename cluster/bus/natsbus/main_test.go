package natsbus_test

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otkit/otkit/cluster/bus"
	"github.com/otkit/otkit/cluster/bus/bustest"
	"github.com/otkit/otkit/cluster/bus/natsbus"
	"github.com/otkit/otkit/internal/natstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = time.Minute

func connect(t testing.TB, o natsbus.Options) *natsbus.Bus {
	t.Helper()
	b, err := natsbus.Connect(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { closeBus(t, b) })
	return b
}

func closeBus(t testing.TB, b bus.Bus) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	require.NoError(t, b.Close(ctx))
}

func to(s *natstest.Server) natsbus.Options { return natsbus.Options{URLs: []string{s.URL()}} }

func TestBus(t *testing.T) {
	server := natstest.Start(t)
	bustest.TestBus(t, func(t *testing.T) (a, b bus.Bus) {
		o := to(server)
		o.Prefix = "test-" + time.Now().Format("150405_000000000")
		return connect(t, o), connect(t, o)
	})
}

// log is what a bus writes to its log.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *log) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }
