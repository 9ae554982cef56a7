package cluster

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/otkit/otkit/internal/wake"
)

// Options configure a Member. Store, Engine and Do are required.
type Options struct {
	Store  Store
	Engine string // id of this engine, which no other may have and which stays the same after a restart

	// Do does a piece of work until ctx ends, and returns when nothing of it is left. It is called in a goroutine of its own when
	// this engine has got the lease, again when it has got it again, and never twice at once for the same work. context.Cause(ctx) is
	// [ErrMoved] while the lease still stands: there is time to finish. It is [ErrLost] when another engine may hold the lease
	// already. If Do returns an error before ctx ends, this engine cannot do the work: the others are told why, and it is not tried
	// here again for RetryAfter.
	Do func(ctx context.Context, lease *Held) error

	Name    string            // of this engine, for people; may be empty
	Host    string            // for the others to see
	URL     string            // for the others to see; may be empty
	Version string            // for the others to see
	Labels  map[string]string // for Work.Requires

	TTL        time.Duration // how long an engine may be silent before the others take over; default 3 s, at least 300 ms
	RetryAfter time.Duration // default 30 s
	// Settle is how long the engines must have been the same before work moves only to spread it evenly. Default 10 s.
	Settle time.Duration

	Now    func() time.Time // of Session.Since and of losses; default time.Now. Leases go by the monotonic clock.
	NewID  func() string    // ids of sessions; default: UUIDv7
	Logger *slog.Logger     // default: discards
}

