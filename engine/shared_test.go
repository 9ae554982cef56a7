package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/alerting/history"
	"github.com/otkit/otkit/alerting/outbox"
	"github.com/otkit/otkit/alerting/silences"
	"github.com/otkit/otkit/cluster"
	"github.com/otkit/otkit/cluster/bus"
	"github.com/otkit/otkit/discovery"
	"github.com/otkit/otkit/engine"
	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/derived"
	"github.com/otkit/otkit/tags/driverconfig"
	"github.com/otkit/otkit/tags/drivers"
	tagshistory "github.com/otkit/otkit/tags/history"
	"github.com/otkit/otkit/tags/tagconfig"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/clusterapi/clusterpart"
)

// machine is a device that engines connect to, and that sees when two do at once.
type machine struct {
	mu        sync.Mutex
	value     int64
	writes    []int64
	connected int
	twice     bool
}

func (m *machine) set(v int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.value = v
}

func (m *machine) state() (writes []int64, twice bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]int64(nil), m.writes...), m.twice
}

// connection is the driver of an engine for a machine.
type connection struct {
	m    *machine
	open atomic.Bool
}

func (c *connection) Connect(context.Context) error {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	if !c.open.Swap(true) {
		c.m.connected++
		c.m.twice = c.m.twice || c.m.connected > 1
	}
	return nil
}

func (c *connection) Close() error {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	if c.open.Swap(false) {
		c.m.connected--
	}
	return nil
}

func (c *connection) Read(_ context.Context, points []tags.Point, out []tags.Reading) error {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	for i := range points {
		out[i] = tags.Reading{Value: tags.IntValue(c.m.value), Quality: tags.Good}
	}
	return nil
}

func (c *connection) Write(_ context.Context, items []tags.WriteItem, _ []error) error {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	for _, item := range items {
		c.m.value = item.Value.Int()
		c.m.writes = append(c.m.writes, c.m.value)
	}
	return nil
}

// plant is what the engines of a test share.
type plant struct {
	t        *testing.T
	machines map[string]*machine
	sessions *cluster.Memory
	net      *bus.Memory
	alarms   *alarms.Memory
	rules    *rules.Memory
	drivers  *drivers.Memory
	config   *tagconfig.Memory
	derived  *derived.Memory
	writes   *tags.MemoryWriteLog
	history  tagshistory.Store
	outbox   *outbox.Memory
	silences *silences.Memory
	told     *history.Memory
	models   sharedModels
	bridges  *discovery.Memory
}

// sharedModels keep models and trainings.
type sharedModels struct {
	*predictive.MemoryRegistry
	*predictive.MemoryJobs
}

func newPlant(t *testing.T, machines int) *plant {
	p := &plant{t: t, machines: map[string]*machine{}, sessions: cluster.NewMemory(), net: bus.NewMemory(), alarms: alarms.NewMemory(), drivers: drivers.NewMemory(),
		config: tagconfig.NewMemory(), derived: derived.NewMemory(), writes: tags.NewMemoryWriteLog(1000), history: tagshistory.NewMemory(), outbox: outbox.NewMemory(),
		silences: silences.NewMemory(), told: history.NewMemory(),
		models: sharedModels{new(predictive.MemoryRegistry), new(predictive.MemoryJobs)}, bridges: discovery.NewMemory()}
	p.rules = rules.NewMemory(p.alarms)
	for i := range machines {
		p.machines[fmt.Sprint("m", i)] = &machine{value: 1}
	}
	return p
}

// machineType makes the drivers of the machines of a plant.
func (p *plant) machineType() driverconfig.Type {
	type settings struct {
		Machine string `required:"true"`
	}
	return driverconfig.Type{Name: "Machine", Schema: func() json.RawMessage { return driverconfig.Schema(settings{}) },
		New: func(in driverconfig.Settings, _ *slog.Logger) (tags.Driver, []tags.Tag, error) {
			var s settings
			if err := driverconfig.Decode(in.Settings, &s, "Settings"); err != nil {
				return nil, nil, err
			}
			return &connection{m: p.machines[s.Machine]}, []tags.Tag{{Name: in.TagName("v"), Driver: in.ID, Address: "v", DataType: tags.Int, Access: tags.ReadWrite}}, nil
		}}
}

type noKeys struct{ accounts.KeyStore }

func anyone(context.Context, auth.Request) (*auth.Principal, error) {
	return &auth.Principal{Issuer: "plant", Subject: "ann", Name: "Ann", Role: accounts.Admin}, nil
}

// start starts an engine of the plant. change may be nil.
func (p *plant) start(change func(o *engine.Options)) *engine.Engine {
	p.t.Helper()
	o := engine.Options{DataDir: p.t.TempDir(), WithoutAccounts: true, Shared: &engine.Shared{Keys: noKeys{}, Poll: 20 * time.Millisecond,
		Cluster: &clusterpart.Options{Store: p.sessions, Bus: p.net.Join(), TTL: 600 * time.Millisecond, Settle: 100 * time.Millisecond}}}
	o.Server.Authenticator = auth.AuthenticatorFunc(anyone)
	o.Tags.DriverTypes, o.Tags.DriverStore, o.Tags.Config = driverconfig.Types{p.machineType()}, p.drivers, p.config
	o.Tags.Writes, o.Tags.HistoryStore = p.writes, p.history
	o.Alarms.Alarms, o.Alarms.Resolutions, o.Alarms.Rules, o.Alarms.RuleStates = p.alarms, p.alarms, p.rules, p.rules
	o.Alerting.Silences, o.Alerting.History, o.Alerting.Outbox, o.Alerting.DeadLetters = p.silences, p.told, p.outbox, p.outbox
	o.Derived.Repository, o.Predictive.Registry, o.Discovery.Store = p.derived, p.models, p.bridges
	if change != nil {
		change(&o)
	}
	e, err := engine.New(p.t.Context(), o)
	require.NoError(p.t, err)
	p.t.Cleanup(func() { require.NoError(p.t, e.Close(context.Background())) })
	e.Start()
	return e
}

