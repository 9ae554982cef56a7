package bridgealarms_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/bridgealarms"
	"github.com/otkit/otkit/discovery"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// plant are bridges that a test sets, with their alarms. It is for use within a bubble.
type plant struct {
	t       *testing.T
	service *alarms.Service
	monitor *bridgealarms.Monitor
	end     func()

	mu      sync.Mutex
	bridges map[string]discovery.Info
}

func (p *plant) States() (all []discovery.Info) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range p.bridges {
		all = append(all, b)
	}
	return all
}

// set changes a bridge and lets the monitor look.
func (p *plant) set(id string, change func(*discovery.Info)) {
	p.mu.Lock()
	b := p.bridges[id]
	b.BridgeID, b.DriverID = id, "driver-"+id
	change(&b)
	p.bridges[id] = b
	p.mu.Unlock()
	time.Sleep(time.Second)
}

func (p *plant) remove(id string) {
	p.mu.Lock()
	delete(p.bridges, id)
	p.mu.Unlock()
	time.Sleep(time.Second)
}

func (p *plant) start(o bridgealarms.Options) {
	p.t.Helper()
	var err error
	p.monitor, err = bridgealarms.New(p.service, o)
	require.NoError(p.t, err)
	ctx, cancel := context.WithCancel(p.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.monitor.Run(ctx, p)
	}()
	p.end = func() { cancel(); <-done }
	time.Sleep(time.Millisecond) // looks come a moment before the whole seconds that tests wait for
}

func (p *plant) restart(o bridgealarms.Options) {
	p.end()
	p.start(o)
}

// journal returns what has happened to the alarms.
func (p *plant) journal() (list []string) {
	p.t.Helper()
	events, err := p.service.Events(p.t.Context(), 0, 10_000)
	require.NoError(p.t, err)
	for _, e := range events {
		list = append(list, strings.TrimSpace(string(e.Kind)+" "+e.Occurrence.Key+" "+e.Comment))
	}
	return list
}

// active returns the messages of the active alarms.
func (p *plant) active() (messages []string) {
	p.t.Helper()
	list, err := p.service.Active(p.t.Context())
	require.NoError(p.t, err)
	for _, o := range list {
		messages = append(messages, o.Message)
	}
	slices.Sort(messages)
	return messages
}

func run(t *testing.T, o bridgealarms.Options, test func(t *testing.T, p *plant)) {
	synctest.Test(t, func(t *testing.T) {
		service, err := alarms.New(t.Context(), alarms.NewMemory(), alarms.Options{})
		require.NoError(t, err)
		defer func() { require.NoError(t, service.Close(context.Background())) }()
		p := &plant{t: t, service: service, bridges: map[string]discovery.Info{}}
		p.start(o)
		defer func() { p.end() }()
		test(t, p)
	})
}

func TestABridgeThatGoesOfflineAndComesBack(t *testing.T) {
	run(t, bridgealarms.Options{}, func(t *testing.T, p *plant) {
		p.set("b1", func(b *discovery.Info) { b.LinkOpen, b.LinkedAt = true, time.Now() })
		p.set("b1", func(b *discovery.Info) { b.LinkOpen, b.Since = false, time.Now() })
		require.Empty(t, p.journal(), "not down yet")
		p.set("b1", func(b *discovery.Info) { b.Down, b.Offline, b.Problem = true, true, "the bridge cannot be reached" })
		require.Equal(t, []string{"Bridge b1 is offline since 2000-01-01T00:00:01Z: the bridge cannot be reached"}, p.active())
		list, err := p.service.Active(t.Context())
		require.NoError(t, err)
		require.Equal(t, alarms.Error, list[0].Severity)
		require.Equal(t, "b1", list[0].Source)
		require.Equal(t, "Equipment", list[0].SourceType)
		require.Equal(t, map[string]string{"driverId": "driver-b1"}, list[0].Labels)

		p.set("b1", func(b *discovery.Info) { b.Down, b.Offline, b.Problem = false, false, "" })
		require.Len(t, p.journal(), 1, "it answers heartbeats, but delivers nothing")
		p.restart(bridgealarms.Options{})
		p.set("b1", func(*discovery.Info) {})
		require.Len(t, p.journal(), 1, "a restart neither clears it nor raises it again")
		p.set("b1", func(b *discovery.Info) { b.LinkOpen, b.Down = true, true })
		p.set("b2", func(b *discovery.Info) { b.LinkOpen, b.Down = true, true })
		require.Len(t, p.journal(), 1, "a link that has just opened may not last")
		p.set("b1", func(b *discovery.Info) { b.Down = false })
		require.Equal(t, []string{"Raised bridge-offline:b1", "Cleared bridge-offline:b1"}, p.journal())
	})
}

