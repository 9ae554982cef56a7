package plantest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/cluster"
	"github.com/otkit/otkit/cluster/bus"
	"github.com/otkit/otkit/transport/clusterapi/clusterpart"
	"github.com/otkit/otkit/transport/server"
)

// Plant has the sessions and the bus of engines of one process.
type Plant struct {
	t     testing.TB
	store *cluster.Memory
	bus   *bus.Memory
}

// New returns a plant without engines.
func New(t testing.TB) *Plant {
	return &Plant{t: t, store: cluster.NewMemory(), bus: bus.NewMemory()}
}

// Engine is an engine of a plant. Make its parts with Cluster, then Start it with them.
type Engine struct {
	Cluster *clusterpart.Cluster

	t    testing.TB
	way  *way
	part server.Part
	stop context.CancelFunc // of its jobs
	jobs sync.WaitGroup
	once sync.Once
}

// Join adds an engine, which leaves at the end of the test.
func (p *Plant) Join(id string) *Engine {
	p.t.Helper()
	e := &Engine{t: p.t, way: &way{Store: p.store}}
	var err error
	e.Cluster, err = clusterpart.New(p.t.Context(), clusterpart.Options{Store: e.way, Bus: p.bus.Join(), Engine: id})
	require.NoError(p.t, err)
	e.part = e.Cluster.Part()
	p.t.Cleanup(e.Leave)
	return e
}

// Start begins the work of the engine, and runs the jobs of parts.
func (e *Engine) Start(parts ...server.Part) {
	ctx, stop := context.WithCancel(context.Background())
	e.stop = stop
	e.part.Start()
	for _, p := range parts {
		if p.Start != nil {
			p.Start()
		}
		for _, job := range p.Jobs {
			e.jobs.Go(func() { job(ctx) })
		}
	}
}

// Cut takes the engine off the database, as if it hung: it loses its leases after the TTL, and the others take them over.
func (e *Engine) Cut(cut bool) { e.way.cut.Store(cut) }

// Leave ends the jobs, gives the work to the other engines and leaves.
func (e *Engine) Leave() {
	e.once.Do(func() {
		if e.stop != nil {
			e.stop()
			e.jobs.Wait()
		}
		require.NoError(e.t, e.part.Drain(context.Background()))
		require.NoError(e.t, e.part.Close(context.Background()))
	})
}

// way is the way of one engine to the store, which can be cut.
type way struct {
	cluster.Store
	cut atomic.Bool
}

var errCut = errors.New("the database is away")

func (w *way) check() error {
	if w.cut.Load() {
		return errCut
	}
	return nil
}

func (w *way) Renew(ctx context.Context, s cluster.Session) error {
	if err := w.check(); err != nil {
		return err
	}
	return w.Store.Renew(ctx, s)
}

func (w *way) State(ctx context.Context) (cluster.State, error) {
	if err := w.check(); err != nil {
		return cluster.State{}, err
	}
	return w.Store.State(ctx)
}

func (w *way) End(ctx context.Context, session string, beat uint64) (bool, error) {
	if err := w.check(); err != nil {
		return false, err
	}
	return w.Store.End(ctx, session, beat)
}

func (w *way) Lose(ctx context.Context, s cluster.Session, at time.Time) (bool, error) {
	if err := w.check(); err != nil {
		return false, err
	}
	return w.Store.Lose(ctx, s, at)
}

func (w *way) Forget(ctx context.Context, session string) error {
	if err := w.check(); err != nil {
		return err
	}
	return w.Store.Forget(ctx, session)
}

func (w *way) Claim(ctx context.Context, session string, works []string) ([]cluster.Lease, error) {
	if err := w.check(); err != nil {
		return nil, err
	}
	return w.Store.Claim(ctx, session, works)
}

func (w *way) Release(ctx context.Context, session string, works []string, successor string) error {
	if err := w.check(); err != nil {
		return err
	}
	return w.Store.Release(ctx, session, works, successor)
}
