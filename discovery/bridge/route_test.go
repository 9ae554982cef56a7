package bridge_test

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/discovery/bridge"
	"github.com/otkit/otkit/discovery/link"
)

// engines are those of a plant, by the host of their URL. They have one store, which is that of the engine of the rig.
type engines struct {
	*engine
	mu     sync.Mutex
	owner  string          // which has the bridge's link; empty for none
	names  map[string]bool // of those that take links
	hangs  map[string]bool
	at     map[string]string // URL that is told of an engine; default http://<name>:5001
	dials  []string
	hellos []string // the unreachable engines in them
}

const holdTime = 8 * time.Second

func newEngines(t *testing.T, change ...func(*bridge.Options)) (*engines, *rig) {
	p := &engines{names: map[string]bool{"a": true, "b": true, "c": true}, hangs: map[string]bool{}, at: map[string]string{}, owner: "a"}
	r := newRig(t, 1, append(change, func(o *bridge.Options) { o.Dial = p.dial })...)
	p.engine = r.engine
	p.engine.reach = link.Reach{URLs: []string{"http://a:5001", "http://b:5001", "http://c:5001"}, Silence: 4 * time.Second}
	return p, r
}

// set changes something of the plant.
func (p *engines) set(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

// taken returns the addresses that were dialed since the last time.
func (p *engines) taken() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	dials := p.dials
	p.dials = nil
	return dials
}

func (p *engines) dial(ctx context.Context, address string, _ []string) (link.BridgeConn, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	name := u.Hostname()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dials = append(p.dials, name)
	if name == "balancer" { // whoever is not the owner, if there is one
		for _, one := range []string{"c", "b", "a"} {
			if p.names[one] && !p.hangs[one] && (name == "balancer" || name == p.owner) {
				name = one
			}
		}
	}
	switch {
	case p.hangs[name]:
		p.mu.Unlock()
		<-ctx.Done()
		p.mu.Lock()
		return nil, ctx.Err()
	case !p.names[name]:
		return nil, errors.New("connection refused")
	}
	b, c := link.Pipe()
	go func() { link.CloseEngine(c, p.answer(name, c)) }()
	return b, nil
}

// answer does what an engine does with a link: it serves it, sends the bridge to the owner, or waits whether it becomes that itself.
func (p *engines) answer(name string, c link.EngineConn) error {
	f, err := c.Recv()
	if err != nil {
		return err
	}
	p.set(func() { p.hellos = append(p.hellos, f.Hello.Unreachable) })
	for end := time.Now().Add(holdTime); ; time.Sleep(50 * time.Millisecond) {
		p.mu.Lock()
		owner, at := p.owner, p.at[p.owner]
		p.mu.Unlock()
		if at == "" && owner != "" {
			at = "http://" + owner + ":5001"
		}
		switch {
		case owner == name:
			return p.engine.serveHello(c, f.Hello)
		case owner != "" && owner != f.Hello.Unreachable, time.Now().After(end):
			return link.Elsewhere(owner, at)
		}
	}
}

// bindTo binds the bridge, which knows an engine by its address.
func (p *engines) bindTo(t *testing.T, r *rig, first string, others ...string) {
	m, err := r.host.Bind(t.Context(), link.BindRequest{EngineID: "engine-1", EngineURL: "http://" + first + ":5001", EngineURLs: others}, "")
	require.NoError(t, err)
	r.engine.do(func() { r.engine.token = m.BindingToken })
}

// linked waits until the link is open at an engine, and returns how long that took.
func (r *rig) linked(t *testing.T, name string, limit time.Duration) time.Duration {
	t.Helper()
	for start := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if s := r.host.Link(); s.Connected && s.EngineURL == "http://"+name+":5001" {
			return time.Since(start)
		}
		require.Less(t, time.Since(start), limit, "%+v", r.host.Link())
	}
}

func TestABridgeIsSentToTheEngineThatHasItsLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, r := newEngines(t)
		p.set(func() { p.owner = "c" })
		pass(time.Second)
		p.bindTo(t, r, "a")
		require.Less(t, r.linked(t, "c", time.Second), 500*time.Millisecond)
		require.Equal(t, []string{"a", "c"}, p.taken())
		require.Equal(t, bridge.DiscoveryManual, r.host.Link().DiscoveryMethod)
		r.count(1, 100)
		pass(time.Second)

		p.set(func() { p.owner = "b" })
		p.engine.cut(link.ErrEnded)
		require.Less(t, r.linked(t, "b", time.Second), 500*time.Millisecond)
		require.Equal(t, []string{"c", "b"}, p.taken(), "where the last link was, is known best")
		r.count(101, 200)
		pass(time.Second)
		r.requireCount(200)
	})
}