func TestMessagesSayWhyABridgeIsDown(t *testing.T) {
	run(t, bridgealarms.Options{}, func(t *testing.T, p *plant) {
		p.set("a", func(b *discovery.Info) { b.Down, b.BoundAt = true, time.Now() })
		p.set("b", func(b *discovery.Info) { b.Down, b.LinkedAt, b.Since = true, time.Now(), time.Now() })
		p.set("c", func(b *discovery.Info) { b.Down, b.LinkedAt, b.Since, b.Offline = true, time.Now(), time.Now(), true })
		require.Equal(t, []string{
			"Bridge a has not opened its link since it was bound at 2000-01-01T00:00:00Z; it may not reach the engine",
			"Bridge b is reachable, but its link to the engine is not open since 2000-01-01T00:00:01Z",
			"Bridge c is offline since 2000-01-01T00:00:02Z"}, p.active())
	})
}

func TestLostSamples(t *testing.T) {
	run(t, bridgealarms.Options{}, func(t *testing.T, p *plant) {
		lose := func(n uint64, text string) {
			p.set("b1", func(b *discovery.Info) { b.RecentlyLost, b.LostText, b.LostAt = b.RecentlyLost+n, text, time.Now() })
		}
		lose(5, "")
		require.Equal(t, []string{"Bridge b1 has dropped 5 samples before they were delivered"}, p.active())
		for range 30 {
			lose(1, "the buffer is full")
		}
		require.Len(t, p.journal(), 1, "each update is journaled: not more than one a minute")
		time.Sleep(time.Minute)
		require.Equal(t, []string{"Bridge b1 has dropped 35 samples before they were delivered: the buffer is full"}, p.active())
		p.restart(bridgealarms.Options{})
		time.Sleep(58 * time.Minute)
		require.Len(t, p.active(), 1)
		time.Sleep(2 * time.Minute)
		require.Empty(t, p.active())
		require.Equal(t, []string{"Raised bridge-samples-lost:b1", "Updated bridge-samples-lost:b1", "Cleared bridge-samples-lost:b1"}, p.journal())
	})
}

func TestTheDriverOfABridge(t *testing.T) {
	run(t, bridgealarms.Options{}, func(t *testing.T, p *plant) {
		down := time.Now()
		p.set("b1", func(b *discovery.Info) { b.DriverDownAt, b.DriverDownText = down, "no route" })
		require.Empty(t, p.journal(), "not for long enough")
		p.set("b1", func(b *discovery.Info) { b.DriverDown = true })
		require.Equal(t, []string{"The driver of bridge b1 has no connection to its device: no route"}, p.active())
		list, err := p.service.Active(t.Context())
		require.NoError(t, err)
		require.True(t, list[0].RaisedAt.Equal(down))

		// The bridge delivers the same outage again, after a crash of the engine.
		require.NoError(t, p.monitor.DriverWasDown(t.Context(), p.bridges["b1"].Binding, time.Now()))
		require.Len(t, p.journal(), 1)
		p.set("b1", func(b *discovery.Info) { b.DriverDown, b.DriverDownAt = false, time.Time{} })
		require.Equal(t, []string{"Raised bridge-driver-offline:b1", "Cleared bridge-driver-offline:b1"}, p.journal())
	})
}

