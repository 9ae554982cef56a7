package bridge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/internal/backoff"
	"github.com/otkit/otkit/internal/wake"
)

// session is one link, from Hello to its end.
type session struct {
	host      *Host
	collector *collector
	log       *slog.Logger
	conn      link.BridgeConn
	state     state  // of the binding
	hash      string // of the manifest
	epoch     string // of the numbers on this link
	opened    bool

	unreachable string        // see link.Hello
	silence     time.Duration // after which the link is given up; of open and receive alone

	left chan struct{} // closed when nothing is received any more

	watchdog *time.Timer
	out      *wake.Queue[link.FromBridge] // answers, so that receiving never waits for sending
	writes   *wake.Queue[write]
	outcomes *wake.Queue[pendingWrite]
	browses  *wake.Queue[uint64]
	acks     wake.Signal // for the sender
	freed    wake.Signal // for the goroutine that tells the buffer
	pinged   wake.Signal // for the goroutine that measures the buffer

	mu    sync.Mutex
	clock engineClock
	acked uint64
	sent  uint64 // of the last batch that was sent
}

const (
	maxQueued  = 1024 // answers, and writes in progress
	maxBrowses = 4
)

func newSession(h *Host, conn link.BridgeConn, s state, hash string) *session {
	return &session{host: h, collector: h.collector, log: h.log.With("engine", s.EngineID), conn: conn, state: s, hash: hash, silence: link.SilenceLimit, left: make(chan struct{}),
		out: wake.NewQueue[link.FromBridge](2 * maxQueued), writes: wake.NewQueue[write](maxQueued),
		outcomes: wake.NewQueue[pendingWrite](maxQueued), browses: wake.NewQueue[uint64](maxBrowses), acks: wake.NewSignal(), freed: wake.NewSignal(), pinged: wake.NewSignal()}
}

