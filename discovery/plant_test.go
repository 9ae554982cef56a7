package discovery_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/discovery"
	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/discovery/linked"
)

// leases are those of the drivers of a plant.
type leases struct {
	mu    sync.Mutex
	owner map[string]string // engine by driver
	epoch map[string]uint64
	wants map[string]string // engine by driver that was asked for
	alone bool
	dead  bool // the engines do not say that they live
	began time.Time
}

// give gives a driver to an engine, to none if it is empty.
func (l *leases) give(driver, engine string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.owner[driver] = engine; engine != "" {
		l.epoch[driver]++
	}
}

func (l *leases) set(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
}

func (l *leases) wanted(driver string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.wants[driver]
}

// view is discovery.Plant of an engine.
type view struct {
	*leases
	engine string
	late   *linked.Lease // which it believes to have; nil for none
}

func (v *view) Lease(driver string) *linked.Lease {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.late != nil {
		return v.late
	}
	if v.owner[driver] != v.engine {
		return nil
	}
	epoch := v.epoch[driver]
	return &linked.Lease{Epoch: epoch, Valid: func() bool {
		v.mu.Lock()
		defer v.mu.Unlock()
		return v.late != nil || v.owner[driver] == v.engine && v.epoch[driver] == epoch
	}}
}

// delay lets the engine believe that it still has its lease of the driver b1.
func (v *view) delay() {
	lease := v.Lease("b1")
	v.mu.Lock()
	defer v.mu.Unlock()
	v.late = lease
}

func (v *view) Owner(driver string) (o discovery.Owner, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if o.Engine = v.owner[driver]; o.Engine == "" {
		return o, false
	}
	if o.URL = "http://" + o.Engine + ":5001"; !v.dead {
		o.Beat = uint64(time.Since(v.began) / time.Second)
	}
	return o, true
}

func (v *view) Want(driver string, want bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.wants[driver] = v.engine; !want {
		delete(v.wants, driver)
	}
}

func (v *view) Others() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return !v.alone
}

// member is an engine of a plant.
type member struct {
	*rig
	view *view
}

// several are engines that share a store and a network.
type several struct {
	*leases
	t       *testing.T
	store   *shelf
	net     *network
	members map[string]*member
	now     func() time.Time // of the engines; may be nil
}

func newPlant(t *testing.T, engines ...string) *several {
	p := &several{leases: &leases{owner: map[string]string{}, epoch: map[string]uint64{}, wants: map[string]string{}, began: time.Now()}, t: t,
		store: &shelf{Memory: discovery.NewMemory()}, net: &network{}, members: map[string]*member{}}
	for _, name := range engines {
		p.join(name)
	}
	return p
}

// join starts an engine.
func (p *several) join(name string) *member {
	v := &view{leases: p.leases, engine: name}
	m := &member{view: v, rig: &rig{t: p.t, net: p.net, house: &house{drivers: map[string]int{}}, store: p.store, scan: &scanner{}}}
	m.opts = discovery.Options{EngineID: name, Plant: v, URLs: func() []string { return []string{"http://" + name + ":5001"} },
		EngineURL: func(context.Context, string) (string, error) { return "http://" + name + ":5001", nil },
		Pins:      func() []string { return []string{"sha256/" + name} }, NewID: func() string { return "plant-of-" + name }, Now: p.now}
	m.open()
	m.run()
	p.members[name] = m
	return m
}

func (p *several) close() {
	for _, m := range p.members {
		m.stop()
	}
}

// hello opens a link with a key, and returns the error if there is one.
func (m *member) hello(id, key string, change ...func(*link.Hello)) (linked.Grant, error) {
	h := link.Hello{BridgeID: id, Key: key, Epoch: "one"}
	for _, f := range change {
		f(&h)
	}
	g, err := m.OpenLink(m.t.Context(), h)
	if err == nil {
		err = errors.Join(m.ConfirmKey(m.t.Context(), id), m.LinkChanged(m.t.Context(), id, true))
	}
	return g, err
}

