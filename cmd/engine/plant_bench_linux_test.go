package main_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/metadata"

	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/internal/realtest"
	"github.com/otkit/otkit/openapi/client"
	platformv1 "github.com/otkit/otkit/proto/platform/v1"
)

// BenchmarkPlant tells what 100,000 tags at 1 Hz cost three engines, each of which runs a third of the drivers and shows the tags of all, and how much later than a client of
// the engine that runs the driver a client of another engine has a change. Engines and PostgreSQL are processes of their own, the clients are this one. The history is what the
// run without it lacks: compare the processor times of all. Of the tags about 65 % change with each reading; with changes=100,000 there are so many more that all of 100,000 do.
// The last run is one engine alone. Run it with -benchtime 1x. OTKIT_PLANT_SECONDS says how long a plant is measured, and how long it runs before; the history's compaction
// has its usual share after three minutes.
func BenchmarkPlant(b *testing.B) {
	const tags, more = 8_334, 12_920 // of each of 12 drivers
	b.Run("bus=nats", func(b *testing.B) { benchmarkPlant(b, 3, tags, true) })
	b.Run("bus=nats/history=off", func(b *testing.B) { benchmarkPlant(b, 3, tags, true, withoutHistory) })
	b.Run("bus=nats/changes=100,000", func(b *testing.B) { benchmarkPlant(b, 3, more, true) })
	b.Run("bus=nats/changes=100,000/history=off", func(b *testing.B) { benchmarkPlant(b, 3, more, true, withoutHistory) })
	b.Run("bus=postgres", func(b *testing.B) { benchmarkPlant(b, 3, tags, false) })
	b.Run("alone", func(b *testing.B) { benchmarkPlant(b, 1, tags, false) })
	b.Run("alone/history=off", func(b *testing.B) { benchmarkPlant(b, 1, tags, false, withoutHistory) })
}

const withoutHistory = "Tags__History__Enabled=false"

const plantDrivers = 12

func benchmarkPlant(b *testing.B, count, tags int, nats bool, env ...string) {
	settle, measure := 8*time.Second, 15*time.Second
	if text := os.Getenv("OTKIT_PLANT_SECONDS"); text != "" {
		n, err := strconv.Atoi(text)
		require.NoError(b, err)
		settle, measure = time.Duration(n)*time.Second, time.Duration(n)*time.Second
	}
	for b.Loop() {
		p := newPlant(b, count, tags, nats, env)
		p.spread()
		time.Sleep(settle)
		done, owners := p.follow(), p.owners()
		samples, changes, stored := p.counted("otkit_driver_samples_total"), p.counted("otkit_driver_changes_total"), p.stored()
		lost := p.lost()
		start, before, load := time.Now(), p.cpus(), loadAverage(b)
		time.Sleep(measure)
		took, after := time.Since(start), p.cpus()
		samples, changes, stored = p.counted("otkit_driver_samples_total")-samples, p.counted("otkit_driver_changes_total")-changes, p.stored()-stored
		p.worked(took, samples, owners, lost)
		share := func(i int) float64 { return 100 * float64(after[i]-before[i]) / float64(took) }
		worst, all := 0.0, 0.0
		for i := range p.engines {
			worst, all = max(worst, share(i)), all+share(i)
		}
		b.ReportMetric(worst, "%core-worst-engine")
		b.ReportMetric(share(count), "%core-postgres")
		b.ReportMetric(all+share(count), "%core-all")
		b.ReportMetric(p.memory(), "MB-worst-engine")
		b.ReportMetric(load, "load")
		b.ReportMetric(samples/took.Seconds(), "samples/s")
		b.ReportMetric(changes/took.Seconds(), "changes/s")
		b.ReportMetric(stored/took.Seconds(), "stored/s")
		b.ReportMetric(0, "ns/op")
		list := done()
		b.ReportMetric(float64(len(list))/took.Seconds()/float64(count), "followed-changes/s")
		if count > 1 {
			p.reportLags(list)
		}
		p.stop()
	}
}

// plant is engines on a PostgreSQL.
type plant struct {
	b        *testing.B
	tags     int // of each driver
	engines  []*engine
	sessions []*session
	server   *pgtest.Server
	postgres int // id of the process
	history  bool
}

