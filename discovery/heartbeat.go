package discovery

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"sync"
	"time"

	"github.com/otkit/otkit/discovery/link"
)

const (
	missedLimit = 3  // heartbeats after which a bridge is offline
	maxChecks   = 64 // heartbeats at the same time

	statusTimeout = 5 * time.Second  // of one address
	checkTimeout  = 10 * time.Second // of all
	searchTime    = 3 * time.Second
	saveInterval  = 5 * time.Minute // of heartbeats that are stored
)

// run is a call of Run.
type run struct {
	ctx context.Context
	wg  sync.WaitGroup
}

// Run watches the bound bridges until ctx ends: it asks those whose link is not open for their status at the interval of heartbeats. Call it
// once.
func (s *Service) Run(ctx context.Context) {
	r := &run{ctx: ctx}
	s.mu.Lock()
	s.run = r
	for _, b := range s.bridge {
		s.watch(b)
	}
	s.mu.Unlock()
	if s.sharing != nil {
		r.wg.Go(func() { s.follow(ctx) })
	}
	ticker := time.NewTicker(saveInterval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-ticker.C:
			s.saveHeartbeats(ctx)
		}
	}
	s.mu.Lock()
	s.run = nil
	for _, b := range s.bridge {
		b.stop = nil
	}
	s.mu.Unlock()
	r.wg.Wait()
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	s.saveHeartbeats(ending)
}

// watch begins the heartbeats of a bridge while Run runs. s.mu is held.
func (s *Service) watch(b *bridge) {
	if s.run == nil || b.stop != nil {
		return
	}
	ctx, cancel := context.WithCancel(s.run.ctx)
	b.stop = cancel
	bridgeID := b.BridgeID
	s.run.wg.Go(func() {
		defer cancel()
		s.beat(ctx, bridgeID)
	})
}

// beat looks after one bridge until ctx ends. Each bridge has a moment of its own in the interval.
func (s *Service) beat(ctx context.Context, bridgeID string) {
	h := fnv.New32a()
	_, _ = h.Write([]byte(bridgeID))
	timer := time.NewTimer(s.opts.Heartbeat * time.Duration(h.Sum32()%1000+1) / 1000)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		began := time.Now()
		s.check(ctx, bridgeID)
		timer.Reset(max(s.opts.Heartbeat-time.Since(began), time.Second))
	}
}

// check is one heartbeat of a bridge.
func (s *Service) check(ctx context.Context, bridgeID string) {
	b, open, ask := s.due(bridgeID)
	if !ask {
		return
	}
	select {
	case s.checks <- struct{}{}:
		defer func() { <-s.checks }()
	case <-ctx.Done():
		return
	}
	url, err := s.ask(ctx, b, b.URLs)
	if err != nil && ctx.Err() == nil && (open || s.missedBefore(bridgeID) >= missedLimit-1) {
		if found := s.find(ctx, b); len(found) > 0 {
			if at, again := s.ask(ctx, b, found); again == nil {
				url, err = at, nil
			}
		}
	}
	if ctx.Err() == nil {
		s.checked(ctx, b, url, err)
	}
}

// due returns a bridge, whether its link is open, which is the heartbeat, and whether it is to be asked all the same: after a link has opened, its
// address is looked up, as far as it can be reached at all.
func (s *Service) due(bridgeID string) (b Binding, open, ask bool) {
	now := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.bridge[bridgeID]
	if known == nil || !s.owned(known) {
		return Binding{}, false, false
	}
	ask = true
	if known.link {
		s.heard(known, now)
		ask = known.look > 0
		known.look = max(known.look-1, 0)
	}
	return known.clone(), known.link, ask
}

func (s *Service) missedBefore(bridgeID string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.bridge[bridgeID]; b != nil {
		return b.missed
	}
	return 0
}

// heard notes a heartbeat. s.mu is held.
func (s *Service) heard(b *bridge, now time.Time) {
	b.missed, b.problem, b.released, b.HeartbeatAt, b.unsaved, b.Offline = 0, "", false, now, true, false
}

var (
	errOther    = errors.New("another bridge answers there")
	errBinding  = errors.New("the bridge says that it is being bound")
	errUnbound  = errors.New("the bridge says that it is bound to another engine")
	errReleased = errors.New("released at the bridge")
)