func (p *plant) add(e *engine.Engine, id string) {
	p.t.Helper()
	text, err := json.Marshal(map[string]string{"Machine": id})
	require.NoError(p.t, err)
	_, err = e.Drivers().Create(p.t.Context(), drivers.Definition{ID: id, Type: "Machine", Enabled: true, PollInterval: 20 * time.Millisecond, Settings: text})
	require.NoError(p.t, err)
}

// shows waits until engines show a good value of a tag.
func (p *plant) shows(tag string, v int64, engines ...*engine.Engine) {
	p.t.Helper()
	for i, e := range engines {
		require.Eventually(p.t, func() bool {
			s, err := e.Tags().Read(tag)
			return err == nil && s.Sample.Value == tags.IntValue(v) && s.Sample.Quality == tags.Good
		}, time.Minute, 5*time.Millisecond, "engine %d", i)
	}
}

// ownersOf returns how many drivers each engine runs, by its name.
func ownersOf(e *engine.Engine) map[string]int {
	n := map[string]int{}
	for _, d := range e.Tags().Drivers() {
		if d.Engine != "" {
			n[d.Engine]++
		}
	}
	return n
}

func TestEnginesShareDrivers(t *testing.T) {
	p := newPlant(t, 6)
	one := p.start(nil)
	for id := range p.machines {
		p.add(one, id)
	}
	two := p.start(nil)
	for id := range p.machines {
		p.shows(id+".v", 1, one, two)
	}
	for _, e := range []*engine.Engine{one, two} { // evenly, and both say the same
		require.Eventually(t, func() bool {
			counts := slices.Sorted(maps.Values(ownersOf(e)))
			return slices.Equal(counts, []int{3, 4}) // the seventh is that of the predictions
		}, time.Minute, 10*time.Millisecond)
	}
	// Every engine writes every tag, once.
	for id, m := range p.machines {
		for k, e := range []*engine.Engine{one, two} {
			v := int64(10 + k)
			w, err := e.Tags().Write(t.Context(), tags.WriteRequest{Tag: id + ".v", Value: tags.IntValue(v), By: "ann", Confirm: true})
			require.NoError(t, err)
			w, err = e.Tags().AwaitWrite(t.Context(), w.ID)
			require.NoError(t, err)
			require.Equal(t, tags.WriteConfirmed, w.State, w.Error)
			p.shows(id+".v", v, one, two)
		}
		writes, _ := m.state()
		require.Equal(t, []int64{10, 11}, writes)
	}
	// One engine goes: the other runs all.
	require.NoError(t, two.Close(t.Context()))
	for _, m := range p.machines {
		m.set(77)
	}
	for id, m := range p.machines {
		p.shows(id+".v", 77, one)
		_, twice := m.state()
		require.False(t, twice, "two engines were connected to %s", id)
	}
	require.Len(t, ownersOf(one), 1)
}

// A rule is evaluated by the engine that runs the driver of its tag, wherever it was made, and an alarm outlives a move.
func TestAlarmsOutliveMoves(t *testing.T) {
	p := newPlant(t, 1)
	one, two := p.start(nil), p.start(nil)
	p.add(one, "m0")
	p.shows("m0.v", 1, one, two)
	engines, start := []*engine.Engine{one, two}, time.Now()
	_, err := two.AlarmRules().Add(t.Context(), rules.Rule{ID: "high", Tag: "m0.v", Kind: rules.High, Limit: 50, Severity: alarms.Critical, Enabled: true, Message: "too high"})
	require.NoError(t, err)
	p.machines["m0"].set(60)
	occurrences := func() []alarms.Occurrence {
		page, err := engines[1].Alarms().History(t.Context(), start, time.Now().Add(time.Hour), alarms.ListQuery{Page: 1, PageSize: 100})
		require.NoError(t, err)
		return page.Occurrences
	}
	require.Eventually(t, func() bool { return len(occurrences()) == 1 }, time.Minute, 10*time.Millisecond)
	raised := occurrences()[0]
	for range 3 {
		// Whoever runs the driver goes, and another engine comes.
		gone := 0
		if own, _ := engines[1].Tags().Samples("m0", nil); own != nil {
			gone = 1
		}
		require.NoError(t, engines[gone].Close(t.Context()))
		engines[gone] = p.start(nil)
		p.shows("m0.v", 60, engines...)
		time.Sleep(200 * time.Millisecond)
		require.Equal(t, []alarms.Occurrence{raised}, occurrences(), "not cleared and raised again")
	}
	p.machines["m0"].set(1)
	require.Eventually(t, func() bool { return !occurrences()[0].ClearedAt.IsZero() }, time.Minute, 10*time.Millisecond)
	require.Len(t, occurrences(), 1)
	_, twice := p.machines["m0"].state()
	require.False(t, twice)
}
