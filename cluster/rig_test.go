package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/cluster"
)

// link is the way of one engine to the store, which can be cut.
type link struct {
	cluster.Store
	cut    atomic.Bool  // calls hang until their context ends
	stall  atomic.Bool  // calls wait until this is over or their context ends
	refuse atomic.Bool  // calls fail
	lose   atomic.Bool  // calls are carried out, but their answers are lost
	hang   atomic.Bool  // calls take until this is over, whatever their context says, like a commit on a disk that stalls
	slow   atomic.Int64 // how long each call takes
	noLoss atomic.Bool  // Lose waits for its context
}

func through[T any](ctx context.Context, l *link, call func() (T, error)) (T, error) {
	var none T
	for l.hang.Load() {
		time.Sleep(10 * time.Millisecond)
	}
	for l.stall.Load() && ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(time.Duration(l.slow.Load()))
	switch {
	case ctx.Err() != nil:
		return none, ctx.Err()
	case l.cut.Load():
		<-ctx.Done()
		return none, ctx.Err()
	case l.refuse.Load():
		return none, errors.New("the database is away")
	}
	answer, err := call()
	if l.lose.Load() {
		<-ctx.Done()
		return none, ctx.Err()
	}
	return answer, err
}

func (l *link) Renew(ctx context.Context, s cluster.Session) error {
	_, err := through(ctx, l, func() (any, error) { return nil, l.Store.Renew(ctx, s) })
	return err
}

func (l *link) State(ctx context.Context) (cluster.State, error) {
	return through(ctx, l, func() (cluster.State, error) { return l.Store.State(ctx) })
}

func (l *link) End(ctx context.Context, session string, beat uint64) (bool, error) {
	return through(ctx, l, func() (bool, error) { return l.Store.End(ctx, session, beat) })
}

func (l *link) Lose(ctx context.Context, s cluster.Session, at time.Time) (bool, error) {
	if l.noLoss.Load() {
		<-ctx.Done()
		return false, ctx.Err()
	}
	return through(ctx, l, func() (bool, error) { return l.Store.Lose(ctx, s, at) })
}

func (l *link) Forget(ctx context.Context, session string) error {
	_, err := through(ctx, l, func() (any, error) { return nil, l.Store.Forget(ctx, session) })
	return err
}

func (l *link) Claim(ctx context.Context, session string, works []string) ([]cluster.Lease, error) {
	return through(ctx, l, func() ([]cluster.Lease, error) { return l.Store.Claim(ctx, session, works) })
}

func (l *link) Release(ctx context.Context, session string, works []string, successor string) error {
	_, err := through(ctx, l, func() (any, error) { return nil, l.Store.Release(ctx, session, works, successor) })
	return err
}

// plant is engines that share work. It keeps watch over who does what.
type plant struct {
	t     testing.TB
	store *cluster.Memory
	works []cluster.Work

	mu      sync.Mutex
	doing   map[string][]holder
	twice   []string // work that two engines had a valid lease for
	backs   []string // work whose epoch did not rise
	epochs  map[string]uint64
	engines map[string]*engine
}

type holder struct {
	engine string
	lease  *cluster.Held
}

type engine struct {
	*cluster.Member
	link   *link
	unable atomic.Pointer[error]
	slow   atomic.Int64 // how long work takes to end
}

func newPlant(t testing.TB, works int) *plant {
	p := &plant{t: t, store: cluster.NewMemory(), doing: map[string][]holder{}, epochs: map[string]uint64{}, engines: map[string]*engine{}}
	for i := range works {
		p.works = append(p.works, cluster.Work{Name: fmt.Sprintf("driver/%02d", i)})
	}
	return p
}

// join starts an engine.
func (p *plant) join(name string, options ...func(*cluster.Options)) *engine {
	e := &engine{link: &link{Store: p.store}}
	o := cluster.Options{Store: e.link, Engine: name, Do: func(ctx context.Context, lease *cluster.Held) error { return p.do(ctx, e, name, lease) }}
	for _, option := range options {
		option(&o)
	}
	m, err := cluster.Join(context.Background(), o)
	require.NoError(p.t, err)
	e.Member = m
	m.SetWork(p.works)
	p.mu.Lock()
	p.engines[name] = e
	p.mu.Unlock()
	return e
}

// joinApart starts engines up to a second apart, so that they do not renew their sessions together, and lets them share the work.
func (p *plant) joinApart(r *rand.Rand, names ...string) (engines []*engine) {
	for _, name := range names {
		engines = append(engines, p.join(name))
		p.pass(time.Duration(r.IntN(1000)) * time.Millisecond)
	}
	p.pass(20 * time.Second)
	return engines
}

func (p *plant) do(ctx context.Context, e *engine, name string, lease *cluster.Held) error {
	if err := e.unable.Load(); err != nil {
		return *err
	}
	p.mu.Lock()
	p.doing[lease.Work] = append(p.doing[lease.Work], holder{name, lease})
	if lease.Epoch < p.epochs[lease.Work] {
		p.backs = append(p.backs, lease.Work)
	}
	p.epochs[lease.Work] = lease.Epoch
	p.mu.Unlock()
	<-ctx.Done()
	time.Sleep(time.Duration(e.slow.Load()))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.doing[lease.Work] = slices.DeleteFunc(p.doing[lease.Work], func(h holder) bool { return h.lease == lease })
	return nil
}

// owners returns who has a valid lease, by work.
func (p *plant) owners() map[string]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	owners := map[string]string{}
	for work, all := range p.doing {
		for _, h := range all {
			if !h.lease.Valid() {
				continue
			}
			if _, twice := owners[work]; twice {
				p.twice = append(p.twice, work)
			}
			owners[work] = h.engine
		}
	}
	return owners
}

// pass lets time pass and looks every 10 ms whether work is done twice.
func (p *plant) pass(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
		p.owners()
	}
}

// until lets time pass until all works are done by the engines, and returns how long that took.
func (p *plant) until(limit time.Duration, engines ...string) time.Duration {
	start := time.Now()
	for time.Since(start) < limit {
		time.Sleep(10 * time.Millisecond)
		owners := p.owners()
		if len(owners) < len(p.works) {
			continue
		}
		others := false
		for _, e := range owners {
			others = others || !slices.Contains(engines, e)
		}
		if !others {
			return time.Since(start)
		}
	}
	p.t.Fatalf("after %s: %v", limit, p.owners())
	return 0
}

func (p *plant) count() map[string]int {
	n := map[string]int{}
	for _, e := range p.owners() {
		n[e]++
	}
	return n
}

// close ends all engines.
func (p *plant) close() {
	p.mu.Lock()
	engines := p.engines
	p.mu.Unlock()
	for _, e := range engines {
		e.link.cut.Store(false)
		e.link.refuse.Store(false)
		e.link.lose.Store(false)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		require.NoError(p.t, e.Close(ctx))
		cancel()
	}
	require.Empty(p.t, p.owners())
	require.Empty(p.t, p.twice, "done twice")
	require.Empty(p.t, p.backs, "an epoch that was there before")
	state, err := p.store.State(context.Background())
	require.NoError(p.t, err)
	require.Empty(p.t, state.Sessions)
	for _, l := range state.Leases {
		require.Empty(p.t, l.Session, l.Work)
	}
}
