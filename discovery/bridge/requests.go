package bridge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/internal/backoff"
	"github.com/otkit/otkit/tags"
)

// write is a write that the engine has asked for.
type write struct{ link.Write }

// pendingWrite is one that was accepted, or has an outcome already.
type pendingWrite struct {
	id      uint64 // of the engine
	local   string // of the tag engine; empty if there is an outcome
	outcome link.Written
}

const (
	outcomeTimeout = time.Minute // for a write that the tag engine has accepted
	minPoll        = time.Millisecond
	maxPoll        = 25 * time.Millisecond
)

// carryOut passes writes to the tag engine, in their order.
func (s *session) carryOut(ctx context.Context) error {
	for {
		list, err := s.writes.Next(ctx, 1)
		if err != nil {
			return err
		}
		w := list[0].Write
		p := pendingWrite{id: w.ID}
		if accepted, err := s.accept(ctx, w); err != nil {
			p.outcome = link.Written{ID: w.ID, Outcome: link.OutcomeFailed, Error: err.Error()}
		} else {
			p.local = accepted.ID
		}
		if !s.outcomes.Add(p) {
			return link.ErrProtocol.Because("more than %d writes are in progress", maxQueued)
		}
	}
}

// accept queues a write unless it has come too late. An error means that the device does not get it.
func (s *session) accept(ctx context.Context, w link.Write) (tags.Write, error) {
	t, err := s.host.findTag(w.Tag)
	if err != nil {
		return tags.Write{}, err
	}
	local := time.Now()
	s.mu.Lock()
	now, known := s.clock.now(local)
	s.mu.Unlock()
	left := w.Deadline.Sub(now)
	if !known || left <= 0 {
		return tags.Write{}, tags.ErrTimeout
	}
	return s.host.o.Tags.Write(ctx, tags.WriteRequest{Tag: t.Name, Value: w.Value, By: "engine " + s.state.EngineID, NotAfter: local.Add(left)})
}

// await reports the outcomes of writes, in their order.
func (s *session) await(ctx context.Context) error {
	for {
		list, err := s.outcomes.Next(ctx, 1)
		if err != nil {
			return err
		}
		p := list[0]
		if p.local != "" {
			p.outcome = s.outcome(ctx, p)
		}
		if err := s.reply(link.FromBridge{Written: &p.outcome}); err != nil {
			return err
		}
	}
}

// outcome waits for the outcome of a write.
func (s *session) outcome(ctx context.Context, p pendingWrite) link.Written {
	for polls, deadline := 1, time.Now().Add(outcomeTimeout); ; polls++ {
		w, err := s.host.o.Tags.GetWrite(ctx, p.local)
		switch {
		case err != nil && ctx.Err() == nil && !time.Now().Before(deadline):
			return link.Written{ID: p.id, Outcome: link.OutcomeUncertain, Error: err.Error()}
		case err == nil && w.State.Final():
			return written(p.id, w)
		case !time.Now().Before(deadline) || !backoff.Wait(ctx, backoff.Delay(minPoll, maxPoll, polls)):
			return link.Written{ID: p.id, Outcome: link.OutcomeUncertain, Error: "the write has no outcome yet"}
		}
	}
}

func written(id uint64, w tags.Write) link.Written {
	out := link.Written{ID: id, Outcome: link.OutcomeUncertain, Error: cmp.Or(w.Error, "the outcome is unknown")}
	switch w.State {
	case tags.WriteDone, tags.WriteConfirmed:
		out.Outcome, out.Error = link.OutcomeDone, ""
	case tags.WriteFailed:
		out.Outcome = link.OutcomeFailed
	case tags.WriteUnconfirmed, tags.WriteUnknown, tags.WriteQueued:
	}
	return out
}

const browseTimeout = time.Minute

// browse answers requests to list the points of the device, one after the other.
func (s *session) browse(ctx context.Context) error {
	for {
		list, err := s.browses.Next(ctx, 1)
		if err != nil {
			return err
		}
		out := link.Browsed{ID: list[0]}
		points, err := s.host.listPoints(ctx)
		if err != nil {
			out.Error = err.Error()
		}
		for i := range points[:min(len(points), link.MaxNames)] {
			out.Tags = append(out.Tags, s.host.manifestTag(&points[i]))
		}
		if err := s.reply(link.FromBridge{Browsed: &out}); err != nil {
			return err
		}
	}
}

var (
	errNoBrowser = errors.New("the driver cannot list the points of its device")
	errBrowsing  = errors.New("the driver has not ended earlier requests to list the points of its device")
)

// maxStuck is how many requests a driver that ignores their contexts may hold.
const maxStuck = 4

// listPoints asks the driver. A driver that does not end with ctx is left behind, so that it keeps neither the link nor Close.
func (h *Host) listPoints(ctx context.Context) ([]tags.Tag, error) {
	if h.o.Browser == nil {
		return nil, errNoBrowser
	}
	select {
	case h.browsing <- struct{}{}:
	default:
		return nil, errBrowsing
	}
	ctx, cancel := context.WithTimeout(ctx, browseTimeout)
	type answer struct {
		list []tags.Tag
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		defer cancel()
		defer func() { <-h.browsing }()
		list, err := h.askDriver(ctx)
		answers <- answer{list, err}
	}()
	select {
	case a := <-answers:
		return a.list, a.err
	case <-ctx.Done():
		return nil, fmt.Errorf("the driver has not listed the points of its device: %w", context.Cause(ctx))
	}
}

// askDriver calls the driver. One that panics does not end the bridge.
func (h *Host) askDriver(ctx context.Context) (list []tags.Tag, err error) {
	defer func() {
		if p := recover(); p != nil {
			h.log.Error("driver panicked", "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("driver panicked: %v", p)
		}
	}()
	return h.o.Browser.Browse(ctx)
}