// soon is within which all engines know what one has done.
const soon = time.Second

func TestABindingIsOneOfAllEngines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, "a", "b")
		defer p.close()
		a, b := p.members["a"], p.members["b"]
		require.Equal(t, "plant-of-a", b.EngineID())
		time.Sleep(soon)
		p.net.add("b1")
		_, m, err := a.bind("b1")
		require.NoError(t, err)
		require.Equal(t, "plant-of-a", p.net.request("b1").EngineID)
		require.Equal(t, []string{"http://a:5001", "http://b:5001"}, p.net.request("b1").EngineURLs)
		require.Equal(t, []string{"sha256/a", "sha256/b"}, p.net.request("b1").EnginePins)
		time.Sleep(soon)
		for _, e := range []*member{a, b} {
			require.Equal(t, []string{"b1"}, e.house.names())
			info := e.info("b1")
			require.Equal(t, len(m.Tags), info.TagCount)
			require.True(t, info.Elsewhere, "no engine has the driver yet")
			require.Equal(t, "no engine runs its driver", info.Problem)
			require.Empty(t, info.Token)
		}
		_, _, err = b.bind("b1")
		require.ErrorIs(t, err, discovery.ErrAlreadyBound)
		require.ErrorContains(t, err, "to this engine")
		all, err := b.Scan(t.Context(), time.Second, true)
		require.NoError(t, err)
		require.Empty(t, all)

		p.give("b1", "b")
		key := b.link("b1")
		require.NotEmpty(t, key)
		time.Sleep(soon)
		for _, e := range []*member{a, b} {
			require.True(t, e.info("b1").LinkOpen)
			require.True(t, e.info("b1").Online)
			require.Equal(t, e == a, e.info("b1").Elsewhere)
		}
		p.net.change(urlOf("b1"), func(h *host) { h.status.Status = link.StatusFree })
		_, _, err = a.bind("b1")
		require.ErrorIs(t, err, discovery.ErrAlreadyBound, "what answers there is not the bridge of the link")
		p.net.change(urlOf("b1"), func(h *host) { h.status.Status = link.StatusBound })
		require.NoError(t, b.UpdateManifest(t.Context(), "b1", link.Manifest{BridgeID: "b1", DriverID: "b1", DriverType: "Modbus", Tags: []link.ManifestTag{
			{Name: "x", DataType: "Int"}, {Name: "y", DataType: "Int"}}}))
		time.Sleep(soon)
		require.Equal(t, 2, a.house.tags("b1"))
		require.Equal(t, 2, a.info("b1").TagCount)

		require.NoError(t, a.Unbind(t.Context(), "b1"), "at the one that has not the link, and with the key that the other one has made")
		require.Equal(t, link.StatusFree, p.net.status(urlOf("b1")))
		time.Sleep(soon)
		for _, e := range []*member{a, b} {
			require.Empty(t, e.Bindings())
			require.Empty(t, e.house.names())
		}
		require.ErrorIs(t, b.Unbind(t.Context(), "b1"), discovery.ErrNotBound)
	})
}

// A bridge that was bound to an engine that was alone knows the plant by the name of that engine.
func TestAPlantTakesOverTheBridgesOfAnEngineThatWasAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "b1")
		r.mustBind("b1")
		key := r.link("b1")
		p := newPlant(t)
		p.store, p.net = r.store, r.net
		a := p.join("a")
		defer p.close()
		require.Equal(t, "engine-1", a.EngineID())
		p.give("b1", "a")
		g, err := a.hello("b1", key)
		require.NoError(t, err)
		require.Equal(t, "engine-1", g.EngineID)
	})
}