// serve runs the session until ctx or the link ends.
func (s *session) serve(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	end := context.AfterFunc(ctx, func() {
		if errors.Is(context.Cause(ctx), errReleased) {
			s.leave()
		}
		_ = s.conn.Close()
	})
	defer end()
	defer func() { _ = s.conn.Close() }()
	s.watchdog = time.AfterFunc(link.HelloDeadline, func() { cancel(link.ErrSilent) })
	defer s.watchdog.Stop()
	welcome, err := s.open(ctx)
	if err != nil {
		close(s.left)
		return because(ctx, err)
	}
	s.opened = true
	s.host.connected()
	s.log.Info("link to the engine open", "position", welcome.Position)
	var wg sync.WaitGroup
	for _, part := range []func(context.Context) error{
		s.receive, s.measure, s.answer, s.carryOut, s.await, s.browse, s.release,
		func(ctx context.Context) error { return newSender(s, welcome).run(ctx) },
	} {
		wg.Go(func() {
			if err := part(ctx); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	s.collector.endLive()
	return context.Cause(ctx)
}

// leaveTimeout is how long an engine has to end the link of a bridge that was made free.
const leaveTimeout = 2 * time.Second

// leave tells the engine that the bridge was made free, and waits until it has ended the link.
func (s *session) leave() {
	late := time.AfterFunc(leaveTimeout, func() { _ = s.conn.Close() })
	defer late.Stop()
	if s.conn.Send(link.FromBridge{Released: &link.Released{}}) == nil {
		<-s.left
	}
}

// because returns why ctx has ended, or err if it has not.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, link.ErrRefused) {
		return cause
	}
	return err
}

// open says Hello, and exchanges the token for a key.
func (s *session) open(ctx context.Context) (welcome link.Welcome, err error) {
	s.epoch = s.collector.epochNow()
	hello := link.Hello{Protocol: link.Protocol, BridgeID: s.host.o.ID, Epoch: s.epoch, Version: s.host.o.Version, ManifestHash: s.hash, Unreachable: s.unreachable}
	if hello.Key = s.state.Key; hello.Key == "" {
		hello.Token = s.state.Token
	}
	asked := time.Now()
	if err := s.conn.Send(link.FromBridge{Hello: &hello}); err != nil {
		return welcome, s.reason(err)
	}
	f, err := s.conn.Recv()
	switch {
	case err != nil:
		return welcome, err
	case f.Welcome == nil:
		return welcome, link.ErrProtocol.Because("the engine's first frame is not Welcome")
	case f.Welcome.EngineID != s.state.EngineID:
		return welcome, link.ErrProtocol.Because("the engine is %q, the bridge is bound to %q", f.Welcome.EngineID, s.state.EngineID)
	}
	welcome = *f.Welcome
	if err := s.reach(&welcome.Reach); err != nil {
		return welcome, err
	}
	s.watchdog.Reset(s.silence)
	s.clock.observe(welcome.Time, asked) // it may have waited for a process that was stopped; the engine's clock is not before this
	if err := s.checkPosition(ctx, welcome.Position); err != nil {
		return welcome, err
	}
	return welcome, s.exchange(hello, &welcome)
}

// reason returns the error of the engine's side for one of sending.
func (s *session) reason(sending error) error {
	if !errors.Is(sending, io.EOF) {
		return sending
	}
	for {
		if _, err := s.conn.Recv(); err != nil {
			return err
		}
	}
}

// exchange stores a session key in place of the token, and then uses it. The engine has stored the key before.
func (s *session) exchange(hello link.Hello, welcome *link.Welcome) error {
	if hello.Key != "" {
		return nil
	}
	if welcome.Key == "" {
		return link.ErrProtocol.Because("the engine has sent no session key")
	}
	if err := s.host.change(s.state, func(next *state) { next.Key, next.Token = welcome.Key, "" }); err != nil {
		return err
	}
	hello.Key, hello.Token = welcome.Key, ""
	if err := s.conn.Send(link.FromBridge{Hello: &hello}); err != nil {
		return s.reason(err)
	}
	return nil
}

// minSilence keeps a link from being given up all the time.
const minSilence = time.Second

// reach stores how the engines of the plant are reached.
func (s *session) reach(r *link.Reach) error {
	if s.silence = link.SilenceLimit; r.Silence > 0 {
		s.silence = min(max(r.Silence, minSilence), link.SilenceLimit)
	}
	pins := r.Pins
	if len(pins) == 0 {
		pins = s.state.Pins
	}
	if slices.Equal(pins, s.state.Pins) && slices.Equal(r.URLs, s.state.EngineURLs) {
		return nil
	}
	if len(pins) > maxPins || slices.ContainsFunc(pins, func(p string) bool { return !validPin(p) }) {
		return link.ErrProtocol.Because("the engine's pins are not valid")
	}
	if len(r.URLs) > maxURLs || slices.ContainsFunc(r.URLs, func(url string) bool { return validateURL(url) != nil }) {
		return link.ErrProtocol.Because("the URLs of the engines are not valid")
	}
	s.state.Pins, s.state.EngineURLs = pins, r.URLs
	return s.host.change(s.state, func(next *state) { next.Pins, next.EngineURLs = pins, r.URLs })
}

// checkPosition begins a new epoch if the engine has entries that this buffer cannot have delivered: it has lost its newest ones, and numbers
// were used again.
func (s *session) checkPosition(ctx context.Context, position uint64) error {
	c := s.collector
	s.host.mu.Lock()
	sent, acked := s.host.sent, s.host.acked
	s.host.mu.Unlock()
	c.mu.Lock()
	base := c.base
	c.mu.Unlock()
	s.acked, s.sent = position, position
	if position <= max(base, sent) {
		s.host.delivered(0, position)
		s.freed.Set()
		return nil
	}
	s.log.Error("offline buffer has lost its newest samples; new epoch", "engineHas", position, "bufferHad", max(base, sent))
	if err := c.renew(ctx, max(base, acked)); err != nil {
		return fmt.Errorf("offline buffer: %w", err)
	}
	s.host.forgetDelivered()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.event(EventBufferDamaged, "the offline buffer had lost its newest samples; those that were not delivered are missing")
	return errRenewed
}

// receive takes frames of the engine.
func (s *session) receive(context.Context) error {
	defer close(s.left)
	for {
		f, err := s.conn.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return link.ErrEnded
		case err != nil:
			return err
		}
		s.watchdog.Reset(s.silence)
		if err := s.take(&f); err != nil {
			return err
		}
	}
}