func (o Options) withDefaults() (Options, error) {
	switch {
	case o.Store == nil:
		return o, errors.New("cluster: Options.Store is required")
	case o.Engine == "":
		return o, errors.New("cluster: Options.Engine is required")
	case o.Do == nil:
		return o, errors.New("cluster: Options.Do is required")
	case o.TTL < 0, o.TTL > 0 && o.TTL < 300*time.Millisecond:
		return o, errors.New("cluster: Options.TTL must be at least 300 ms")
	case o.RetryAfter < 0:
		return o, errors.New("cluster: Options.RetryAfter must not be negative")
	case o.Settle < 0:
		return o, errors.New("cluster: Options.Settle must not be negative")
	}
	o.TTL = cmp.Or(o.TTL, 3*time.Second)
	o.RetryAfter = cmp.Or(o.RetryAfter, 30*time.Second)
	o.Settle = cmp.Or(o.Settle, 10*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

// Member is this engine among those that share a plant. Make it with [Join]. Safe for concurrent use. Close must be called.
type Member struct {
	o    Options
	base time.Time // origin of the monotonic times
	// deadline is when the leases end, in ns since base; 0 while there are none.
	deadline atomic.Int64
	// alone is set until another engine is seen: nobody but one that is started can take the leases over.
	alone atomic.Bool
	awake atomic.Int64 // when it was last noted that this process runs, in ns since base

	stop   context.CancelFunc
	wake   wake.Signal
	done   chan struct{}
	closed chan struct{} // closed when Close has been called
	once   sync.Once
	err    error // of closing; set before done is closed

	mu       sync.Mutex
	works    []Work
	news     bool // the others are to be told what this engine cannot do, or asks for
	wants    map[string]uint64
	draining bool
	leaving  bool // Close has been called
	session  Session
	state    State                // as last read
	seen     map[string]time.Time // when a renewal of each session was seen last, by its ID; replaced, and never changed
	failing  error                // why the session could not be renewed at the last try
	life     context.Context      // ends with ErrLost when the leases do; a new one begins with the next renewal
	end      context.CancelCauseFunc
	expiry   *time.Timer

	// Of the loop alone.
	tasks    map[string]*task
	others   map[string]sighting // by session
	unable   map[string]refusal  // by work
	asked    time.Time           // when the last renewal was asked for
	renewed  time.Time           // when the last one that worked was; written with mu held
	looked   time.Time           // since when time without the store is to be excused
	counted  time.Time           // when a renewal was last a chance for the others, too
	blind    bool                // the session could not be renewed, or the store not read, at the last try
	pressed  error               // why the session of a silent engine could not be ended in this step
	took     time.Duration       // of the last renewal that worked
	ids      []string            // of the engines
	settled  time.Time           // since when those are the same
	released bool                // no lease is left
}

type sighting struct {
	beat    uint64
	at      time.Time
	excused time.Duration // how long this engine was without the store since at
	chances int           // how often this engine has renewed its own session since at
	spared  bool          // excused once more, because the store was slow
}

// until returns when the session counts as silent. After enough chances nothing is excused any more: the other engine could have renewed its
// session whenever this one could.
func (s sighting) until(ttl time.Duration) time.Time {
	if s.chances >= chances {
		return s.at.Add(ttl)
	}
	return s.at.Add(ttl + s.excused)
}

type refusal struct {
	reason  string
	until   time.Time
	lingers bool // the work still runs for a lease that was lost: until it has ended
}

// task is a work that runs here.
type task struct {
	lease  Lease
	ctx    context.Context
	cancel context.CancelCauseFunc
	ended  chan struct{}
	err    error // why it ended by itself; to be read after ended
}

// Held is the lease of work that this engine does. Safe for concurrent use.
type Held struct {
	Work  string
	Epoch uint64 // higher than that of every holder before

	m     *Member
	life  context.Context // of the leases
	ctx   context.Context
	ended <-chan struct{}
	over  atomic.Bool // Do has returned, or the lease was seen not to stand
}

// Done is closed when the work is to end: when the lease moves or is lost, which Valid tells apart.
func (h *Held) Done() <-chan struct{} { return h.ctx.Done() }

// Ended is closed when [Options.Do] has returned.
func (h *Held) Ended() <-chan struct{} { return h.ended }

// Valid reports whether the lease stands, which it does not after [Options.Do] has returned. Ask before each step that only its holder may take.
func (h *Held) Valid() bool {
	if h.over.Load() {
		return false
	}
	stands := h.life.Err() == nil && h.m.valid() && (h.ctx.Err() == nil || errors.Is(context.Cause(h.ctx), ErrMoved))
	if !stands {
		h.over.Store(true)
	}
	return stands
}

func (m *Member) valid() bool {
	until, now := m.deadline.Load(), int64(time.Since(m.base))
	if until == 0 || now < until {
		return until != 0
	}
	// Alone, the leases outlast a store that is away, but not a process that was stopped: it knows nothing of the time since.
	return m.alone.Load() && now < m.awake.Load()+int64(m.o.TTL)
}

// Join makes this engine a member. It does no work before [Member.SetWork]. If an engine of the same id is running, Join returns
// ErrDuplicate; if one has stopped without a word, Join waits for the TTL.
func Join(ctx context.Context, o Options) (*Member, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	o.Labels = maps.Clone(o.Labels)
	m := &Member{
		o: o, base: time.Now(), wake: wake.NewSignal(), done: make(chan struct{}), closed: make(chan struct{}),
		wants: map[string]uint64{}, tasks: map[string]*task{}, others: map[string]sighting{}, unable: map[string]refusal{},
	}
	m.alone.Store(true)
	m.life, m.end = context.WithCancelCause(context.Background())
	m.end(ErrLost)
	m.expiry = time.AfterFunc(time.Hour, m.expire)
	m.expiry.Stop()
	m.session = Session{Engine: o.Engine, Name: o.Name, Host: o.Host, URL: o.URL, Version: o.Version, Since: o.Now().UTC(), Labels: o.Labels}
	if err := m.awaitName(ctx); err != nil {
		return nil, err
	}
	if err := m.first(ctx); err != nil {
		m.leave(ctx)
		return nil, err
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	m.stop = stop
	go m.run(running)
	return m, nil
}

// awaitName waits until no other engine has the id of this one.
func (m *Member) awaitName(ctx context.Context) error {
	seen := map[string]sighting{}
	for {
		state, err := m.o.Store.State(ctx)
		if err != nil {
			return err
		}
		m.mind(state)
		now, waiting := time.Now(), false
		for _, s := range state.Sessions {
			if s.Engine != m.o.Engine {
				continue
			}
			before, known := seen[s.ID]
			switch {
			case !known:
				seen[s.ID] = sighting{beat: s.Beat, at: now}
			case before.beat != s.Beat:
				return ErrDuplicate.On("engine", m.o.Engine).With("host", s.Host)
			case now.Sub(before.at) >= m.o.TTL:
				var ended bool
				if len(state.Sessions) == 1 { // nobody has missed it
					ended, err = m.o.Store.End(ctx, s.ID, s.Beat)
				} else {
					ended, err = m.o.Store.Lose(ctx, s, m.now())
				}
				switch {
				case err != nil:
					return err
				case !ended:
					return ErrDuplicate.On("engine", m.o.Engine).With("host", s.Host)
				}
				continue
			}
			waiting = true
		}
		if !waiting {
			return nil
		}
		select {
		case <-time.After(m.o.TTL / 4):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// first begins the session. Engines of the same id that start at the same time all give up.
func (m *Member) first(ctx context.Context) error {
	if err := m.renew(ctx); err != nil {
		return err
	}
	state, err := m.o.Store.State(ctx)
	if err != nil {
		return err
	}
	for _, s := range state.Sessions {
		if s.Engine == m.o.Engine && s.ID != m.session.ID {
			return ErrDuplicate.On("engine", m.o.Engine).With("host", s.Host)
		}
	}
	m.state = state
	m.mind(state)
	return nil
}

// SetWork replaces the list of all work of the plant. Every member must be given the same one, if a little earlier or later, but for Work.Cannot.
func (m *Member) SetWork(works []Work) {
	works = slices.Clone(works)
	for i := range works {
		works[i].Requires = maps.Clone(works[i].Requires)
	}
	m.mu.Lock()
	m.news = m.news || !maps.Equal(cannot(m.works), cannot(works))
	m.works = works
	m.mu.Unlock()
	m.wake.Set()
}

// cannot returns what an engine cannot do, and why.
func cannot(works []Work) map[string]string {
	reasons := map[string]string{}
	for i := range works {
		if w := &works[i]; w.Cannot != "" {
			reasons[w.Name] = w.Cannot
		}
	}
	return reasons
}

// Drain gives the work of this engine to the others, or takes its share again. After Close it has no effect.
func (m *Member) Drain(drain bool) {
	m.mu.Lock()
	changed := m.draining != drain && !m.leaving
	if changed {
		m.draining = drain
	}
	m.mu.Unlock()
	if !changed {
		return
	}
	m.wake.Set()
	if drain {
		m.o.Logger.Info("this engine is drained: it gives its work to the others")
	} else {
		m.o.Logger.Info("this engine takes its share of the work again")
	}
}

// Want asks the others to leave a piece of work to this engine, or takes that back: for work that cannot go on elsewhere at present, such as
// with a bridge that reaches this engine only. Whoever asked last gets it. While the engine that does it has asked for it, work does not move to spread it evenly.
func (m *Member) Want(work string, want bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !want {
		delete(m.wants, work)
		m.news = true
		m.wake.Set()
		return
	}
	var l Lease
	if i, ok := slices.BinarySearchFunc(m.state.Leases, work, func(l Lease, work string) int { return strings.Compare(l.Work, work) }); ok {
		l = m.state.Leases[i]
	}
	if _, wanted := m.wants[work]; !wanted || l.Session != m.session.ID {
		m.wants[work] = l.Epoch
		m.news = true
		m.wake.Set()
	}
}

// Forget removes the loss of a session from the store, when what is to be done about it is done.
func (m *Member) Forget(ctx context.Context, session string) error {
	return m.call(ctx, func(ctx context.Context) error { return m.o.Store.Forget(ctx, session) })
}

// now returns the time of a loss.
func (m *Member) now() time.Time { return m.o.Now().UTC().Truncate(time.Microsecond) }

// Wake makes the member look at once at what the others have done.
func (m *Member) Wake() { m.wake.Set() }

// Close ends the work of this engine, gives its leases away and leaves. Work that has not ended when ctx does keeps its lease until
// the TTL has passed, and Close returns an error. Calling Close again waits for the first call, as long as ctx lasts.
func (m *Member) Close(ctx context.Context) error {
	m.once.Do(func() { close(m.closed) })
	unhook := context.AfterFunc(ctx, m.stop)
	defer unhook()
	select {
	case <-m.done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return m.err
}