func TestALinkGoesToTheEngineThatHasTheDriver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, "a", "b")
		defer p.close()
		a, b := p.members["a"], p.members["b"]
		time.Sleep(soon)
		p.net.add("b1")
		a.mustBind("b1")
		p.give("b1", "a")
		key := a.link("b1")

		_, err := b.hello("b1", key) // it does not know the key yet
		require.ErrorIs(t, err, link.ErrElsewhere)
		engine, url := link.SentTo(err)
		require.Equal(t, "a http://a:5001", engine+" "+url)
		_, err = b.hello("b1", key+"x")
		require.ErrorIs(t, err, link.ErrRefused)
		require.Equal(t, "plant-of-a", link.RefusedBy(err))
		_, err = b.hello("b2", key)
		require.ErrorIs(t, err, link.ErrRefused)

		g, err := a.hello("b1", key)
		require.NoError(t, err)
		require.Equal(t, link.Reach{Pins: []string{"sha256/a", "sha256/b"}, URLs: []string{"http://a:5001", "http://b:5001"}, Silence: 4 * time.Second}, g.Reach)
		require.NotNil(t, g.Lease)

		// The driver moves: the link follows, and what it has delivered.
		require.NoError(t, a.StorePosition(t.Context(), "b1", "one", 7))
		p.give("b1", "b")
		require.ErrorIs(t, a.StorePosition(t.Context(), "b1", "one", 8), link.ErrElsewhere)
		require.NoError(t, a.LinkChanged(t.Context(), "b1", false))
		g, err = b.hello("b1", key)
		require.NoError(t, err)
		require.EqualValues(t, 7, g.Position)
		_, err = a.hello("b1", key)
		require.ErrorIs(t, err, link.ErrElsewhere)
	})
}

// An engine that is cut off from the database must not make bridges free that another one has bound.
func TestABridgeIsNotRefusedByWhatAnEngineDoesNotKnow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, "a", "b")
		defer p.close()
		a, b := p.members["a"], p.members["b"]
		p.net.add("b1")
		p.store.set("read", errDisk)
		time.Sleep(soon)
		a.mustBind("b1")
		_, err := b.hello("b1", "some key")
		require.ErrorIs(t, err, errDisk)
		require.NotErrorIs(t, err, link.ErrRefused)
		p.store.set("read", nil)
		time.Sleep(soon)
		require.Len(t, b.Bindings(), 1)
	})
}

// The bridge comes before it is known who takes over: it waits at the engine that it reaches.
func TestABridgeWaitsForTheEngineThatTakesOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, "a", "b", "c")
		defer p.close()
		a, b := p.members["a"], p.members["b"]
		p.net.add("b1")
		a.mustBind("b1")
		p.give("b1", "a")
		key := a.link("b1")
		p.set(func() { p.dead = true })
		dead := func(h *link.Hello) { h.Unreachable = "a" }
		for _, next := range []string{"b", "c"} {
			p.give("b1", "a")
			time.Sleep(soon)
			go func() {
				time.Sleep(2 * time.Second)
				p.give("b1", "") // its session has ended
				time.Sleep(time.Second)
				p.give("b1", next)
			}()
			began := time.Now()
			_, err := b.hello("b1", key, dead)
			require.InDelta(t, 3, time.Since(began).Seconds(), 0.1)
			if next == "b" {
				require.NoError(t, err)
				continue
			}
			engine, _ := link.SentTo(err)
			require.Equal(t, "c", engine)
		}
		require.Empty(t, p.wanted("b1"), "an engine that was dead need not be asked")

		p.give("b1", "")
		began := time.Now()
		_, err := b.hello("b1", key)
		require.ErrorIs(t, err, link.ErrElsewhere)
		require.InDelta(t, 8, time.Since(began).Seconds(), 0.1, "in time for the bridge")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = b.OpenLink(ctx, link.Hello{BridgeID: "b1", Key: key, Epoch: "one"})
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

