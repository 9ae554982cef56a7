package discovery

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/discovery/linked"
)

// Plant is what a [Service] must know of the engines that share its [SharedStore]: the driver of a bridge is run by one of them, which serves the link
// and looks after the bridge. Its methods must be quick. Safe for concurrent use.
type Plant interface {
	// Lease returns the lease by which this engine runs a driver; nil if it does not.
	Lease(driverID string) *linked.Lease
	// Owner returns the engine that has the lease of a driver; ok is false if none has.
	Owner(driverID string) (o Owner, ok bool)
	// Want asks the others to leave a driver to this engine as long as want is set.
	Want(driverID string, want bool)
	// Others reports whether there are other engines at present.
	Others() bool
}

// Owner is the engine that has the lease of a driver.
type Owner struct {
	Engine string // its id
	URL    string // where that engine itself is reached; may be empty
	Beat   uint64 // how often it has said that it lives
}

// sharing is what a service has in addition if it shares its store.
type sharing struct {
	plant Plant
	store SharedStore
	own   string // id of this engine; Options.EngineID is that of the plant

	// Of follow alone.
	version int64 // of the store, as last loaded
	told    Engine
	saved   time.Time // when the reports of all bridges were stored, by the monotonic clock
	failing bool

	engines []Engine // guarded by Service.mu
}

const (
	followInterval = 250 * time.Millisecond
	followTimeout  = 5 * time.Second // of one look at the store
	tellInterval   = time.Hour       // between two times that an engine says that it is there
	forgetEngine   = 30 * 24 * time.Hour
	maxEngines     = 16 // whose URLs and pins bridges are told

	// silence is when a bridge gives up a link that is silent, if another engine may take it over.
	silence = 4 * time.Second
)

// join makes the service one of several. It is called by New.
func (s *Service) join(ctx context.Context) error {
	store, ok := s.store.(SharedStore)
	if !ok {
		return errors.New("discovery: Deps.Store is not a SharedStore, which Options.Plant needs")
	}
	s.sharing = &sharing{plant: s.opts.Plant, store: store, own: s.opts.EngineID, version: -1}
	all, err := store.Bindings(ctx)
	if err != nil {
		return err
	}
	id := s.opts.NewID()
	if len(all) > 0 { // of an engine that was alone: its bridges know it by this name
		id = slices.MinFunc(all, func(a, b Binding) int { return a.BoundAt.Compare(b.BoundAt) }).EngineID
	}
	s.opts.EngineID, err = store.PlantID(ctx, id)
	return err
}

// owned reports whether this engine looks after a bridge. s.mu is held.
func (s *Service) owned(b *bridge) bool {
	return s.sharing == nil || b.lease != nil && b.lease.Valid()
}