func (s *session) take(f *link.FromEngine) error {
	switch {
	case f.Ack != nil:
		return s.acknowledge(f.Ack.Through)
	case f.Ping != nil:
		s.mu.Lock()
		s.clock.observe(f.Ping.Time, time.Now())
		s.mu.Unlock()
		defer s.pinged.Set()
		return s.reply(link.FromBridge{Pong: &link.Pong{Time: f.Ping.Time, Buffer: s.buffer()}})
	case f.Write != nil:
		if !s.writes.Add(write{Write: *f.Write}) {
			return link.ErrProtocol.Because("more than %d writes are in progress", maxQueued)
		}
	case f.Browse != nil:
		if !s.browses.Add(f.Browse.ID) {
			return s.reply(link.FromBridge{Browsed: &link.Browsed{ID: f.Browse.ID, Error: "too many requests to browse"}})
		}
	case f.Reach != nil:
		return s.reach(f.Reach)
	}
	return nil // a frame of a newer protocol
}

// buffer returns what waits for the engine, as far as it is known without the buffer: a slow disk must not hold up frames of the engine.
func (s *session) buffer() link.Buffer {
	known := s.host.knownStats()
	b := known.Buffer(s.host.o.Now())
	if b.Waiting = s.waiting(); b.Waiting == 0 {
		b.OldestSeconds = 0
	}
	return b
}

// measure asks the buffer after each Ping, for the answer to the next one.
func (s *session) measure(ctx context.Context) error {
	for {
		select {
		case <-s.pinged.C():
			_, _ = s.host.Stats(ctx) // the collector logs what is wrong with the buffer
		case <-ctx.Done():
			return nil
		}
	}
}

// waiting returns how many entries are not acknowledged.
func (s *session) waiting() uint64 {
	s.mu.Lock()
	acked := s.acked
	s.mu.Unlock()
	last := s.collector.last(s.epoch)
	return last - min(acked, last)
}

func (s *session) acknowledge(through uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if through > s.sent {
		return link.ErrProtocol.Because("the engine acknowledges entry %d, %d was the last", through, s.sent)
	}
	if through > s.acked {
		s.acked = through
		s.host.delivered(0, through)
		s.acks.Set()
		s.freed.Set()
	}
	return nil
}

// reply queues a frame that answers one of the engine.
func (s *session) reply(f link.FromBridge) error {
	if !s.out.Add(f) {
		return link.ErrSilent.Because("the engine does not read answers")
	}
	return nil
}

// answer sends what reply has queued.
func (s *session) answer(ctx context.Context) error {
	for {
		frames, err := s.out.Next(ctx, 0)
		if err != nil {
			return err
		}
		for _, f := range frames {
			if err := s.conn.Send(f); err != nil {
				return nilOnEOF(err)
			}
		}
	}
}

// nilOnEOF leaves it to receive to return the engine's reason.
func nilOnEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

const (
	ackInterval = 200 * time.Millisecond // between two calls of Buffer.Ack: each costs a transaction
	ackRetry    = time.Second
)

// release removes acknowledged entries from the buffer.
func (s *session) release(ctx context.Context) error {
	failed := false
	for {
		select {
		case <-s.freed.C():
		case <-ctx.Done():
			return nil
		}
		s.mu.Lock()
		through := s.acked
		s.mu.Unlock()
		s.collector.forget(s.epoch, through)
		err := s.host.o.Buffer.Ack(ctx, s.epoch, through)
		wait := ackInterval
		if err != nil && ctx.Err() == nil {
			if !failed {
				s.log.Warn("failed to remove delivered samples from the offline buffer; retrying", "error", err)
			}
			s.host.checkEpoch(ctx)
			wait = ackRetry
			s.freed.Set()
		}
		failed = err != nil
		backoff.Wait(ctx, wait)
	}
}
