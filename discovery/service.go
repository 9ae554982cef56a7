package discovery

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/discovery/linked"
	"github.com/otkit/otkit/fault"
)

// Bridges calls bridges. The package bridgeclient does it over HTTP. Every call is limited in time and in the size of its answer, and goes to
// the host of its URL only. Errors are those of this package.
type Bridges interface {
	Status(ctx context.Context, baseURL string) (link.Status, error)
	// Bind binds a free bridge; ErrAlreadyBound if it is not free. secret is what the bridge wants of those who bind it; it may be empty.
	Bind(ctx context.Context, baseURL, secret string, r link.BindRequest) (link.Manifest, error)
	// Release makes a bridge free. token is the binding token or the session key.
	Release(ctx context.Context, baseURL, token string) error
}

// Attacher shows bound bridges in the rest of the engine. Calls for one bridge do not overlap.
type Attacher interface {
	// HasDriver reports whether there is a driver with this id.
	HasDriver(driverID string) bool
	// Attach adds the driver of a bridge with its tags, or replaces the tags of one that is attached.
	Attach(ctx context.Context, b Binding, m link.Manifest) error
	// Detach ends the link of a bridge whose binding was removed, and removes its driver.
	Detach(ctx context.Context, b Binding) error
}

// Journal records what was over when the engine learned of it, because the link of a bridge was down.
type Journal interface {
	// DriverWasDown records that the driver of a bridge had no device for a time. When it returns nil, it survives a crash. The same report
	// may come again.
	DriverWasDown(ctx context.Context, b Binding, until time.Time) error
}

// Deps are what a Service works with.
type Deps struct {
	Store   Store   // required; remains the caller's
	Bridges Bridges // required
	Scanner Scanner // nil: scans find nothing
	Journal Journal // nil: nothing is recorded
}

// Options configure a [Service]. EngineID is required.
type Options struct {
	EngineID string // by which bridges know the engine
	// EngineURL returns the URL at which a bridge reaches the engine. Default: binding fails with ErrNoEngineURL.
	EngineURL func(ctx context.Context, bridgeURL string) (string, error)
	// Pins returns the keys of the engine's certificate, as in link.BindRequest. Default: none.
	Pins func() []string
	// URLs returns where bridges reach this engine itself, for the other engines of its plant to tell. Default: none.
	URLs func() []string
	// BindSecret is sent to bridges that want a secret of those who bind them.
	BindSecret string
	// Shared is set if engines of other names use the store: their bindings are ignored.
	Shared bool
	// Plant is set if engines share the store, which is a [SharedStore] then, and the bridges in it: bridges know all of them by one id, that of the plant,
	// and each bridge is looked after by the engine that has the lease of its driver. EngineID tells the engines apart.
	Plant Plant

	Heartbeat   time.Duration // interval; default 30 s
	MaxBindings int           // default 1000

	Now    func() time.Time // default: time.Now
	NewID  func() string    // of the plant; default: UUIDv7
	Logger *slog.Logger     // default: discards
}

