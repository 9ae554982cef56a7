package bridge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/internal/backoff"
)

const (
	dialTimeout  = 10 * time.Second
	oneOfSeveral = 3 * time.Second // for one of several addresses
	firstRetry   = 250 * time.Millisecond
	settleDelay  = 200 * time.Millisecond // from a bind to the first link, in which the engine stores the binding
	settleTime   = time.Minute            // in which an engine that has just bound the bridge may refuse it
	findAfter    = 3                      // failures in a row
	findDuration = 5 * time.Second
)

var (
	errUnbound  = errors.New("the bridge is not bound any more")
	errReleased = errors.New("the bridge was made free")
	errRenewed  = errors.New("the buffer has begun a new epoch")
)

// Run keeps the link to the engine open while the bridge is bound. It returns when ctx ends, and may not be called again.
func (h *Host) Run(ctx context.Context) {
	if err := h.collector.recall(ctx); err != nil && ctx.Err() == nil {
		h.log.Error("failed to read the newest values that wait for the engine", "error", err)
	}
	failures, reason, way := 0, "", newRoute()
	for ctx.Err() == nil {
		h.mu.Lock()
		s, since := h.state, h.boundSince
		h.mu.Unlock()
		if !s.bound() {
			failures, way = 0, newRoute()
			h.pause(ctx, 0)
			continue
		}
		if fresh := settleDelay - time.Since(since); !since.IsZero() && fresh > 0 {
			backoff.Wait(ctx, fresh)
			continue
		}
		addresses := way.addresses(&s, h.o.EngineURL)
		url := way.next(addresses)
		opened, err := h.connect(ctx, s, url, way.unreachable, len(addresses) > 1)
		if ctx.Err() != nil || errors.Is(err, errUnbound) || errors.Is(err, errRenewed) {
			continue
		}
		// A bridge with the same id, from a copied data directory, replaces each link, and this one its links.
		if opened && !errors.Is(err, link.ErrReplaced) {
			failures = 0
		}
		failures++
		last := reason
		reason = reasonOf(err)
		switch {
		case opened && errors.Is(err, link.ErrEnded): // it stops, or has removed the binding
			h.report(err, slog.LevelInfo, "link ended by the engine; opening another one")
		case errors.Is(err, link.ErrElsewhere):
			h.report(err, slog.LevelDebug, noLink)
		case failures == 1 || reason != last:
			h.report(err, slog.LevelWarn, noLink)
		default:
			h.report(err, slog.LevelDebug, noLink)
		}
		if errors.Is(err, link.ErrRefused) && h.refused(link.RefusedBy(err), s, since) {
			continue
		}
		h.mu.Lock()
		s = h.state // the engine may have told of others
		h.mu.Unlock()
		if way.attempted(&s, url, len(way.addresses(&s, h.o.EngineURL)), opened, err) {
			continue
		}
		if !opened { // an address that was right is tried first again
			way.sent = h.find(ctx, s, failures)
		}
		h.pause(ctx, backoff.Jitter(backoff.Delay(min(firstRetry, h.o.RetryInterval), h.o.RetryInterval, failures)))
	}
}

// pause waits for a change of the binding, and for d unless it is 0.
func (h *Host) pause(ctx context.Context, d time.Duration) {
	var over <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-h.wake.C():
	case <-over:
	case <-ctx.Done():
	}
}

// reasonOf returns the code of a failure. Texts differ with each attempt: they have the ports of connections.
func reasonOf(err error) string {
	if e, ok := fault.From(err); ok {
		return e.Code
	}
	return ""
}

const noLink = "no link to the engine; retrying"

// report logs why there is no link. Of several failures to open one, only the first of each reason is a warning.
func (h *Host) report(err error, level slog.Level, text string) {
	h.log.Log(context.Background(), level, text, "error", err)
	h.mu.Lock()
	h.conn.LastError = err.Error()
	h.mu.Unlock()
}

// refused makes the bridge free if its engine has refused it, unless the engine may not have stored the binding yet. Another engine may have
// got the address.
func (h *Host) refused(by string, s state, since time.Time) bool {
	if by != s.EngineID || s.Key == "" && !since.IsZero() && time.Since(since) < settleTime {
		return false
	}
	h.log.Info("binding removed by the engine", "engine", s.EngineID)
	err := h.free(func(now state) bool { return now.Token == s.Token && now.Key == s.Key })
	if err != nil && !errors.Is(err, ErrNotBound) {
		h.log.Error("failed to remove the binding", "error", err)
		return false
	}
	return true
}

// find returns another address of an engine that does not answer, empty for none.
func (h *Host) find(ctx context.Context, s state, failures int) string {
	if h.o.FindEngine == nil || h.o.EngineURL != "" || failures%findAfter != 0 {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, findDuration)
	defer cancel()
	url, err := h.o.FindEngine(ctx, s.EngineID)
	if err != nil || url == s.EngineURL || validateURL(url) != nil {
		return ""
	}
	if !s.mayDial(url) {
		h.log.Warn("address of the engine ignored: the binding needs https", "url", url)
		return ""
	}
	h.mu.Lock()
	h.searched = url
	h.mu.Unlock()
	return url
}

// connect opens a link and serves it until it ends. opened is whether the engine has accepted it. With several addresses, one that does not answer is given up
// sooner.
func (h *Host) connect(ctx context.Context, s state, url, unreachable string, several bool) (opened bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	h.mu.Lock()
	if now := h.state; now.Token != s.Token || now.Key != s.Key {
		h.mu.Unlock()
		return false, errUnbound
	}
	h.session, h.conn.EngineURL = cancel, url
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		h.session = nil
		if h.conn.Connected {
			h.conn.Connected, h.conn.Since = false, h.o.Now()
		}
		if now := h.state; err != nil && (now.EngineID != s.EngineID || now.BoundAt != s.BoundAt) {
			err = errUnbound
		}
		h.mu.Unlock()
	}()
	hash, err := h.manifestHash(ctx) // before the engine waits for Hello: with many tags it takes long
	if err != nil {
		return false, err
	}
	limit := dialTimeout
	if several {
		limit = oneOfSeveral
	}
	dialing, stop := context.WithTimeout(ctx, limit)
	conn, err := h.o.Dial(dialing, url, s.Pins)
	stop()
	if err != nil {
		return false, fmt.Errorf("dial %s: %w", url, err)
	}
	one := newSession(h, conn, s, hash)
	one.unreachable = unreachable
	err = one.serve(ctx)
	return one.opened, err
}

// connected notes that the engine has accepted the link.
func (h *Host) connected() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.conn.Connected, h.conn.Since, h.conn.LastError = true, h.o.Now(), ""
}

// change stores a change of the binding that a session has made, if it still is the same one.
func (h *Host) change(of state, f func(*state)) error {
	h.changing.Lock()
	defer h.changing.Unlock()
	h.mu.Lock()
	next := h.state
	h.mu.Unlock()
	if next.EngineID != of.EngineID || !next.BoundAt.Equal(of.BoundAt) {
		return errUnbound
	}
	f(&next)
	if err := h.store(next); err != nil {
		return ErrState.Wrap(err)
	}
	return nil
}
