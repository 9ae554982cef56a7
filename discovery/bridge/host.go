package bridge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/internal/wake"
)

// Host is a bridge: it can be bound to one engine at a time, and delivers the changes of its driver's tags to it. Safe for concurrent
// use. Close must be called.
type Host struct {
	o         Options
	log       *slog.Logger
	collector *collector
	wake      wake.Signal // the binding has changed

	browsing chan struct{} // has an item for each request that the driver works on

	cancel context.CancelFunc // ends the collector's goroutine
	ended  chan struct{}      // closed when Close is called
	wg     sync.WaitGroup
	closed sync.Once

	changing sync.Mutex // held while the binding changes; taken before mu
	telling  sync.Mutex // held in OnStatus

	mu         sync.Mutex
	state      state
	binding    bool                    // a bind request is in progress
	boundSince time.Time               // when the bridge was bound by this process; zero if it was before
	session    context.CancelCauseFunc // ends the link; nil if there is none
	conn       LinkStatus
	found      string // address of an engine in the network
	searched   string // address of the engine as Options.FindEngine has found it last

	sent, acked uint64
	stats       Stats // as Stats returned last
	manifests   manifestCache
}

// withDefaults sets the defaults and validates the options.
func (o Options) withDefaults() (Options, error) {
	for _, r := range []struct {
		name    string
		missing bool
	}{
		{"ID", o.ID == ""}, {"Tags", o.Tags == nil}, {"DriverID", o.DriverID == ""}, {"Buffer", o.Buffer == nil},
		{"StateFile", o.StateFile == ""}, {"Dial", o.Dial == nil},
	} {
		if r.missing {
			return o, fmt.Errorf("bridge: Options.%s is required", r.name)
		}
	}
	switch {
	case len(o.ID) > maxID:
		return o, fmt.Errorf("bridge: Options.ID must not be longer than %d bytes", maxID)
	case o.RetryInterval < 0:
		return o, errors.New("bridge: Options.RetryInterval must not be negative")
	case o.DrainPerSecond < 0:
		return o, errors.New("bridge: Options.DrainPerSecond must not be negative")
	case o.MaxPending < 0:
		return o, errors.New("bridge: Options.MaxPending must not be negative")
	}
	if o.EngineURL != "" {
		if err := validateURL(o.EngineURL); err != nil {
			return o, fmt.Errorf("bridge: Options.EngineURL %w", err)
		}
	}
	o.RetryInterval = cmp.Or(o.RetryInterval, 5*time.Second)
	o.DrainPerSecond = cmp.Or(o.DrainPerSecond, 100_000)
	o.MaxPending = cmp.Or(o.MaxPending, 16<<20)
	if o.OnStatus == nil {
		o.OnStatus = func(link.Status) {}
	}
	if o.OnDiscard == nil {
		o.OnDiscard = func(context.Context, string, uint64) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

// New reads the binding from Options.StateFile and, if there is one, begins to collect. Run delivers. New returns an error if a required
// option is missing, or the file or the buffer cannot be read.
func New(ctx context.Context, o Options) (*Host, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	h := &Host{o: o, log: o.Logger, wake: wake.NewSignal(), browsing: make(chan struct{}, maxStuck), ended: make(chan struct{})}
	h.collector = &collector{host: h, log: o.Logger, max: o.MaxPending, work: wake.NewSignal(), records: make(map[string]*record)}
	s, damaged, err := loadState(o.StateFile)
	if err != nil {
		return nil, err
	}
	if damaged != "" {
		h.log.Error("state of the bridge damaged; the bridge is free", "file", damaged)
	}
	h.state, h.manifests.changed = s, wake.NewSignal()
	if err := h.collector.resume(ctx); err != nil {
		return nil, err
	}
	run, cancel := context.WithCancel(context.Background())
	h.cancel = cancel
	h.wg.Go(func() { h.collector.run(run) })
	if s.bound() {
		if err := h.collect(ctx); err != nil {
			return nil, errors.Join(err, h.Close(ctx))
		}
	}
	h.conn.Since = o.Now()
	h.tellStatus()
	return h, nil
}

// collect begins to collect for the engine that the bridge is bound to.
func (h *Host) collect(ctx context.Context) error {
	if err := h.collector.activate(ctx); err != nil {
		return err
	}
	h.reportDamage(ctx)
	return nil
}

// reportDamage tells the engine once for each epoch that the buffer was damaged.
func (h *Host) reportDamage(ctx context.Context) {
	stats, err := h.o.Buffer.Stats(ctx)
	if err != nil || stats.Damage == "" {
		return
	}
	h.changing.Lock()
	defer h.changing.Unlock()
	h.mu.Lock()
	next := h.state
	h.mu.Unlock()
	if next.DamageTold == stats.Epoch {
		return
	}
	h.collector.mu.Lock()
	h.collector.event(EventBufferDamaged, stats.Damage)
	h.collector.mu.Unlock()
	next.DamageTold = stats.Epoch
	if err := h.store(next); err != nil {
		h.log.Warn("failed to store the state of the bridge", "error", err)
	}
}

// checkEpoch continues with the new epoch of a buffer that was damaged, and reports whether there is one. The link begins again.
func (h *Host) checkEpoch(ctx context.Context) bool {
	renewed, err := h.collector.renewed(ctx)
	if err != nil {
		h.log.Error("failed to continue with a new offline buffer; retrying", "error", err)
	}
	if !renewed || err != nil {
		return false
	}
	h.forgetDelivered()
	h.mu.Lock()
	end := h.session
	h.mu.Unlock()
	if end != nil {
		end(nil)
	}
	h.reportDamage(ctx)
	return true
}

// forgetDelivered is called when a new epoch has begun.
func (h *Host) forgetDelivered() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sent, h.acked = 0, 0
}

// delivered notes the last numbers that were sent and acknowledged.
func (h *Host) delivered(sent, acked uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sent, h.acked = max(h.sent, sent), max(h.acked, acked)
}

// Close stops collecting and waits for what the Host runs; Run must have been told to end. What is in memory only is lost; Drain stores it.
func (h *Host) Close(ctx context.Context) error {
	h.closed.Do(func() {
		h.collector.deactivate()
		close(h.ended)
		h.cancel()
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.wg.Wait()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Drain stores what the driver has reported, as Flush does. Call it when the driver has stopped and before Close.
func (h *Host) Drain(ctx context.Context) error { return h.Flush(ctx) }

// Flush returns when all that the driver has reported before is in the buffer. It returns ErrBuffer if the buffer cannot take it now; the
// Host tries again. A free bridge buffers nothing: Flush then returns nil.
func (h *Host) Flush(ctx context.Context) error { return h.collector.flushed(ctx) }

// Status returns what everybody may know of the bridge.
func (h *Host) Status() link.Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := link.Status{BridgeID: h.o.ID, Status: link.StatusFree, DriverType: h.o.DriverType, DriverID: h.o.DriverID, Version: h.o.Version}
	switch {
	case h.binding:
		s.Status = link.StatusBinding
	case h.state.bound():
		s.Status, s.BoundEngineID = link.StatusBound, h.state.EngineID
	}
	return s
}

// tellStatus calls OnStatus. The last call has the status of that moment, so that none is out of date for long.
func (h *Host) tellStatus() {
	h.telling.Lock()
	defer h.telling.Unlock()
	h.o.OnStatus(h.Status())
}

// Link returns the status of the link to the engine.
func (h *Host) Link() LinkStatus {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.conn
	switch {
	case h.o.EngineURL != "":
		s.EngineURL, s.DiscoveryMethod = cmp.Or(s.EngineURL, h.o.EngineURL), DiscoveryManual
	case h.state.bound():
		s.EngineURL, s.DiscoveryMethod = cmp.Or(s.EngineURL, h.state.EngineURL), DiscoveryManual
		if s.EngineURL == h.found || s.EngineURL == h.searched { // the network's, in place of the binding's
			s.DiscoveryMethod = DiscoveryMDNS
		}
	case h.found != "":
		s.EngineURL, s.DiscoveryMethod = h.found, DiscoveryMDNS
	default:
		s.EngineURL, s.DiscoveryMethod = "", DiscoveryNone
	}
	return s
}

// SetFoundEngine sets the address of an engine that was found in the network, or that none is found if url is empty. Link returns it while the
// bridge is free.
func (h *Host) SetFoundEngine(url string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.found = url
}

// Stats returns what waits for the engine. If the buffer cannot be asked, it returns what is known, and the error.
func (h *Host) Stats(ctx context.Context) (Stats, error) {
	buffer, err := h.o.Buffer.Stats(ctx)
	s := Stats{BufferStats: buffer}
	h.mu.Lock()
	s.Sent, s.Acknowledged = h.sent, h.acked
	h.mu.Unlock()
	h.collector.complete(&s)
	if err == nil {
		h.mu.Lock()
		h.stats = s
		h.mu.Unlock()
	}
	return s, err
}

// knownStats returns what Stats returned last.
func (h *Host) knownStats() Stats {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stats
}
