package clusterpart_test

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otkit/otkit/cluster"
	"github.com/otkit/otkit/cluster/bus"
	"github.com/otkit/otkit/transport/clusterapi"
	"github.com/otkit/otkit/transport/clusterapi/clusterpart"
	"github.com/otkit/otkit/transport/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// plant is engines with the same work.
type plant struct {
	t     *testing.T
	store *cluster.Memory
	bus   *bus.Memory
	dir   string
	works []cluster.Work
}

// engine is one of them, with the jobs of its part running.
type engine struct {
	*clusterpart.Cluster
	*clusterpart.Engines
	bus     bus.Bus
	parts   []server.Part
	stop    func()
	heard   map[string]time.Duration // lags of drivers
	refuses atomic.Pointer[error]    // what its work ends with
	slow    time.Duration            // how long its work takes to end
}

func newPlant(t *testing.T) *plant {
	return &plant{t: t, store: cluster.NewMemory(), bus: bus.NewMemory(), dir: t.TempDir(),
		works: []cluster.Work{{Name: "pump"}, {Name: "press"}, {Name: "mixer"}, {Name: "oven"}}}
}

// file is where an engine finds that it is drained.
func (p *plant) file(id string) string { return filepath.Join(p.dir, id) }

func (p *plant) join(id string, change ...func(*clusterpart.Options)) *engine {
	p.t.Helper()
	e := &engine{bus: p.bus.Join(), heard: map[string]time.Duration{}}
	o := clusterpart.Options{Store: p.store, Bus: e.bus, Engine: id, Name: "engine " + id, Host: "host", Version: "1.2.3", DrainFile: p.file(id)}
	for _, c := range change {
		c(&o)
	}
	var err error
	e.Cluster, err = clusterpart.New(p.t.Context(), o)
	require.NoError(p.t, err)
	e.Engines, err = clusterpart.NewEngines(e.Cluster, clusterpart.EnginesOptions{Lag: func(driver string) (time.Duration, bool) {
		lag, ok := e.heard[driver]
		return lag, ok
	}})
	require.NoError(p.t, err)
	e.Handle("driver", func(ctx context.Context, _ string, _ *cluster.Held) error {
		if err := e.refuses.Load(); err != nil {
			return *err
		}
		<-ctx.Done()
		time.Sleep(e.slow)
		return nil
	})
	e.Set("driver", p.works)
	e.parts = []server.Part{e.Cluster.Part(), e.Engines.Part()}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	e.parts[0].Start()
	go func() {
		defer close(ended)
		e.parts[0].Jobs[0](ctx)
	}()
	e.stop = func() {
		cancel()
		<-ended
	}
	return e
}

// close stops the engine as a server does.
func (e *engine) close(t *testing.T) {
	t.Helper()
	e.stop()
	require.NoError(t, e.parts[0].Drain(context.Background()))
	require.NoError(t, e.parts[0].Close(context.Background()))
}

// pass lets time pass.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// owned returns how much each engine does, by id.
func (e *engine) owned(t *testing.T) map[string]int {
	t.Helper()
	owned := map[string]int{}
	for _, one := range e.Report(t.Context()).Engines {
		owned[one.Engine] = len(one.Leases)
	}
	return owned
}

// of returns how an engine sees another one, or itself.
func (e *engine) of(t *testing.T, id string) clusterapi.Engine {
	t.Helper()
	for _, one := range e.Report(t.Context()).Engines {
		if one.Engine == id {
			return one
		}
	}
	require.Fail(t, "there is no engine "+id)
	return clusterapi.Engine{}
}