func (o Options) withDefaults() (Options, error) {
	switch {
	case o.EngineID == "":
		return o, fault.Option("discovery", "Options.EngineID", "is required")
	case o.Heartbeat < 0:
		return o, fault.Option("discovery", "Options.Heartbeat", "must not be negative, not %s", o.Heartbeat)
	case o.MaxBindings < 0:
		return o, fault.Option("discovery", "Options.MaxBindings", "must not be negative, not %d", o.MaxBindings)
	}
	o.Heartbeat = cmp.Or(o.Heartbeat, 30*time.Second)
	o.MaxBindings = cmp.Or(o.MaxBindings, 1000)
	if o.EngineURL == nil {
		o.EngineURL = func(context.Context, string) (string, error) { return "", ErrNoEngineURL }
	}
	if o.Pins == nil {
		o.Pins = func() []string { return nil }
	}
	if o.URLs == nil {
		o.URLs = func() []string { return nil }
	}
	if o.NewID == nil {
		o.NewID = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

// Service finds, binds and watches bridges. Safe for concurrent use. It implements linked.Bindings.
type Service struct {
	store    Store
	bridges  Bridges
	journal  Journal
	opts     Options
	attacher Attacher // set by Attach, before the first call of anything else
	sharing  *sharing // nil if the engine is alone

	checks   chan struct{} // has an item for each heartbeat that runs
	searches searches

	mu      sync.Mutex
	scans   map[time.Duration]*shared // that run, by their time
	bridge  map[string]*bridge
	busy    map[string]chan struct{} // by bridge id, closed when the change of its binding has ended
	drivers map[string]bool          // ids of drivers of bridges that are being bound
	seen    map[string]sighting      // what scans have found, by bridge id
	run     *run                     // nil while Run does not
}

// bridge is a bound bridge. Its members are guarded by Service.mu.
type bridge struct {
	Binding
	link    bool
	since   time.Time // of link
	changed time.Time // as since, by the monotonic clock: setting the clock is no outage
	lasted  time.Time // by the monotonic clock, when a link that had lasted ended, or the watch began
	missed  int
	problem string
	// released means that the bridge is free though it was not unbound here: somebody has released it at the bridge.
	released bool
	buffer   *link.Buffer // see Info
	bufferAt time.Time
	look     int    // at so many heartbeats it is asked though its link is open: it may have another address
	unsaved  bool   // HeartbeatAt is newer than in the store
	hidden   string // why its tags could not be shown; empty if they are
	refused  string // why its manifest was refused; empty if it was not

	shellKnown   bool // see Info
	shellProblem string

	downSeen time.Time // by the monotonic clock, when this process learned of DriverDownAt, or began
	downTold bool      // DriverDown was reported by States
	stop     func()    // ends its heartbeats; nil while there are none

	// Where several engines use the store.
	lease  *linked.Lease // by which this engine has claimed the bridge; nil while another one looks after it, or none
	attach bool          // the rest of the engine does not know yet that it was claimed
	asked  time.Time     // by the monotonic clock, when the others were asked for its driver
	wanted bool          // they are to leave the driver here as long as the link is open
}

// New returns a service with the bindings of the store. Call Attach next.
func New(ctx context.Context, d Deps, o Options) (*Service, error) {
	switch {
	case d.Store == nil:
		return nil, fault.Option("discovery", "store", "is required")
	case d.Bridges == nil:
		return nil, fault.Option("discovery", "bridges", "is required")
	}
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Service{store: d.Store, bridges: d.Bridges, journal: d.Journal, opts: o, scans: map[time.Duration]*shared{}, checks: make(chan struct{}, maxChecks),
		bridge: map[string]*bridge{}, busy: map[string]chan struct{}{}, drivers: map[string]bool{}, seen: map[string]sighting{}}
	s.searches = searches{scanner: d.Scanner, turn: make(chan struct{}, 1)}
	if o.Plant != nil {
		if err := s.join(ctx); err != nil {
			return nil, err
		}
	}
	all, err := d.Store.Bindings(ctx)
	if err != nil {
		return nil, err
	}
	for _, b := range all {
		if !o.Shared || o.Plant != nil || b.EngineID == o.EngineID {
			s.take(b)
		}
	}
	return s, nil
}

// take adds a binding. s.mu is held, or s is new.
func (s *Service) take(b Binding) *bridge {
	clock := time.Now()
	known := &bridge{Binding: b, since: s.now(), changed: clock, lasted: clock, downSeen: clock}
	if b.Offline {
		known.missed = missedLimit
	}
	s.bridge[b.BridgeID] = known
	return known
}

// Attach shows the bound bridges through a, now and whenever one is bound. Call it once, before anything else. A bridge that cannot be
// shown stays bound and has no link: the error is logged, and each time that it opens its link it is tried again.
func (s *Service) Attach(ctx context.Context, a Attacher) error {
	if a == nil {
		return fault.Option("discovery", "attacher", "is required")
	}
	s.attacher = a
	for _, info := range s.Bindings() {
		err := s.showStored(ctx, info.Binding)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			s.opts.Logger.Error("failed to show a bridge", "bridge", info.BridgeID, "driver", info.DriverID, "error", err)
		}
	}
	return nil
}

// showStored shows the tags of a bridge by the manifest of the store.
func (s *Service) showStored(ctx context.Context, b Binding) error {
	m, err := s.store.Manifest(ctx, b.BridgeID)
	if err != nil {
		s.setHidden(b.BridgeID, err)
		return err
	}
	return s.show(ctx, b, m)
}

// show shows the tags of a bridge.
func (s *Service) show(ctx context.Context, b Binding, m link.Manifest) error {
	if s.attacher == nil {
		return nil
	}
	err := s.attacher.Attach(ctx, b, m)
	s.setHidden(b.BridgeID, err)
	return err
}

func (s *Service) setHidden(bridgeID string, err error) {
	why := ""
	if err != nil {
		why = "its tags cannot be shown: " + messageOf(err, "internal error")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.bridge[bridgeID]; b != nil {
		b.hidden = why
	}
}

// SetShellProblem notes that the shell of a bridge was brought up to date. problem is why it does not have the id that the bridge is
// configured to give it; empty for no reason.
func (s *Service) SetShellProblem(bridgeID, problem string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.bridge[bridgeID]; b != nil {
		b.shellKnown, b.shellProblem = true, problem
	}
}

func (s *Service) now() time.Time { return s.opts.Now().UTC().Truncate(time.Microsecond) }

// Bindings returns the bound bridges by id. Their tokens and keys are left out.
func (s *Service) Bindings() []Info { return s.list(false) }

// EngineID returns the id by which bridges know the engine, which is that of its plant if it has one.
func (s *Service) EngineID() string { return s.opts.EngineID }

// States is Bindings for the one who raises alarms: a driver that is DriverDown in it is not reported to the Journal any more.
func (s *Service) States() []Info { return s.list(true) }

func (s *Service) list(told bool) []Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Info, 0, len(s.bridge))
	for _, id := range slices.Sorted(maps.Keys(s.bridge)) {
		b := s.bridge[id]
		if told && s.owned(b) && !b.DriverDownAt.IsZero() && time.Since(b.downSeen) >= DriverDownDelay {
			b.downTold = true
		}
		i := Info{}
		if s.owned(b) {
			i = b.info(s.opts.Heartbeat)
		} else {
			i = s.elsewhere(b)
		}
		i.Token, i.Key = "", ""
		all = append(all, i)
	}
	return all
}