// The engine that has the driver lives, but the bridge does not reach it.
func TestAnEngineAsksForTheDriverOfABridgeThatReachesNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, "a", "b")
		defer p.close()
		a, b := p.members["a"], p.members["b"]
		p.net.add("b1")
		a.mustBind("b1")
		p.give("b1", "a")
		key := a.link("b1")
		asks := func(limit time.Duration) {
			for began := time.Now(); p.wanted("b1") != "b"; time.Sleep(50 * time.Millisecond) {
				require.Less(t, time.Since(began), limit)
			}
		}
		go func() {
			asks(3 * time.Second)
			p.give("b1", "b")
		}()
		_, err := b.hello("b1", key, func(h *link.Hello) { h.Unreachable = "a" })
		require.NoError(t, err)
		require.Equal(t, "b", p.wanted("b1"), "as long as the link is open")
		time.Sleep(time.Minute)
		require.Equal(t, "b", p.wanted("b1"))
		require.NoError(t, b.LinkChanged(t.Context(), "b1", false))
		require.Empty(t, p.wanted("b1"))

		// All engines have one address, that of a balancer: there is nowhere else to send the bridge to.
		b.stop()
		b.opts.URLs = func() []string { return []string{"http://a:5001"} }
		b.open()
		b.run()
		p.give("b1", "a")
		go func() {
			asks(time.Second)
			p.give("b1", "b")
		}()
		_, err = b.hello("b1", key)
		require.NoError(t, err)
		require.NoError(t, b.LinkChanged(t.Context(), "b1", false))

		p.give("b1", "a")
		_, err = b.hello("b1", key) // not again so soon: two bridges may have one id
		require.ErrorIs(t, err, link.ErrElsewhere)
		require.Empty(t, p.wanted("b1"))
		time.Sleep(5 * time.Second)
		_, err = b.hello("b1", key)
		require.ErrorIs(t, err, link.ErrElsewhere, "it was not given")
		require.Empty(t, p.wanted("b1"))
	})
}

// An engine that was stopped does not know that its lease has ended.
func TestALateEngineChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, "a", "b")
		defer p.close()
		a, b := p.members["a"], p.members["b"]
		p.net.add("b1")
		a.mustBind("b1")
		p.give("b1", "a")
		key := a.link("b1")
		require.NoError(t, a.StorePosition(t.Context(), "b1", "one", 7))
		a.view.delay()
		p.give("b1", "b")
		g, err := b.hello("b1", key, func(h *link.Hello) { h.Epoch = "two" })
		require.NoError(t, err)
		require.Zero(t, g.Position)
		require.NoError(t, b.StorePosition(t.Context(), "b1", "two", 3))
		is := func() discovery.Binding {
			one, err := p.store.Binding(t.Context(), "b1")
			require.NoError(t, err)
			one.Report, one.HeartbeatAt = discovery.Report{}, time.Time{}
			return one
		}
		want := is()
		ctx := t.Context()
		changed := p.net.hosts[urlOf("b1")].manifest
		changed.Tags = nil
		for what, err := range map[string]error{
			"position": a.StorePosition(ctx, "b1", "one", 8),
			"loss":     a.Lost(ctx, "b1", "one", 4, 12),
			"event":    a.Event(ctx, "b1", link.Event{Kind: link.DriverOffline, Time: time.Now()}),
			"manifest": a.UpdateManifest(ctx, "b1", changed),
			"link":     a.LinkChanged(ctx, "b1", false),
		} {
			if what != "link" {
				require.ErrorIs(t, err, link.ErrElsewhere, what)
			}
			require.Equal(t, want, is(), what)
		}
		require.NoError(t, b.StorePosition(t.Context(), "b1", "two", 4))
		time.Sleep(soon)
		require.Equal(t, "b", must(p.store.Binding(ctx, "b1")).Report.Engine)
		_, err = a.hello("b1", key)
		require.ErrorIs(t, err, link.ErrElsewhere)
		require.EqualValues(t, 4, is().Position)
	})
}

// Once it has claimed a bridge, an engine opens its links without the database, as one that is alone does.
func TestALinkOpensWithoutTheDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, "a")
		defer p.close()
		a := p.members["a"]
		p.net.add("b1")
		a.mustBind("b1")
		p.give("b1", "a")
		key := a.link("b1")
		require.NoError(t, a.StorePosition(t.Context(), "b1", "one", 7))
		require.NoError(t, a.LinkChanged(t.Context(), "b1", false))
		for _, method := range []string{"read", "update", "claim"} {
			p.store.set(method, errDisk)
		}
		time.Sleep(time.Minute)
		g, err := a.hello("b1", key)
		require.NoError(t, err)
		require.EqualValues(t, 7, g.Position)
	})
}