func newPlant(b *testing.B, count, tags int, nats bool, env []string) *plant {
	b.Helper()
	path, err := builtForSpeed()
	require.NoError(b, err)
	p := &plant{b: b, tags: tags, server: pgtest.Own(b), history: !slices.Contains(env, withoutHistory)}
	p.postgres = postmaster(b, p.server)
	drivers := "drivers:\n"
	for i := range plantDrivers {
		drivers += fmt.Sprintf("  - {id: line%d, type: Simulation, pollIntervalMs: 1000, settings: {DeviceCount: 1, TagsPerDevice: %d, UpdateIntervalMs: 1000, Scenario: RandomWalk, Seed: %[1]d}}\n",
			i, tags)
	}
	config := file(b, "engine.yaml", drivers)
	env = slices.Concat(known, []string{"Storage__Driver=postgres", "Storage__Dsn=" + p.server.DSN(), "Discovery__Mdns=false",
		"Predictive__Monitor__Tags=false"}, env) // no further driver to spread
	var routes []string
	for range count {
		own := slices.Clone(env)
		if nats {
			listen := "127.0.0.1:" + strconv.Itoa(realtest.FreePort(b))
			own = append(own, "Cluster__Bus__Listen="+listen, "Cluster__Bus__Password=a password of the plant")
			if len(routes) > 0 {
				own = append(own, "Cluster__Bus__Routes="+strings.Join(routes, ","))
			}
			routes = append(routes, listen)
		}
		e := launch(b, path, own, "-config", config, "-data", b.TempDir())
		e.ready()
		p.engines = append(p.engines, e)
	}
	token := p.engines[0].admin().token
	for _, e := range p.engines {
		p.sessions = append(p.sessions, e.with(token))
	}
	return p
}

// owners returns which engine runs each driver.
func (p *plant) owners() map[string]int {
	p.b.Helper()
	owners := map[string]int{}
	for i, s := range p.sessions {
		list, err := s.ListEnginesWithResponse(p.b.Context())
		require.NoError(p.b, err)
		require.NotNil(p.b, list.JSON200, "%s", list.Body)
		self := slices.IndexFunc(list.JSON200.Engines, func(e client.EngineStatus) bool { return e.Self })
		require.NotEqual(p.b, -1, self)
		e, err := s.GetEngineStatusWithResponse(p.b.Context(), list.JSON200.Engines[self].ID)
		require.NoError(p.b, err)
		require.NotNil(p.b, e.JSON200, "%s", e.Body)
		for _, w := range e.JSON200.Works {
			if w.Kind == "driver" && strings.HasPrefix(w.ID, "line") {
				owners[w.ID] = i
			}
		}
	}
	return owners
}

// followed returns names of tags of all drivers: the first ones, the last ones, and others.
func (p *plant) followed() (list []string) {
	const each = 40 // 480 in all: 500 are read at once
	for driver := range plantDrivers {
		for i := range each {
			list = append(list, fmt.Sprintf("line%d.device1.tag%d", driver, 1+i*(p.tags-1)/(each-1)/10*10)) // all of them Floats
		}
	}
	return list
}

// spread waits until each engine runs as many drivers as the others and all have all values.
func (p *plant) spread() {
	p.b.Helper()
	eventually(p.b, "the drivers are not spread", func() bool {
		counts := make([]int, len(p.engines))
		for _, owner := range p.owners() {
			counts[owner]++
		}
		return slices.Min(counts) == plantDrivers/len(p.engines)
	})
	sample := p.followed()
	for _, s := range p.sessions {
		eventually(p.b, "the tags are not Good", func() bool {
			answer, err := s.grpc.ReadTags(s.rpc(), &platformv1.ReadTagsRequest{TagNames: sample})
			require.NoError(p.b, err)
			return len(answer.GetErrors()) == 0 && !slices.ContainsFunc(answer.GetTags(), func(t *platformv1.Tag) bool { return !strings.EqualFold(t.GetQuality(), "Good") })
		})
	}
}

