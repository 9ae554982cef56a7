package linked

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
)

// maxNameBytes is the size limit of a dictionary.
const maxNameBytes = 32 << 20

// session is a link while it is open.
type session struct {
	hub  *Hub
	conn link.EngineConn
	ctx  context.Context
	quit context.CancelCauseFunc
	// start is when the link began. Times are counted from it by the monotonic clock, so that setting the engine's clock neither
	// ends the link nor makes a late write timely.
	start time.Time

	bridge *bridge // nil before Hello
	hello  link.Hello
	engine string // by which the bridge knows the engine
	log    *slog.Logger
	key    string // to be confirmed by a second Hello; empty if there is none to confirm
	lease  *Lease // nil if no other engine serves the link

	out   *outbox
	queue *queue
	live  *live
	calls *calls

	updated time.Time      // when the last manifest was taken
	next    *link.Manifest // the newest that waits for its time, see manifestInterval; nil for none
	due     *time.Timer    // of next

	buffered   atomic.Uint64 // entries that wait at the bridge, as it said last
	heard      atomic.Int64  // since start, when a frame was received last; a negative value while one is handled
	dictionary atomic.Pointer[[]string]
	nameBytes  int
	once       sync.Once // logs the first sample that is dropped
}

func newSession(ctx context.Context, h *Hub, c link.EngineConn) *session {
	s := &session{hub: h, conn: c, start: time.Now(), log: h.log, out: newOutbox(), queue: newQueue(), live: newLive(), calls: newCalls()}
	s.ctx, s.quit = context.WithCancelCause(ctx)
	s.dictionary.Store(new([]string))
	return s
}

// now returns the clock of the link.
func (s *session) now() time.Time { return s.start.Add(time.Since(s.start)) }

// names returns the dictionary. It only grows.
func (s *session) names() []string { return *s.dictionary.Load() }

// end ends the link with an error for the bridge. Only the first counts.
func (s *session) end(err error) { s.quit(err) }

// serve runs the link until it ends and returns why.
func (s *session) serve() error {
	frames := make(chan link.FromBridge)
	s.hub.run(func() { s.receive(frames) })
	s.hub.run(func() { s.out.run(s.ctx, s.conn, s.now) })
	err := s.run(frames)
	s.quit(err)
	if b := s.bridge; b != nil {
		b.finish(s)
		s.logEnd(err)
	}
	return err
}

func (s *session) logEnd(err error) {
	switch {
	case err == nil:
		s.log.Info("link of a bridge ended")
	case errors.Is(err, link.ErrReplaced), fault.KindOf(err) == fault.Unavailable && !errors.Is(err, link.ErrSilent): // the engine stops, or so
		s.log.Info("link of a bridge ended", "reason", err)
	default:
		s.log.Warn("link of a bridge ended", "error", err)
	}
}

// receive passes frames on until the connection ends or the session does. It outlives serve until the caller of Serve has ended the connection.
func (s *session) receive(frames chan<- link.FromBridge) {
	for {
		f, err := s.conn.Recv()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = errGone
			}
			s.quit(err)
			return
		}
		s.heard.Store(-1)
		select {
		case frames <- f:
		case <-s.ctx.Done():
			return
		}
	}
}

// errGone means that the bridge has ended the link.
var errGone = errors.New("the bridge has ended the link")

// run handles frames in their order.
func (s *session) run(frames <-chan link.FromBridge) error {
	opening := time.NewTimer(link.HelloDeadline)
	defer opening.Stop()
	select {
	case f := <-frames:
		if err := s.open(f.Hello); err != nil {
			return err
		}
	case <-opening.C:
		return link.ErrProtocol.Because("no Hello within %v", link.HelloDeadline)
	case <-s.ctx.Done():
		return s.cause()
	}
	s.handled()
	opening.Reset(link.SilenceLimit)
	s.due = time.NewTimer(time.Hour)
	s.due.Stop()
	defer s.due.Stop()
	silence := time.NewTicker(link.SilenceLimit / 10)
	defer silence.Stop()
	for {
		select {
		case f := <-frames:
			if err := s.handle(f); err != nil {
				return err
			}
			s.handled()
		case <-opening.C:
			if s.key != "" {
				return link.ErrProtocol.Because("the session key was not confirmed within %v", link.SilenceLimit)
			}
		case <-s.due.C:
			if err := s.updateManifest(s.next); err != nil {
				return err
			}
			s.handled()
		case <-silence.C:
			if heard := s.heard.Load(); heard >= 0 && time.Since(s.start)-time.Duration(heard) > link.SilenceLimit {
				return link.ErrSilent
			}
		case <-s.ctx.Done():
			return s.cause()
		}
	}
}