// Each bridge is asked by one engine, whose findings go over to the next.
func TestHeartbeatsOfAPlant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, "a", "b")
		defer p.close()
		a, b := p.members["a"], p.members["b"]
		p.net.add("b1")
		a.mustBind("b1")
		p.give("b1", "a")
		a.link("b1")
		require.NoError(t, a.LinkChanged(t.Context(), "b1", false))
		p.net.taken()
		time.Sleep(10 * time.Minute)
		require.InDelta(t, 20, len(p.net.taken()), 1)
		require.WithinDuration(t, time.Now(), b.info("b1").HeartbeatAt, 62*time.Second)

		p.net.change(urlOf("b1"), func(h *host) { h.fail = discovery.ErrConnection })
		time.Sleep(65 * time.Second)
		require.Equal(t, 2, a.info("b1").Missed)
		require.Equal(t, 2, b.info("b1").Missed)
		require.True(t, b.info("b1").Online)
		p.give("b1", "b")
		time.Sleep(31 * time.Second)
		for _, e := range []*member{a, b} {
			require.False(t, e.info("b1").Online, "the third one was missed")
			require.True(t, e.info("b1").Down)
			require.Equal(t, discovery.ErrConnection.Message, e.info("b1").Problem)
		}
		p.net.change(urlOf("b1"), func(h *host) { h.fail = nil })
		time.Sleep(32 * time.Second)
		require.True(t, a.info("b1").Online)

		// It is released there, and bound again at the engine that does not look after it.
		a.free("b1")
		time.Sleep(32 * time.Second)
		require.Equal(t, "released at the bridge", a.info("b1").Problem)
		require.False(t, a.info("b1").Online)
		a.scan.finds(found("b1", "10.0.0.5", "free"))
		all, err := a.Scan(t.Context(), time.Second, true)
		require.NoError(t, err)
		require.Len(t, all, 1)
		a.mustBind("b1")
		time.Sleep(soon)
		require.Empty(t, b.info("b1").Problem)
		require.Empty(t, a.info("b1").Problem)
		b.link("b1")
		time.Sleep(soon)
		require.True(t, a.info("b1").Online)
	})
}

// An outage that an engine has reported is not reported as late by the next one.
func TestAnOutageOfADriverThatGoesOverToAnotherEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, "a", "b")
		defer p.close()
		a, b := p.members["a"], p.members["b"]
		p.net.add("b1")
		a.mustBind("b1")
		p.give("b1", "a")
		key := a.link("b1")
		require.NoError(t, a.Event(t.Context(), "b1", link.Event{Kind: link.DriverOffline, Time: time.Now(), Text: "no answer"}))
		time.Sleep(time.Minute)
		require.True(t, a.States()[0].DriverDown)
		time.Sleep(soon)
		require.True(t, b.States()[0].DriverDown)
		p.give("b1", "b")
		_, err := b.hello("b1", key)
		require.NoError(t, err)
		require.True(t, b.States()[0].DriverDown, "without a gap")
		require.Equal(t, "no answer", b.States()[0].DriverDownText)
		require.NoError(t, b.Event(t.Context(), "b1", link.Event{Kind: link.DriverOnline, Time: time.Now()}))
		require.Empty(t, b.house.past)
		time.Sleep(soon)
		require.False(t, a.States()[0].DriverDown)
		require.True(t, a.States()[0].DriverDownAt.IsZero())
	})
}