// The owner is killed: the engine that the bridge reaches answers as soon as it knows who takes over.
func TestABridgeFindsTheEngineThatTakesOver(t *testing.T) {
	for _, next := range []string{"b", "c"} {
		synctest.Test(t, func(t *testing.T) {
			p, r := newEngines(t)
			pass(time.Second)
			p.bindTo(t, r, "a")
			r.linked(t, "a", time.Second)
			r.count(1, 50)
			p.set(func() { p.names["a"] = false })
			p.engine.cut(errCut)
			killed := time.Now()
			r.count(51, 100)
			time.Sleep(3100 * time.Millisecond)
			p.set(func() { p.owner = next })
			r.linked(t, next, time.Second)
			require.Less(t, time.Since(killed), 3300*time.Millisecond)
			pass(time.Second)
			r.requireCount(100)
		})
	}
}

// An engine that hangs keeps its connections, and may take new ones.
func TestABridgeLeavesAnEngineThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, r := newEngines(t)
		pass(time.Second)
		p.bindTo(t, r, "a")
		r.linked(t, "a", time.Second)
		pass(time.Hour)
		require.Equal(t, []string{"a"}, p.taken(), "pings keep the link")
		stopped := make(chan struct{})
		p.engine.do(func() { p.engine.stopped = stopped })
		p.set(func() { p.hangs["a"] = true })
		began := time.Now()
		time.Sleep(3100 * time.Millisecond)
		p.set(func() { p.owner = "b" })
		p.engine.do(func() { p.engine.stopped = nil }) // a new connection is one to another engine
		r.linked(t, "b", 2*time.Second)
		require.Less(t, time.Since(began), 4500*time.Millisecond)
		require.NotContains(t, p.taken(), "a")
		close(stopped)
	})
}

// The bridge reaches one address only, behind which any engine may answer.
func TestABridgeThatDoesNotReachTheOwnerSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, r := newEngines(t)
		p.set(func() {
			p.owner, p.at["b"] = "b", "http://10.1.1.1:5001"
			p.engine.reach.URLs = nil
		})
		pass(time.Second)
		p.bindTo(t, r, "balancer")
		pass(2 * time.Second)
		require.Equal(t, []string{"balancer", "10.1.1.1", "balancer"}, p.taken())
		require.Equal(t, []string{"", "b"}, p.hellos)
		p.set(func() { p.owner = "c" }) // it has asked for the lease
		r.linked(t, "balancer", time.Second)
		p.set(func() { p.owner = "a" })
		p.engine.cut(errCut)
		r.linked(t, "a", time.Second)
		require.Equal(t, []string{"balancer", "a"}, p.taken())

		p.set(func() { p.owner = "" })
		p.engine.cut(errCut)
		pass(time.Hour)
		require.Less(t, len(p.taken()), 700, "while nobody has it, it asks with pauses")
		r.end()
		pass(holdTime)
	})
}

func TestAddressesOfEnginesOutlastARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, r := newEngines(t)
		pass(time.Second)
		p.bindTo(t, r, "a", "http://b:5001")
		r.linked(t, "a", time.Second)
		p.engine.send(link.FromEngine{Reach: &link.Reach{URLs: []string{"http://d:5001"}, Silence: 4 * time.Second}})
		pass(time.Second)
		require.True(t, r.host.Link().Connected)
		r.end()
		p.set(func() { p.owner, p.names["d"], p.names["a"] = "d", true, false })
		p.taken()
		r.start()
		r.linked(t, "d", time.Second)
		require.Equal(t, []string{"a", "d"}, p.taken())

		p.engine.send(link.FromEngine{Reach: &link.Reach{URLs: []string{"ftp://d"}}})
		pass(100 * time.Millisecond)
		require.Contains(t, r.host.Link().LastError, "URLs of the engines are not valid")
	})
}

// Whoever answers at an http address would get the key.
func TestAPinnedBridgeIsNotSentToHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, r := newEngines(t)
		p.set(func() { p.owner = "c" })
		pass(time.Second)
		_, err := r.host.Bind(t.Context(), link.BindRequest{EngineID: "engine-1", EngineURL: "https://a:5001", EngineURLs: []string{"http://b:5001"},
			EnginePins: []string{"sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="}}, "")
		require.NoError(t, err)
		pass(time.Minute)
		dials := p.taken()
		require.NotEmpty(t, dials)
		require.Equal(t, []string{"a"}, slices.Compact(dials))
		r.end()
		pass(holdTime)
	})
}