func (s *session) handled() { s.heard.Store(int64(time.Since(s.start))) }

// cause returns why the session's context has ended, nil if the bridge has ended the link.
func (s *session) cause() error {
	switch err := context.Cause(s.ctx); {
	case errors.Is(err, errGone), errors.Is(err, context.Canceled):
		return nil
	default:
		return err
	}
}

// open answers the first Hello.
func (s *session) open(h *link.Hello) error {
	if h == nil {
		return link.ErrProtocol.Because("the first frame is not Hello")
	}
	if err := validHello(h); err != nil {
		return err
	}
	s.hello, s.log = *h, s.hub.log.With("bridge", h.BridgeID, "peer", s.conn.Peer())
	grant, err := s.hub.bindings.OpenLink(s.ctx, *h)
	if err == nil && h.Key != "" {
		err = s.confirm()
	}
	if err != nil {
		return s.refusal(err)
	}
	s.hello.Token, s.hello.Key = "", ""
	s.key, s.engine, s.lease = grant.Key, grant.EngineID, grant.Lease
	s.out.greet(&link.Welcome{EngineID: grant.EngineID, Key: grant.Key, Position: grant.Position, WantManifest: grant.WantManifest, Reach: grant.Reach})
	if s.lease != nil {
		s.hub.run(s.watchLease)
	}
	s.bridge = s.hub.bridge(h.BridgeID)
	s.log.Info("link of a bridge opened", "epoch", h.Epoch, "position", grant.Position, "version", h.Version)
	s.bridge.begin(s, grant.Position)
	return nil
}

// errMoved tells a bridge that another engine is to have its link.
var errMoved = link.ErrEnded.Because("another engine takes over the bridge")

// watchLease ends the link when this engine must not serve it any more: at once if the lease is lost, else when the driver has ended.
func (s *session) watchLease() {
	select {
	case <-s.lease.Done:
	case <-s.lease.Ended:
	case <-s.ctx.Done():
		return
	}
	for s.lease.Valid() {
		select {
		case <-s.lease.Ended:
			s.end(errMoved)
			return
		case <-s.ctx.Done():
			return
		case <-time.After(leaseCheck):
		}
	}
	s.end(errMoved)
}

// leaseCheck is how often the lease of a driver that is about to move is checked.
const leaseCheck = 50 * time.Millisecond

// refusal returns what a bridge is told that cannot open its link.
func (s *session) refusal(err error) error {
	if errors.Is(err, link.ErrRefused) {
		if s.hub.logsRefusal(s.hello.BridgeID) {
			s.log.Warn("link of a bridge refused: no such binding, or another token or key")
		}
		return err
	}
	if s.ctx.Err() != nil {
		return s.cause()
	}
	if errors.Is(err, link.ErrElsewhere) {
		return err
	}
	s.log.Error("link of a bridge ended: its binding cannot be used", "error", err)
	if _, ok := fault.From(err); ok {
		return err
	}
	return link.ErrEnded.Because("the binding cannot be read or stored now").Wrap(err)
}

const (
	maxID     = 256 // bytes of an id, an epoch, a version or a hash
	maxSecret = 1024
)

func validHello(h *link.Hello) error {
	switch {
	case h.Protocol != link.Protocol:
		return link.ErrProtocol.Because("version %d is not %d", h.Protocol, link.Protocol)
	case h.BridgeID == "" || len(h.BridgeID) > maxID:
		return link.ErrProtocol.Because("Hello has no valid bridge id")
	case h.Epoch == "" || len(h.Epoch) > maxID:
		return link.ErrProtocol.Because("Hello has no valid epoch")
	case (h.Token == "") == (h.Key == "") || len(h.Token) > maxSecret || len(h.Key) > maxSecret:
		return link.ErrProtocol.Because("Hello has not exactly one of token and key")
	case len(h.Version) > maxID || len(h.ManifestHash) > maxID || len(h.Unreachable) > maxID:
		return link.ErrProtocol.Because("Hello is too long")
	}
	return nil
}