// ask returns the first of the URLs at which the bridge says that it is bound to this engine. They share the time, so that one that does
// not answer leaves some to the last.
func (s *Service) ask(ctx context.Context, b Binding, urls []string) (at string, err error) {
	end := time.Now().Add(checkTimeout)
	for i, url := range urls {
		one, cancel := context.WithTimeout(ctx, min(statusTimeout, time.Until(end)/time.Duration(len(urls)-i)))
		st, failed := s.bridges.Status(one, url)
		cancel()
		switch {
		case failed != nil:
		case st.BridgeID != b.BridgeID:
			failed = errOther
		case st.Status == link.StatusFree:
			failed = errReleased // or another one pretends to be the bridge
		case st.Status != link.StatusBound:
			failed = errBinding
		case st.BoundEngineID != b.EngineID:
			failed = fmt.Errorf("%w: %.*q", errUnbound, MaxIDBytes, clean(st.BoundEngineID))
		default:
			if st.Buffer != nil {
				s.Buffered(b.BridgeID, *st.Buffer)
			}
			return url, nil
		}
		if !errors.Is(err, errReleased) && !errors.Is(err, errUnbound) {
			err = failed
		}
	}
	return "", err
}

// checked notes the outcome of a heartbeat.
func (s *Service) checked(ctx context.Context, was Binding, url string, err error) {
	now := s.now()
	s.mu.Lock()
	b := s.bridge[was.BridgeID]
	if b == nil || !s.owned(b) || !b.BoundAt.Equal(was.BoundAt) || b.link && err != nil { // it was bound again, or the link is the heartbeat
		s.mu.Unlock()
		return
	}
	turned := false // offline, or back
	switch {
	case err == nil:
		b.look, turned = 0, b.Offline
		s.heard(b, now)
	case errors.Is(err, errReleased):
		turned = !b.Offline
		b.dead()
	default:
		b.missed++
		b.problem = problemOf(err)
		if b.missed == missedLimit {
			turned, b.Offline = !b.Offline, true
		}
	}
	offline, moved := b.Offline, err == nil && url != b.BaseURL()
	s.mu.Unlock()
	if turned {
		if offline {
			s.opts.Logger.Warn("bridge is offline", "bridge", was.BridgeID, "error", err)
		} else {
			s.opts.Logger.Info("bridge is online", "bridge", was.BridgeID)
		}
		s.storeOffline(ctx, was.BridgeID, offline)
	}
	if moved {
		s.opts.Logger.Info("bridge answers at another address", "bridge", was.BridgeID, "url", url)
		if err := s.update(ctx, was.BridgeID, func(b *Binding) { b.URLs = addURLs([]string{url}, b.URLs) }); err != nil && ctx.Err() == nil {
			s.opts.Logger.Warn("failed to store the address of a bridge; retrying", "bridge", was.BridgeID, "error", err)
		}
	}
}

// storeOffline keeps over a restart that a bridge is offline. If that fails, the next heartbeats find it out again.
func (s *Service) storeOffline(ctx context.Context, bridgeID string, offline bool) {
	err := s.updateStored(ctx, bridgeID, func(b *Binding) { b.Offline = offline })
	if err != nil && !errors.Is(err, ErrNotBound) && !errors.Is(err, link.ErrElsewhere) && ctx.Err() == nil {
		s.opts.Logger.Warn("failed to store whether a bridge is offline", "bridge", bridgeID, "offline", offline, "error", err)
	}
}

// saveHeartbeats stores the times of the last heartbeats.
func (s *Service) saveHeartbeats(ctx context.Context) {
	at := map[string]time.Time{}
	s.mu.Lock()
	for id, b := range s.bridge {
		if b.unsaved && s.owned(b) {
			at[id], b.unsaved = b.HeartbeatAt, false
		}
	}
	s.mu.Unlock()
	if len(at) == 0 {
		return
	}
	if err := s.store.SetHeartbeats(ctx, at); err != nil && ctx.Err() == nil {
		s.opts.Logger.Warn("failed to store heartbeats; retrying", "error", err)
		s.mu.Lock()
		for id := range at {
			if b := s.bridge[id]; b != nil {
				b.unsaved = true
			}
		}
		s.mu.Unlock()
	}
}
