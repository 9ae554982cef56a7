package linked

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/tags"
)

// bridge is what the hub knows of a bridge while the engine runs, and the driver of its tags.
type bridge struct {
	hub *Hub
	id  string

	telling sync.Mutex // held while LinkChanged is called; taken before mu
	told    bool

	samples, lost, unknown atomic.Uint64
	newest                 atomic.Pointer[time.Time] // of the samples that were stored

	mu      sync.Mutex
	session *session      // nil while no link is open
	changed chan struct{} // closed, and made again, when session changes
	epoch   string
	lease   uint64              // epoch of the lease that the following are of
	through uint64              // last entry of the epoch whose effects are stored; it may be ahead of the stored position
	stored  uint64              // the stored position
	ignored map[string]struct{} // tags that the tag engine did not define in time
}

func newBridge(h *Hub, id string) *bridge {
	return &bridge{hub: h, id: id, changed: make(chan struct{}), ignored: make(map[string]struct{})}
}

// current returns the open link, or nil.
func (b *bridge) current() *session {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.open()
}

// open is current with the lock held.
func (b *bridge) open() *session {
	if b.session == nil || b.session.ctx.Err() != nil {
		return nil
	}
	return b.session
}

func (b *bridge) state() Link {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := Link{Samples: b.samples.Load(), Lost: b.lost.Load(), Unknown: b.unknown.Load(), Epoch: b.epoch, Position: b.stored}
	if at := b.newest.Load(); at != nil {
		l.Newest = *at
	}
	if s := b.open(); s != nil {
		l.Open, l.Since, l.Peer, l.Version, l.Buffered = true, s.start, s.conn.Peer(), s.hello.Version, s.buffered.Load()
	}
	return l
}

// begin makes s the link of the bridge, in place of one that is open.
func (b *bridge) begin(s *session, position uint64) {
	b.mu.Lock()
	if b.session != nil {
		b.session.end(link.ErrReplaced)
	}
	lease := uint64(0)
	if s.lease != nil {
		lease = s.lease.Epoch
	}
	if b.epoch != s.hello.Epoch || b.lease != lease { // another engine may have had it in between
		b.epoch, b.lease, b.through = s.hello.Epoch, lease, position
	}
	// What this process has stored counts, also where its position could not be stored.
	b.through, b.stored = max(b.through, position), position
	b.set(s)
	b.mu.Unlock()
	b.tell(s)
}

// finish notes that a link has ended.
func (b *bridge) finish(s *session) {
	b.mu.Lock()
	if b.session == s {
		b.set(nil)
	}
	b.mu.Unlock()
	b.tell(nil)
}

func (b *bridge) set(s *session) {
	b.session = s
	close(b.changed)
	b.changed = make(chan struct{})
}

// tell reports the state of the link if it is not the one that was reported last, and each link that has opened: its binding may have
// been removed before Disconnect could end it.
func (b *bridge) tell(opened *session) {
	b.telling.Lock()
	defer b.telling.Unlock()
	s := b.current()
	if open := s != nil; open != b.told || open && s == opened {
		b.told = open
		if err := b.hub.bindings.LinkChanged(context.Background(), b.id, open); err != nil && open {
			s.end(err)
		}
	}
}

// released reports that the bridge was made free, unless another link has replaced the one that says so.
func (b *bridge) released(s *session) error {
	b.telling.Lock()
	defer b.telling.Unlock()
	if b.current() != s {
		return nil
	}
	return b.hub.bindings.Released(s.ctx, b.id)
}

// Connect implements tags.Driver.
func (b *bridge) Connect(ctx context.Context) error {
	for {
		b.mu.Lock()
		s, changed := b.open(), b.changed
		b.mu.Unlock()
		if s != nil {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%w: the bridge has not opened its link", tags.ErrNotConnected)
		}
	}
}

// Close implements tags.Driver. The link stays open: it is the bridge's.
func (b *bridge) Close() error { return nil }

// Read implements tags.Driver. The engine does not call it: a bridge sends every value by itself.
func (b *bridge) Read(_ context.Context, points []tags.Point, out []tags.Reading) error {
	s := b.current()
	if s == nil {
		return tags.ErrNotConnected
	}
	s.live.read(s.names(), points, out)
	return nil
}

// Browse implements tags.Browser.
func (b *bridge) Browse(ctx context.Context) ([]tags.Tag, error) {
	list, err := b.browse(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]tags.Tag, 0, len(list))
	for _, t := range list {
		access := tags.AccessMode(t.Access)
		if access != tags.ReadWrite {
			access = tags.ReadOnly
		}
		out = append(out, tags.Tag{Name: t.Name, Address: t.Name, DataType: tags.DataType(t.DataType), Access: access,
			Unit: t.Unit, Description: t.Description, Min: t.Min, Max: t.Max})
	}
	return out, nil
}

func (b *bridge) browse(ctx context.Context) ([]link.ManifestTag, error) {
	s := b.current()
	if s == nil {
		return nil, tags.ErrNotConnected
	}
	return s.browse(ctx)
}