// confirm stores that the bridge has its key.
func (s *session) confirm() error { return s.hub.bindings.ConfirmKey(s.ctx, s.hello.BridgeID) }

// handle handles a frame after the first.
func (s *session) handle(f link.FromBridge) error {
	if s.key != "" && f.Pong == nil && f.Released == nil {
		return s.confirmed(f.Hello)
	}
	switch {
	case f.Batch != nil:
		return s.queue.add(f.Batch)
	case f.Live != nil:
		return s.takeLive(f.Live)
	case f.Names != nil:
		return s.extend(f.Names)
	case f.Written != nil:
		s.calls.written(f.Written)
	case f.Browsed != nil:
		s.calls.browsed(f.Browsed)
	case f.Manifest != nil:
		return s.takeManifest(f.Manifest)
	case f.Pong != nil:
		s.buffered.Store(f.Pong.Buffer.Waiting)
		s.hub.bindings.Buffered(s.hello.BridgeID, f.Pong.Buffer)
	case f.Released != nil:
		if err := s.bridge.released(s); err != nil {
			return s.refusal(err)
		}
		return link.ErrEnded.Because("the bridge was released")
	default:
		return link.ErrProtocol.Because("a frame is not one that a bridge sends now")
	}
	return nil
}

// confirmed takes the second Hello of a link whose Welcome had a key.
func (s *session) confirmed(h *link.Hello) error {
	if h == nil {
		return link.ErrProtocol.Because("the session key was not confirmed")
	}
	if h.BridgeID != s.hello.BridgeID || subtle.ConstantTimeCompare([]byte(h.Key), []byte(s.key)) != 1 {
		return link.Refusal(s.engine)
	}
	if err := s.confirm(); err != nil {
		return s.refusal(err)
	}
	s.key = ""
	return nil
}

// extend appends to the dictionary.
func (s *session) extend(n *link.Names) error {
	have := s.names()
	if int(n.First) != len(have) || len(have)+len(n.Names) > link.MaxNames {
		return link.ErrProtocol.Because("%d names from index %d do not continue a dictionary of %d, or exceed %d", len(n.Names), n.First, len(have), link.MaxNames)
	}
	for _, name := range n.Names {
		if s.nameBytes += len(name); len(name) > tags.MaxNameBytes || s.nameBytes > maxNameBytes {
			return link.ErrProtocol.Because("a name exceeds %d bytes, or the dictionary %d", tags.MaxNameBytes, maxNameBytes)
		}
	}
	all := append(have, n.Names...)
	s.dictionary.Store(&all)
	return nil
}

func (s *session) takeManifest(m *link.Manifest) error {
	if m.BridgeID != s.hello.BridgeID {
		return link.ErrProtocol.Because("the manifest is of another bridge: %q", m.BridgeID)
	}
	if len(m.Tags) > link.MaxNames {
		return link.ErrProtocol.Because("the manifest has %d tags, at most %d are allowed", len(m.Tags), link.MaxNames)
	}
	if s.next != nil { // its timer may have fired already
		s.next = m
		return nil
	}
	if wait := manifestInterval - time.Since(s.updated); wait > 0 && !s.updated.IsZero() {
		s.next = m
		s.due.Reset(wait)
		return nil
	}
	return s.updateManifest(m)
}

// manifestInterval is the least time between two manifests of a link that are stored: of those that come faster, the last counts. Samples of a
// tag that is not defined yet wait longer.
const manifestInterval = time.Second

func (s *session) updateManifest(m *link.Manifest) error {
	defer func() { s.updated, s.next = time.Now(), nil }()
	if err := s.hub.bindings.UpdateManifest(s.ctx, s.hello.BridgeID, *m); err != nil {
		return s.refusal(fmt.Errorf("update the manifest: %w", err))
	}
	s.bridge.ignore(nil) // of the tags that came back, no sample must be dropped until Forward knows them
	return nil
}
