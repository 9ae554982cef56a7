package clusterpart_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/cluster"
	"github.com/otkit/otkit/cluster/bus"
	"github.com/otkit/otkit/transport/clusterapi/clusterpart"
	"github.com/otkit/otkit/transport/health"
	"github.com/otkit/otkit/transport/metrics/metricstest"
)

func (e *engine) health(t *testing.T) health.Result {
	t.Helper()
	return e.parts[1].Checks[0].Run(t.Context())
}

func TestAReportSaysHowTheEnginesAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		start := time.Now().UTC()
		a, b := both(t, p)
		for _, l := range a.of(t, "b").Leases {
			a.heard[l.Work[len("driver/"):]] = time.Second
			require.NotZero(t, l.Epoch)
		}
		a.heard[a.of(t, "b").Leases[1].Work[len("driver/"):]] = 2 * time.Second
		self, other := a.of(t, "a"), a.of(t, "b")
		require.True(t, self.Self)
		require.False(t, other.Self)
		require.Equal(t, "engine b", other.Name)
		require.Equal(t, start, other.Since)
		require.Equal(t, 2*time.Second, *other.ValueLag, "of the driver of which least was heard")
		require.Nil(t, self.ValueLag)
		require.Less(t, self.Lag, 2*time.Second)
		require.Less(t, other.Lag, 2*time.Second)
		report := a.Report(t.Context())
		require.Equal(t, "memory", report.Bus.Kind)
		require.True(t, report.Bus.Up)
		require.NoError(t, report.Database)
		require.Empty(t, report.Unassigned)
		require.Equal(t, health.Result{Status: health.Healthy, Description: "2 engines", Data: map[string]any{"engines": 2, "bus": "memory"}}, a.health(t))
		a.close(t)
		b.close(t)
	})
}

func TestWorkThatNoEngineDoesIsReportedWithItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		p.works[2].Requires = map[string]string{"hall": "north"}
		a := p.join("a")
		since := time.Now()
		pass(5 * time.Second)
		require.Equal(t, health.Healthy, a.health(t).Status, "another engine may be about to do it")
		pass(5 * time.Second)
		list := a.Report(t.Context()).Unassigned
		require.Len(t, list, 1)
		require.Equal(t, "driver/mixer", list[0].Name)
		require.WithinDuration(t, since, list[0].Since, time.Second)
		r := a.health(t)
		require.Equal(t, health.Degraded, r.Status)
		require.Equal(t, "1 engine; no engine does: driver/mixer", r.Description)
		require.Equal(t, 1, r.Data["unassigned"])

		b := p.join("b", func(o *clusterpart.Options) { o.Labels = map[string]string{"hall": "north"} })
		pass(10 * time.Second)
		require.Equal(t, health.Healthy, a.health(t).Status)
		require.Empty(t, a.Report(t.Context()).Unassigned)

		b.close(t)
		lost := time.Now()
		pass(10 * time.Second)
		list = a.Report(t.Context()).Unassigned
		require.Len(t, list, 1)
		require.WithinDuration(t, lost, list[0].Since, time.Second, "it was done in between")
		a.close(t)
	})
}

// away is a store that can be away.
type away struct {
	cluster.Store
	gone atomic.Bool
}

func (s *away) Renew(ctx context.Context, session cluster.Session) error {
	if s.gone.Load() {
		return errors.New("dial tcp 10.0.0.5:5432: connection refused")
	}
	return s.Store.Renew(ctx, session)
}

// deaf is a bus that can be down.
type deaf struct {
	bus.Bus
	down atomic.Bool
}

func (b *deaf) Status() bus.Status {
	s := b.Bus.Status()
	if b.down.Load() {
		s.Up, s.Err = false, "dial tcp 10.0.0.6:4222: connection refused"
	}
	return s
}

func TestHealthSaysWhatTheEnginesLack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		store, line := &away{Store: p.store}, &deaf{Bus: p.bus.Join()}
		a := p.join("a", func(o *clusterpart.Options) { o.Store, o.Bus = store, line })
		line.down.Store(true)
		pass(30 * time.Second)
		require.Equal(t, health.Healthy, a.health(t).Status, "an engine that is alone has nobody to send to")
		busUp := func() string { return metricstest.Scrape(t, a.parts[1].Metrics...)["otkit_cluster_bus_up"] }
		require.Equal(t, "1", busUp())
		line.down.Store(false)
		b := p.join("b")
		pass(30 * time.Second)
		require.Equal(t, health.Healthy, a.health(t).Status)

		line.down.Store(true)
		require.Equal(t, "0", busUp())
		r := a.health(t)
		require.Equal(t, health.Degraded, r.Status)
		require.Equal(t, "2 engines; the bus is down", r.Description, "everybody may read it: no addresses")
		line.down.Store(false)

		store.gone.Store(true)
		pass(2 * time.Second)
		r = a.health(t)
		require.Equal(t, health.Degraded, r.Status)
		require.Equal(t, "2 engines; the database does not answer, so that the session of this engine is not renewed", r.Description)
		report := a.Report(t.Context())
		require.EqualError(t, report.Database, "the database does not answer")
		require.Greater(t, a.of(t, "a").Lag, time.Second)
		store.gone.Store(false)
		pass(30 * time.Second)
		require.Equal(t, health.Healthy, a.health(t).Status)
		require.NoError(t, a.Report(t.Context()).Database)

		require.NoError(t, a.DrainEngine(t.Context(), "a", true))
		pass(5 * time.Second)
		r = a.health(t)
		require.Equal(t, health.Healthy, r.Status)
		require.Equal(t, "2 engines; this one is drained", r.Description)
		a.close(t)
		b.close(t)
	})
}

func TestMetricsCountLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		p.works[3].Requires = map[string]string{"hall": "north"}
		a := p.join("a")
		pass(5 * time.Second)
		scrape := func(e *engine) map[string]string {
			t.Helper()
			return metricstest.Scrape(t, e.parts[1].Metrics...)
		}
		got := scrape(a)
		require.Contains(t, got, "otkit_cluster_renewal_age_seconds")
		delete(got, "otkit_cluster_renewal_age_seconds")
		require.Equal(t, map[string]string{
			`otkit_cluster_engines{state="active"}`: "1", `otkit_cluster_engines{state="drained"}`: "0",
			`otkit_cluster_leases{kind="driver"}`: "3", `otkit_cluster_unassigned_works{kind="driver"}`: "1",
			`otkit_cluster_leases_taken_total{kind="driver"}`: "3",
			"otkit_cluster_bus_up":                            "1", "otkit_cluster_bus_lost_messages_total": "0",
		}, got)

		b := p.join("b")
		pass(time.Minute)
		require.NoError(t, a.DrainEngine(t.Context(), "a", true))
		pass(5 * time.Second)
		b.heard["pump"], b.heard["press"] = time.Second, time.Second
		a.heard["pump"] = 1500 * time.Millisecond
		got = scrape(a)
		require.Equal(t, "1", got[`otkit_cluster_engines{state="active"}`])
		require.Equal(t, "1", got[`otkit_cluster_engines{state="drained"}`])
		require.Equal(t, "0", got[`otkit_cluster_leases{kind="driver"}`])
		require.Equal(t, "3", got[`otkit_cluster_leases_left_total{cause="moved",kind="driver"}`])
		require.Equal(t, "1.5", got[`otkit_cluster_mirror_lag_seconds{engine="b"}`])
		require.NotContains(t, scrape(b), `otkit_cluster_mirror_lag_seconds{engine="a"}`, "it runs none")
		a.close(t)
		b.close(t)
	})
}

func TestMetricsTellWhyLeasesWereLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		store := &away{Store: p.store}
		a := p.join("a", func(o *clusterpart.Options) { o.Store = store })
		b := p.join("b")
		refused := errors.New("no such device")
		b.refuses.Store(&refused)
		pass(20 * time.Second)
		got := metricstest.Scrape(t, b.parts[1].Metrics...)
		require.Equal(t, got[`otkit_cluster_leases_taken_total{kind="driver"}`], got[`otkit_cluster_leases_left_total{cause="failed",kind="driver"}`])
		require.NotEqual(t, "0", got[`otkit_cluster_leases_left_total{cause="failed",kind="driver"}`])
		require.Contains(t, a.of(t, "b").Unable, "driver/pump")

		store.gone.Store(true)
		pass(4 * time.Second)
		got = metricstest.Scrape(t, a.parts[1].Metrics...)
		require.Equal(t, "4", got[`otkit_cluster_leases_left_total{cause="lost",kind="driver"}`])
		store.gone.Store(false)
		a.close(t)
		b.close(t)
	})
}

func TestAnEngineThatIsAloneShowsItself(t *testing.T) {
	broken := false
	e, err := clusterpart.NewEngines(nil, clusterpart.EnginesOptions{Engine: "a", Name: "engine a", Version: "1.2.3",
		Works: func() []string { return []string{"driver/pump", "driver/press"} },
		Ping: func(context.Context) error {
			if broken {
				return errors.New("disk I/O error")
			}
			return nil
		}})
	require.NoError(t, err)
	require.Empty(t, e.Part().Checks)
	require.Empty(t, e.Part().Metrics)
	report := e.Report(t.Context())
	require.Len(t, report.Engines, 1)
	require.True(t, report.Engines[0].Self)
	require.Equal(t, []cluster.Lease{{Work: "driver/press"}, {Work: "driver/pump"}}, report.Engines[0].Leases)
	require.Nil(t, report.Bus)
	require.NoError(t, report.Database)
	broken = true
	require.EqualError(t, e.Report(t.Context()).Database, "the database does not answer")
	err = e.Drain(t.Context(), "a", true)
	require.ErrorIs(t, err, cluster.ErrNoOtherEngine)
	require.EqualError(t, err, "no other engine is there to take the work over: engine a")
	require.ErrorIs(t, e.Drain(t.Context(), "b", true), cluster.ErrEngineNotFound)
	require.NoError(t, e.Drain(t.Context(), "a", false))
}

func TestOptions(t *testing.T) {
	_, err := clusterpart.NewEngines(nil, clusterpart.EnginesOptions{})
	require.ErrorContains(t, err, "EnginesOptions.Engine is required without a Cluster")
}