// A bridge that is unbound and has another driver when it is bound again.
func TestABridgeThatIsBoundAgainWithAnotherDriver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, "a", "b")
		defer p.close()
		a, b := p.members["a"], p.members["b"]
		p.net.add("b1")
		a.mustBind("b1")
		p.give("b1", "b")
		b.link("b1")
		time.Sleep(soon)
		require.NoError(t, a.Unbind(t.Context(), "b1"))
		p.net.change(urlOf("b1"), func(h *host) { h.status.DriverID, h.manifest.DriverID = "other", "other" })
		a.mustBind("b1") // before the other engine has seen that it was unbound
		time.Sleep(2 * soon)
		require.Equal(t, []string{"other"}, b.house.names())
		require.Equal(t, "other", b.info("b1").DriverID)
		p.give("other", "b")
		key := b.link("b1")
		require.NoError(t, b.StorePosition(t.Context(), "b1", "one", 1))
		_, err := a.hello("b1", key)
		require.ErrorIs(t, err, link.ErrElsewhere)
	})
}

// What cannot be stored or read is tried again.
func TestAPlantWithoutItsDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, "a", "b")
		defer p.close()
		a, b := p.members["a"], p.members["b"]
		p.net.add("b1", "b2")
		a.mustBind("b1")
		p.give("b1", "a")
		a.link("b1")
		for _, method := range []string{"reports", "read", "claim", "engine"} {
			p.store.set(method, errDisk)
			p.give("b1", "b")
			time.Sleep(soon)
			p.give("b1", "a")
			require.NoError(t, a.LinkChanged(t.Context(), "b1", false))
			time.Sleep(soon)
			p.store.set(method, nil)
			time.Sleep(soon)
			require.False(t, b.info("b1").LinkOpen, method)
			require.NoError(t, a.LinkChanged(t.Context(), "b1", true))
			time.Sleep(soon)
			require.True(t, b.info("b1").LinkOpen, method)
		}
		b.house.refuse(errors.New("no room"))
		a.mustBind("b2")
		time.Sleep(soon)
		require.Contains(t, b.info("b2").Problem, "cannot be shown")
		b.house.refuse(nil)
		p.give("b2", "b")
		time.Sleep(soon)
		require.Equal(t, []string{"b1", "b2"}, b.house.names())
		require.Empty(t, b.info("b2").Problem)
	})
}

// A plant may have had many engines.
func TestBridgesAreToldOfTheEnginesThatWereSeenLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		for i := range 20 {
			require.NoError(t, p.store.SetEngine(t.Context(), discovery.Engine{ID: fmt.Sprintf("e%02d", i), URLs: []string{fmt.Sprintf("http://e%02d", i)},
				Pins: []string{fmt.Sprintf("sha256/e%02d", i)}, SeenAt: time.Now().UTC().Add(time.Duration(i) * time.Hour)}))
		}
		var later atomic.Int64 // by how much the clock was set forward
		p.now = func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
		p.set(func() { p.alone = true })
		a := p.join("a")
		defer p.close()
		later.Store(int64(24 * time.Hour))
		time.Sleep(soon)
		r := a.Reach()
		require.Len(t, r.URLs, 16)
		require.Len(t, r.Pins, 16)
		require.Contains(t, r.URLs, "http://a:5001")
		require.Contains(t, r.URLs, "http://e19")
		require.NotContains(t, r.URLs, "http://e00")
		require.Zero(t, r.Silence, "no other engine would take the link over")
		later.Store(int64(32 * 24 * time.Hour))
		time.Sleep(soon)
		require.Equal(t, []string{"http://a:5001"}, a.Reach().URLs)
		engines, err := p.store.Engines(t.Context())
		require.NoError(t, err)
		i := slices.IndexFunc(engines, func(e discovery.Engine) bool { return e.ID == "a" })
		require.WithinDuration(t, p.now(), engines[i].SeenAt, time.Minute)
	})
}

// lone is a store for an engine that is alone.
type lone struct{ discovery.Store }

func TestAPlantNeedsASharedStore(t *testing.T) {
	_, err := discovery.New(t.Context(), discovery.Deps{Store: lone{discovery.NewMemory()}, Bridges: &network{}}, discovery.Options{EngineID: "a", Plant: &view{}})
	require.ErrorContains(t, err, "SharedStore")
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