// lastingLink is how long a link must be open to count as one over which samples arrive. One that the engine or the bridge cannot go on
// with, such as for a manifest that is refused, opens and ends again and again.
const lastingLink = 10 * time.Second

func (b *bridge) lasts() bool { return b.link && time.Since(b.changed) >= lastingLink }

func (b *bridge) info(heartbeat time.Duration) Info {
	i := Info{Binding: b.clone(), LinkOpen: b.link, Missed: b.missed, Problem: cmp.Or(b.hidden, b.refused, b.problem), Since: b.since,
		Online:     !b.released && (b.link || !b.LinkedAt.IsZero() && b.missed < missedLimit),
		Down:       !b.lasts() && (b.Offline || time.Since(b.lasted) >= missedLimit*heartbeat),
		DriverDown: b.downTold && !b.DriverDownAt.IsZero(), ShellKnown: b.shellKnown, ShellProblem: b.shellProblem,
		Buffer: b.buffer, BufferAt: b.bufferAt}
	return i
}

// lock begins a change of a bridge's binding and waits for one in progress. Call the function that it returns to end it.
func (s *Service) lock(ctx context.Context, bridgeID string) (func(), error) {
	for {
		s.mu.Lock()
		other := s.busy[bridgeID]
		if other == nil {
			defer s.mu.Unlock()
			return s.hold(bridgeID), nil
		}
		s.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// hold begins a change when there is none. s.mu is held.
func (s *Service) hold(bridgeID string) (end func()) {
	done := make(chan struct{})
	s.busy[bridgeID] = done
	return func() {
		s.mu.Lock()
		delete(s.busy, bridgeID)
		s.mu.Unlock()
		close(done)
	}
}

// get returns a copy of a binding with its secrets.
func (s *Service) get(bridgeID string) (Binding, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.bridge[bridgeID]
	if !ok {
		return Binding{}, false
	}
	return b.clone(), true
}

// update changes a binding that this engine looks after, in the store and then here.
func (s *Service) update(ctx context.Context, bridgeID string, change func(*Binding)) error {
	if err := s.updateStored(ctx, bridgeID, change); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.bridge[bridgeID]; b != nil {
		change(&b.Binding)
	}
	return nil
}

// updateStored changes a binding that this engine looks after, in the store.
func (s *Service) updateStored(ctx context.Context, bridgeID string, change func(*Binding)) error {
	fence, err := s.fence(bridgeID)
	if err == nil {
		err = s.store.UpdateBinding(ctx, bridgeID, func(b *Binding) error {
			if fence != 0 && fence != b.Fence {
				return ErrLate.On("bridgeId", bridgeID)
			}
			change(b)
			return nil
		})
	}
	return s.moved(bridgeID, err)
}