// counted returns the sum of a counter over the drivers. Every engine has all of them; the one that runs a driver has the newest value, the highest.
func (p *plant) counted(name string) (total float64) {
	p.b.Helper()
	newest := map[string]float64{}
	for _, e := range p.engines {
		for driver, v := range e.metrics(name, "driver") {
			if strings.HasPrefix(driver, "line") {
				newest[driver] = max(newest[driver], v)
			}
		}
	}
	for _, v := range newest {
		total += v
	}
	return total
}

// stored returns how many samples the engines have stored.
func (p *plant) stored() (total float64) {
	p.b.Helper()
	for _, e := range p.engines {
		if p.history {
			total += e.metric("otkit_history_samples_stored_total")
		}
	}
	return total
}

// lost returns how many samples the history has dropped, and how many messages of the bus the engines have lost.
func (p *plant) lost() (all [2]float64) {
	p.b.Helper()
	for _, e := range p.engines {
		if p.history {
			all[0] += e.metric("otkit_history_samples_dropped_total")
		}
		all[1] += e.metric("otkit_cluster_bus_lost_messages_total")
	}
	return all
}

// worked fails if the plant did not do what is measured.
func (p *plant) worked(took time.Duration, samples float64, owners map[string]int, lost [2]float64) {
	p.b.Helper()
	total := plantDrivers * p.tags
	require.InEpsilon(p.b, float64(total)*took.Seconds(), samples, 0.1, "the drivers do not read %d tags every second", total)
	require.Equal(p.b, owners, p.owners(), "drivers have moved meanwhile")
	require.Equal(p.b, lost, p.lost(), "samples are dropped by the history, or messages by the bus")
}

// arrival is when a change came to a client of an engine.
type arrival struct {
	tag    string
	source time.Time
	engine int
	at     time.Time
}

// follow subscribes at each engine. done returns the changes that came.
func (p *plant) follow() (done func() []arrival) {
	p.b.Helper()
	none := int32(0)
	var (
		mu  sync.Mutex
		got []arrival
		all sync.WaitGroup
	)
	ctx, end := context.WithCancel(p.b.Context())
	for i, s := range p.sessions {
		stream, err := s.grpc.StreamTagChanges(metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+s.token), &platformv1.StreamTagChangesRequest{TagNames: p.followed(), ThrottleMs: &none})
		require.NoError(p.b, err)
		all.Go(func() {
			for {
				m, err := stream.Recv()
				now := time.Now()
				if err != nil {
					return
				}
				mu.Lock()
				for _, c := range m.GetChanges() {
					got = append(got, arrival{c.GetTagName(), c.GetTimestamp().AsTime(), i, now})
				}
				mu.Unlock()
			}
		})
	}
	return func() []arrival {
		end()
		all.Wait()
		return got
	}
}

// reportLags reports how much later than to the client of the owner changes came to those of the others.
func (p *plant) reportLags(list []arrival) {
	p.b.Helper()
	type change struct {
		tag    string
		source time.Time
	}
	owners, first := p.owners(), map[change]time.Time{}
	runs := func(a *arrival) bool { return owners[a.tag[:strings.IndexByte(a.tag, '.')]] == a.engine }
	for i := range list {
		if a := &list[i]; runs(a) {
			first[change{a.tag, a.source}] = a.at
		}
	}
	var lags []time.Duration
	for i := range list {
		a := &list[i]
		if at, known := first[change{a.tag, a.source}]; known && !runs(a) {
			lags = append(lags, a.at.Sub(at))
		}
	}
	require.Greater(p.b, len(lags), 1000)
	slices.Sort(lags)
	for name, lag := range map[string]time.Duration{"p50": lags[len(lags)/2], "p99": lags[len(lags)*99/100], "max": lags[len(lags)-1]} {
		p.b.ReportMetric(float64(lag)/1e6, "ms-behind-owner-"+name)
	}
}

// cpus returns the processor times of the engines, and of PostgreSQL.
func (p *plant) cpus() (list []time.Duration) {
	p.b.Helper()
	for _, e := range p.engines {
		list = append(list, e.schedulerCPU())
	}
	return append(list, treeCPU(p.b, p.postgres))
}

func (p *plant) memory() (worst float64) {
	for _, e := range p.engines {
		worst = max(worst, e.statusMB("VmRSS"))
	}
	return worst
}

func (p *plant) stop() {
	for _, e := range p.engines {
		e.stop()
	}
}