func TestAShellThatCannotHaveItsID(t *testing.T) {
	run(t, bridgealarms.Options{}, func(t *testing.T, p *plant) {
		p.set("b1", func(b *discovery.Info) { b.LinkOpen, b.ShellKnown, b.ShellProblem = true, true, "urn:a is taken" })
		require.Equal(t, []string{"The shell of bridge b1 has its default id: urn:a is taken"}, p.active())
		list, err := p.service.Active(t.Context())
		require.NoError(t, err)
		require.Equal(t, alarms.Warning, list[0].Severity)
		p.set("b1", func(b *discovery.Info) { b.ShellKnown, b.ShellProblem = false, "" })
		p.restart(bridgealarms.Options{})
		require.Len(t, p.journal(), 1, "not known yet after a restart")
		p.set("b1", func(b *discovery.Info) { b.ShellKnown, b.ShellProblem = true, "urn:b is taken" })
		require.Equal(t, []string{"The shell of bridge b1 has its default id: urn:b is taken"}, p.active())
		p.set("b1", func(b *discovery.Info) { b.ShellProblem = "" })
		require.Empty(t, p.active())
		require.Equal(t, []string{"Raised bridge-shell-id:b1", "Cleared bridge-shell-id:b1", "Raised bridge-shell-id:b1", "Cleared bridge-shell-id:b1"}, p.journal())
	})
}

func TestAnOutageThatWasOver(t *testing.T) {
	run(t, bridgealarms.Options{}, func(t *testing.T, p *plant) {
		began := time.Now()
		time.Sleep(time.Hour)
		b := discovery.Binding{BridgeID: "b1", DriverID: "d", DriverDownAt: began}
		for range 2 {
			require.NoError(t, p.monitor.DriverWasDown(t.Context(), b, began.Add(time.Minute)))
		}
		require.Equal(t, []string{"Raised bridge-driver-offline:b1", "Cleared bridge-driver-offline:b1"}, p.journal(), "once")
		require.Empty(t, p.active())
		list, err := p.service.RecentHistory(t.Context(), 1)
		require.NoError(t, err)
		require.True(t, list[0].Late())
		require.True(t, list[0].RaisedAt.Equal(began))
		require.True(t, list[0].ClearedAt.Equal(began.Add(time.Minute)))
	})
}

func TestBridgesThatAreNotBoundAnyMore(t *testing.T) {
	run(t, bridgealarms.Options{}, func(t *testing.T, p *plant) {
		p.set("b1", func(b *discovery.Info) { b.Down = true })
		p.set("b2", func(b *discovery.Info) { b.Down = true })
		p.remove("b1")
		require.Equal(t, "Cleared bridge-offline:b1 the bridge is not bound any more", p.journal()[2])
		p.end()
		p.remove("b2")
		p.start(bridgealarms.Options{})
		time.Sleep(time.Second)
		require.Equal(t, "Cleared bridge-offline:b2 the bridge is not bound any more", p.journal()[3])

		p.set("b3", func(b *discovery.Info) { b.Down = true })
		p.restart(bridgealarms.Options{Disabled: true})
		time.Sleep(time.Second)
		require.Equal(t, "Cleared bridge-offline:b3 bridges are no longer monitored", p.journal()[5])
		require.NoError(t, p.monitor.DriverWasDown(t.Context(), discovery.Binding{BridgeID: "b1", DriverDownAt: time.Now()}, time.Now()))
		require.Len(t, p.journal(), 6)
	})
}

func TestEnginesLeaveTheBridgesOfOthersAlone(t *testing.T) {
	run(t, bridgealarms.Options{Engine: "a"}, func(t *testing.T, p *plant) {
		p.set("b1", func(b *discovery.Info) { b.Down = true })
		p.end()
		p.remove("b1")
		p.start(bridgealarms.Options{Engine: "b"})
		time.Sleep(time.Hour)
		require.Equal(t, []string{"Raised bridge-offline:b1"}, p.journal())
		p.restart(bridgealarms.Options{Engine: "a"})
		time.Sleep(time.Second)
		require.Len(t, p.journal(), 2)
	})
}

// fleet are the bridges of a plant as each of its engines sees them.
type fleet struct {
	*plant
	owner map[string]string // engine by bridge
}

// seen is what an engine knows.
type seen struct {
	*fleet
	engine string
}

func (s *seen) States() []discovery.Info {
	all := s.plant.States()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range all {
		all[i].Elsewhere = s.owner[all[i].BridgeID] != s.engine
	}
	return all
}

// give gives a bridge to an engine and lets the monitors look.
func (f *fleet) give(id, engine string) {
	f.mu.Lock()
	f.owner[id] = engine
	f.mu.Unlock()
	time.Sleep(time.Second)
}