// LooksAfter reports whether this engine looks after a bridge: if it shares the bridges with others, one of them does.
func (s *Service) LooksAfter(bridgeID string) bool {
	if s.sharing == nil {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.bridge[bridgeID]
	return b != nil && s.owned(b)
}

// fence returns the epoch by which this engine may change what is stored of a bridge, 0 if it is alone. If another engine looks after the bridge, or none,
// the error is a link.ErrElsewhere.
func (s *Service) fence(bridgeID string) (uint64, error) {
	if s.sharing == nil {
		return 0, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.bridge[bridgeID]
	if b == nil || !s.owned(b) {
		return 0, link.Elsewhere("", "")
	}
	return b.lease.Epoch, nil
}

// moved turns ErrLate into what ends the link: another engine has it.
func (s *Service) moved(bridgeID string, err error) error {
	if !errors.Is(err, ErrLate) {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.bridge[bridgeID]; b != nil {
		b.lease = nil
	}
	return link.ErrElsewhere.On("engineId", "").Wrap(err)
}

// claim makes this engine the one that looks after a bridge, as it was left by the one before. The bridge's change is held.
func (s *Service) claim(ctx context.Context, bridgeID string, lease *linked.Lease) error {
	s.mu.Lock()
	known := s.bridge[bridgeID]
	if known == nil || known.has(lease) {
		s.mu.Unlock()
		return nil
	}
	driverID, hash := known.DriverID, known.ManifestHash
	s.mu.Unlock()
	b, err := s.sharing.store.Claim(ctx, bridgeID, driverID, lease.Epoch)
	if err != nil {
		return s.moved(bridgeID, err)
	}
	s.mu.Lock()
	known.Binding, known.lease, known.attach = b, lease, true
	known.resume(s.now())
	s.mu.Unlock()
	if hash != b.ManifestHash {
		return s.showStored(ctx, b)
	}
	return nil
}

// has reports whether the bridge was claimed by a lease. s.mu is held.
func (b *bridge) has(lease *linked.Lease) bool {
	return b.lease != nil && b.lease.Epoch == lease.Epoch && b.lease.Valid()
}

// resume goes on where the engine before has left off. s.mu is held.
func (b *bridge) resume(now time.Time) {
	clock, r := time.Now(), b.Report
	b.link, b.since, b.changed, b.lasted, b.downSeen = false, now, clock, clock, clock
	if r.Engine != "" && !r.LinkOpen {
		b.since = r.Since
	}
	b.missed, b.problem, b.released, b.downTold = r.Missed, r.Problem, r.Released, r.DriverDown
	if b.Offline {
		b.missed = missedLimit
	}
	if r.HeartbeatAt.After(b.HeartbeatAt) {
		b.HeartbeatAt = r.HeartbeatAt
	}
	b.buffer, b.bufferAt = r.Buffer, r.BufferAt
	b.refused, b.look, b.shellKnown, b.shellProblem = "", missedLimit, false, ""
}

// report returns what the others are to know of a bridge. s.mu is held.
func (s *Service) report(b *bridge) Report {
	i := b.info(s.opts.Heartbeat)
	return Report{Engine: s.sharing.own, Epoch: b.lease.Epoch, LinkOpen: i.LinkOpen, Since: i.Since, Missed: min(i.Missed, missedLimit), Problem: i.Problem,
		Released: b.released, Down: i.Down, DriverDown: i.DriverDown, ShellKnown: i.ShellKnown, ShellProblem: i.ShellProblem,
		HeartbeatAt: i.HeartbeatAt, Buffer: i.Buffer, BufferAt: i.BufferAt}
}

// elsewhere returns a bridge that another engine looks after, or none. s.mu is held.
func (s *Service) elsewhere(b *bridge) Info {
	r := b.Report
	owner, owned := s.sharing.plant.Owner(b.DriverID)
	open := owned && r.LinkOpen && r.Engine == owner.Engine
	i := Info{Binding: b.clone(), Elsewhere: true, LinkOpen: open, Missed: r.Missed, Problem: r.Problem, Since: r.Since, Down: r.Down,
		Online:     !r.Released && (open || !b.LinkedAt.IsZero() && r.Missed < missedLimit && !b.Offline),
		DriverDown: r.DriverDown, ShellKnown: r.ShellKnown, ShellProblem: r.ShellProblem, Buffer: r.Buffer, BufferAt: r.BufferAt}
	if r.HeartbeatAt.After(i.HeartbeatAt) {
		i.HeartbeatAt = r.HeartbeatAt
	}
	switch {
	case b.hidden != "":
		i.Problem = b.hidden
	case i.Problem == "" && !owned:
		i.Problem = "no engine runs its driver"
	}
	return i
}

// isReleased reports whether a bridge is free though it was not unbound. s.mu is held.
func (s *Service) isReleased(b *bridge) bool {
	if s.owned(b) {
		return b.released
	}
	return b.Report.Released
}

// isLinked reports whether the link of a bridge is open, at whichever engine. s.mu is held.
func (s *Service) isLinked(b *bridge) bool {
	if s.owned(b) {
		return b.link
	}
	i := s.elsewhere(b)
	return i.LinkOpen
}

// Reach returns how bridges reach the engines of the plant, or this one if it is alone.
func (s *Service) Reach() link.Reach {
	if s.sharing == nil {
		return link.Reach{Pins: s.opts.Pins()}
	}
	own := Engine{ID: s.sharing.own, URLs: s.opts.URLs(), Pins: s.opts.Pins()}
	s.mu.Lock()
	engines := slices.Clone(s.sharing.engines)
	s.mu.Unlock()
	engines = slices.DeleteFunc(engines, func(e Engine) bool { return e.ID == own.ID || s.now().Sub(e.SeenAt) > forgetEngine })
	slices.SortFunc(engines, func(a, b Engine) int { return b.SeenAt.Compare(a.SeenAt) })
	var r link.Reach
	for _, e := range append([]Engine{own}, engines[:min(len(engines), maxEngines-1)]...) {
		r.Pins, r.URLs = appendNew(r.Pins, e.Pins), appendNew(r.URLs, e.URLs)
	}
	slices.Sort(r.URLs)
	slices.Sort(r.Pins)
	r.Pins, r.URLs = r.Pins[:min(len(r.Pins), maxEngines)], r.URLs[:min(len(r.URLs), maxEngines)]
	if s.sharing.plant.Others() {
		r.Silence = silence
	}
	return r
}

// appendNew adds those that the list does not have.
func appendNew(list, more []string) []string {
	for _, text := range more {
		if !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}
