package linked

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
)

// Options configure a Hub. The zero Options work.
type Options struct {
	Logger *slog.Logger // default: discards
	// UnknownTagWait is how long a batch waits for the tag engine to define its tags. Then their samples are dropped. Default 10 s.
	UnknownTagWait time.Duration
	// MinBackoff and MaxBackoff bound the time between two attempts to store a batch. Default 100 ms and 10 s.
	MinBackoff, MaxBackoff time.Duration
	// Settle is called before a position is stored: it returns nil when everything that follows from the stored samples, such as alarms, survives a
	// crash too. An error is treated as one of storing. It may be nil.
	Settle func(ctx context.Context) error
}

// Hub serves the links of all bridges. It is safe for concurrent use. Close must be called.
type Hub struct {
	bindings Bindings
	opts     Options
	log      *slog.Logger
	idle     chan struct{} // closed when the hub is closed and nothing runs

	mu      sync.Mutex
	closed  bool
	running int // calls of Serve and what they have started
	bridges map[string]*bridge
	refused map[string]time.Time  // when it was last logged that a bridge was refused
	serving map[*session]struct{} // also those that have not said who they are
}

// New returns a hub of the bridges that b knows.
func New(b Bindings, o Options) (*Hub, error) {
	if b == nil {
		return nil, errors.New("linked: the Bindings are nil")
	}
	for path, d := range map[string]time.Duration{
		"Options.UnknownTagWait": o.UnknownTagWait, "Options.MinBackoff": o.MinBackoff, "Options.MaxBackoff": o.MaxBackoff,
	} {
		if d < 0 {
			return nil, fault.Option("linked", path, "must not be negative")
		}
	}
	o.UnknownTagWait = cmp.Or(o.UnknownTagWait, 10*time.Second)
	o.MinBackoff = cmp.Or(o.MinBackoff, 100*time.Millisecond)
	o.MaxBackoff = max(o.MinBackoff, cmp.Or(o.MaxBackoff, 10*time.Second))
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Hub{bindings: b, opts: o, log: o.Logger, idle: make(chan struct{}), bridges: make(map[string]*bridge), refused: make(map[string]time.Time), serving: make(map[*session]struct{})}, nil
}

// run runs f, which Close waits for. The caller is one that Close waits for, too.
func (h *Hub) run(f func()) {
	h.mu.Lock()
	h.running++
	h.mu.Unlock()
	go func() {
		defer h.done()
		f()
	}()
}

func (h *Hub) done() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.running--; h.running == 0 && h.closed {
		close(h.idle)
	}
}

// Driver returns the driver of a bridge, which is a [tags.Forwarder] and a [tags.Browser]: the same one each time. The address of its points is the name of the
// bridge's tag, see link.ManifestTag. Connect waits for the link as long as its context lasts.
func (h *Hub) Driver(bridgeID string) tags.Driver { return h.bridge(bridgeID) }

func (h *Hub) bridge(id string) *bridge {
	h.mu.Lock()
	defer h.mu.Unlock()
	b := h.bridges[id]
	if b == nil {
		b = newBridge(h, id)
		h.bridges[id] = b
	}
	return b
}

// known returns the bridge if it has ever had a driver or a link.
func (h *Hub) known(id string) *bridge {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.bridges[id]
}

// refusalInterval is the least time between two lines about refusals of one bridge: one that is bound to another engine tries again and again.
const refusalInterval = time.Hour

// logsRefusal reports whether the refusal of a bridge is to be logged.
func (h *Hub) logsRefusal(id string) bool {
	const most = 1000 // ids, which strangers may invent
	h.mu.Lock()
	defer h.mu.Unlock()
	if at, ok := h.refused[id]; ok && time.Since(at) < refusalInterval {
		return false
	}
	if len(h.refused) >= most {
		clear(h.refused)
	}
	h.refused[id] = time.Now()
	return true
}

// Disconnect ends the link of a bridge, if it is open. Call it when a binding has been removed: the bridge then opens another link and
// is refused.
func (h *Hub) Disconnect(bridgeID string) {
	if b := h.known(bridgeID); b != nil {
		if s := b.current(); s != nil {
			s.end(link.ErrEnded)
		}
	}
}

// Browse returns the points of a bridge's device. Without an open link, the error is a [tags.ErrNotConnected].
func (h *Hub) Browse(ctx context.Context, bridgeID string) ([]link.ManifestTag, error) {
	b := h.known(bridgeID)
	if b == nil {
		return nil, tags.ErrNotConnected
	}
	return b.browse(ctx)
}

// SetReach tells all bridges with an open link how the engines are reached. Others learn it when they open one.
func (h *Hub) SetReach(r link.Reach) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, b := range h.bridges {
		if s := b.current(); s != nil {
			s.out.reach(r)
		}
	}
}

// Link is the state of a bridge's link.
type Link struct {
	Open     bool
	Since    time.Time // when it was opened; zero if it is not open
	Peer     string    // the bridge's network address
	Version  string    // of the bridge's program
	Samples  uint64    // stored since the engine started
	Lost     uint64    // dropped by the bridge before they were delivered, as found since the engine started
	Unknown  uint64    // samples that were dropped because the engine has no such tag
	Epoch    string
	Position uint64 // the last entry of the epoch that is stored
	Buffered uint64 // entries that wait at the bridge, as it said last, every link.PingInterval; 0 if the link is not open
	// Newest is the time of the newest sample that was stored since the engine started, by the bridge's clock; zero for none.
	Newest time.Time
}

// Link returns the state of a bridge's link.
func (h *Hub) Link(bridgeID string) Link {
	if b := h.known(bridgeID); b != nil {
		return b.state()
	}
	return Link{}
}

// Serve serves a link until it ends. The error is for the bridge, and nil if the bridge has ended the link. Whoever calls Serve ends the connection with
// the error when Serve returns.
func (h *Hub) Serve(ctx context.Context, c link.EngineConn) error {
	if c == nil {
		return errors.New("linked: the EngineConn is nil")
	}
	s := newSession(ctx, h, c)
	defer s.end(nil)
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return link.ErrEnded
	}
	h.serving[s] = struct{}{}
	h.running++
	h.mu.Unlock()
	defer h.done()
	err := s.serve()
	h.mu.Lock()
	delete(h.serving, s)
	h.mu.Unlock()
	return err
}

// Close ends all links and refuses others, and waits for what runs as long as ctx lasts. The bridges open their links again once an engine listens.
func (h *Hub) Close(ctx context.Context) error {
	h.mu.Lock()
	if !h.closed {
		h.closed = true
		for s := range h.serving {
			s.end(link.ErrEnded)
		}
		if h.running == 0 {
			close(h.idle)
		}
	}
	h.mu.Unlock()
	select {
	case <-h.idle:
		return nil
	default:
	}
	select {
	case <-h.idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