// engines runs a monitor on each engine of a plant.
func engines(t *testing.T, names []string, test func(t *testing.T, f *fleet, end map[string]func())) {
	synctest.Test(t, func(t *testing.T) {
		service, err := alarms.New(t.Context(), alarms.NewMemory(), alarms.Options{})
		require.NoError(t, err)
		defer func() { require.NoError(t, service.Close(context.Background())) }()
		f := &fleet{plant: &plant{t: t, service: service, bridges: map[string]discovery.Info{}}, owner: map[string]string{}}
		end := map[string]func(){}
		for _, name := range names {
			monitor, err := bridgealarms.New(service, bridgealarms.Options{Shared: true})
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() {
				defer close(done)
				monitor.Run(ctx, &seen{f, name})
			}()
			end[name] = func() { cancel(); <-done }
		}
		defer func() {
			for _, stop := range end {
				stop()
			}
		}()
		time.Sleep(time.Millisecond)
		test(t, f, end)
	})
}

func TestAlarmsOutlastTheMoveOfABridge(t *testing.T) {
	engines(t, []string{"a", "b"}, func(t *testing.T, f *fleet, _ map[string]func()) {
		f.give("b1", "a")
		f.set("b1", func(b *discovery.Info) { b.Down, b.ShellKnown, b.ShellProblem = true, true, "taken" })
		f.set("b1", func(b *discovery.Info) { b.RecentlyLost, b.LostAt = 5, time.Now() })
		raised := []string{"Raised bridge-offline:b1", "Raised bridge-shell-id:b1", "Raised bridge-samples-lost:b1"}
		require.Equal(t, raised, f.journal())
		for _, to := range []string{"b", "", "a", "b"} {
			f.give("b1", to)
			f.set("b1", func(b *discovery.Info) { b.ShellKnown = false }) // not yet
			f.set("b1", func(b *discovery.Info) { b.ShellKnown = true })
		}
		time.Sleep(10 * time.Minute)
		require.Equal(t, raised, f.journal(), "neither cleared nor raised again")
		f.set("b1", func(b *discovery.Info) { b.Down, b.LinkOpen, b.ShellProblem = false, true, "" })
		require.Equal(t, append(raised, "Cleared bridge-offline:b1", "Cleared bridge-shell-id:b1"), f.journal())

		f.remove("b1")
		require.Equal(t, "Cleared bridge-samples-lost:b1 the bridge is not bound any more", f.journal()[5])
		require.Len(t, f.journal(), 6, "by one of them")
	})
}

// The bridge is unbound when the engine that looked after it is gone, and no other has taken it over yet.
func TestAlarmsOfABridgeThatNobodyLookedAfter(t *testing.T) {
	engines(t, []string{"a", "b", "c"}, func(t *testing.T, f *fleet, end map[string]func()) {
		f.give("b1", "a")
		f.set("b1", func(b *discovery.Info) { b.Down = true })
		end["a"]()
		f.give("b1", "")
		f.remove("b1")
		time.Sleep(time.Minute)
		require.Equal(t, []string{"Raised bridge-offline:b1", "Cleared bridge-offline:b1 the bridge is not bound any more"}, f.journal())
	})
}

// An engine that was stopped raises or clears an alarm after another one has taken its bridge over.
func TestAlarmsOfALateEngine(t *testing.T) {
	engines(t, []string{"a", "b"}, func(t *testing.T, f *fleet, _ map[string]func()) {
		f.give("b1", "b")
		f.set("b1", func(b *discovery.Info) { b.LinkOpen = true })
		late := &alarms.Alarm{Key: "bridge-offline:b1", Source: "b1", SourceType: "Equipment", Severity: alarms.Error, Message: "late", Refresh: []string{}}
		_, err := f.service.Apply(t.Context(), []alarms.Signal{{Raise: late}})
		require.NoError(t, err)
		time.Sleep(time.Minute)
		require.Empty(t, f.active(), "the bridge is not offline")

		f.set("b1", func(b *discovery.Info) { b.LinkOpen, b.Down = false, true })
		require.Len(t, f.active(), 1)
		_, err = f.service.Apply(t.Context(), []alarms.Signal{{Key: "bridge-offline:b1", Reset: true}})
		require.NoError(t, err)
		require.Empty(t, f.active())
		time.Sleep(time.Minute)
		require.Len(t, f.active(), 1, "it is")
	})
}
