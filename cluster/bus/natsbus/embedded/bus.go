package embedded

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/otkit/otkit/cluster/bus"
	"github.com/otkit/otkit/cluster/bus/natsbus"
	"github.com/otkit/otkit/internal/backoff"
)

// Bus is a [bus.Bus] over a NATS server of its own. Make it with [Start]. Safe for concurrent use.
type Bus struct {
	*natsbus.Bus
	o    Options
	nats *server.Server
	stop context.CancelFunc // of watch
	done chan struct{}      // closed when watch has ended

	mu     sync.Mutex
	routes []string  // that are set
	tried  []string  // those, and others
	count  int       // of the servers that are connected
	since  time.Time // when it became zero, or more than that
}

var _ bus.Bus = (*Bus)(nil)

// Start starts the server. It does not wait for those of other engines.
func Start(ctx context.Context, o Options) (*Bus, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	settings, err := o.server()
	if err != nil {
		return nil, err
	}
	s, err := server.NewServer(settings)
	if err != nil {
		return nil, err
	}
	fatal := make(chan error, 1)
	s.SetLoggerV2(logger{o.Logger, fatal}, false, false, false)
	s.Start()
	conn, err := join(ctx, s, o, fatal)
	if err != nil {
		s.Shutdown()
		s.WaitForShutdown()
		return nil, err
	}
	watched, stop := context.WithCancel(context.Background())
	b := &Bus{Bus: conn, o: o, nats: s, stop: stop, done: make(chan struct{}), routes: slices.Clone(o.Routes), tried: slices.Clone(o.Routes), since: o.Now()}
	go b.watch(watched)
	return b, nil
}

// join waits until the server listens, and connects to it.
func join(ctx context.Context, s *server.Server, o Options, fatal <-chan error) (*natsbus.Bus, error) {
	for s.ClusterAddr() == nil {
		select {
		case err := <-fatal:
			return nil, err
		default:
		}
		if !backoff.Wait(ctx, time.Millisecond) {
			return nil, context.Cause(ctx)
		}
	}
	return natsbus.Connect(ctx, o.client(s))
}

// Addr returns where the server listens for those of other engines.
func (b *Bus) Addr() net.Addr { return b.nats.ClusterAddr() }

// maxTried is how many routes are tried. A plant has a few; more are of engines that have moved.
const maxTried = 256

// SetRoutes replaces [Options].Routes. Others that were named before are tried further on, as long as they are not too many: NATS would cut the connection to
// an engine that is not named any more, even if that runs and names this one.
func (b *Bus) SetRoutes(routes []string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	o := b.o
	o.Routes = slices.Clone(routes)
	for _, old := range b.tried {
		if len(o.Routes) < maxTried && !slices.Contains(o.Routes, old) {
			o.Routes = append(o.Routes, old)
		}
	}
	settings, err := o.server()
	if err != nil {
		return err
	}
	if err := b.nats.ReloadOptions(settings); err != nil {
		return err
	}
	b.routes, b.tried = o.Routes[:len(routes)], o.Routes
	return nil
}

// Status implements [bus.Bus]. The bus is up if there is no other engine in the routes, or at least one of the others is connected.
func (b *Bus) Status() bus.Status {
	s := b.Bus.Status()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.recount()
	if s.Up && b.since.After(s.Since) {
		s.Since = b.since
	}
	if s.Up && b.count == 0 && len(b.routes) > 0 {
		s.Up, s.Err = false, "no other engine is connected"
	}
	return s
}

// watch counts the servers that are connected, for the log.
func (b *Bus) watch(ctx context.Context) {
	defer close(b.done)
	for backoff.Wait(ctx, 100*time.Millisecond) {
		b.mu.Lock()
		b.recount()
		b.mu.Unlock()
	}
}

// recount counts the servers that are connected. The caller holds the lock.
func (b *Bus) recount() {
	count := b.nats.NumRoutes()
	if count == b.count {
		return
	}
	b.o.Logger.Info("engines connected to the embedded NATS", "others", count)
	if b.count == 0 || count == 0 {
		b.since = b.o.Now()
	}
	b.count = count
}

// Close implements [bus.Bus]. It stops the server.
func (b *Bus) Close(ctx context.Context) error {
	err := b.Bus.Close(ctx)
	b.stop()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-b.done
		b.nats.Shutdown()
		b.nats.WaitForShutdown()
	}()
	select {
	case <-ended:
		return err
	case <-ctx.Done():
		return errors.Join(err, context.Cause(ctx))
	}
}
