package discovery

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/fault"
)

// BindRequest asks for a bridge to be bound. BridgeID and BridgeURL are required.
type BindRequest struct {
	BridgeID  string
	BridgeURL string // such as http://10.0.0.5:5100
	Secret    string // what the bridge wants of those who bind it; default Options.BindSecret
}

// releaseTimeout is how long a bridge has to become free.
const releaseTimeout = 5 * time.Second

// The lengths of a binding token in bytes. The hub takes no longer one.
const (
	minToken = 16
	maxToken = 1024
)

// Bind binds a bridge and returns its binding, with the token, and its manifest. The binding is stored when it returns. A bridge that was bound
// and cannot be kept is released again.
func (s *Service) Bind(ctx context.Context, r BindRequest) (Binding, link.Manifest, error) {
	url, err := s.checkBind(&r)
	if err != nil {
		return Binding{}, link.Manifest{}, err
	}
	unlock, err := s.begin(r.BridgeID)
	if err != nil {
		return Binding{}, link.Manifest{}, err
	}
	defer unlock()
	if err := s.askStatus(ctx, r.BridgeID, url); err != nil {
		return Binding{}, link.Manifest{}, err
	}
	engineURL, err := s.opts.EngineURL(ctx, url)
	if err != nil {
		return Binding{}, link.Manifest{}, err
	}
	m, err := s.bridges.Bind(ctx, url, r.Secret, link.BindRequest{EngineID: s.opts.EngineID, EngineURL: engineURL, EnginePins: s.opts.Pins()})
	if err != nil {
		return Binding{}, link.Manifest{}, err
	}
	b, err := s.keep(ctx, r.BridgeID, url, m)
	if err != nil {
		s.release(ctx, Binding{BridgeID: r.BridgeID, URLs: []string{url}, Token: m.BindingToken})
		return Binding{}, link.Manifest{}, err
	}
	s.opts.Logger.Info("bridge bound", "bridge", b.BridgeID, "driver", b.DriverID, "url", url, "tags", b.TagCount)
	return b, m, nil
}

func (s *Service) checkBind(r *BindRequest) (url string, err error) {
	var bad []fault.Field
	if problem := checkBridgeID(r.BridgeID); problem != "" {
		bad = append(bad, fault.Field{Field: "bridgeId", Message: problem})
	}
	url, problem := "", "is required"
	if r.BridgeURL != "" {
		url, problem = parseURL(r.BridgeURL)
	}
	if problem != "" {
		bad = append(bad, fault.Field{Field: "bridgeUrl", Message: problem})
	}
	if len(bad) > 0 {
		return "", ErrInvalid.Invalid(bad...)
	}
	if r.Secret == "" {
		r.Secret = s.opts.BindSecret
	}
	return url, nil
}

// begin begins to bind a bridge that is not bound, and that nobody else is binding. Call the function that it returns to end it.
func (s *Service) begin(bridgeID string) (func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.bridge[bridgeID] != nil || s.busy[bridgeID] != nil:
		return nil, ErrAlreadyBound.On("bridgeId", bridgeID)
	case len(s.bridge) >= s.opts.MaxBindings:
		return nil, ErrTooMany.Because("at most %d", s.opts.MaxBindings)
	}
	return s.hold(bridgeID), nil
}

// askStatus finds out before anything changes whether the bridge is the one that is meant, and may be bound.
func (s *Service) askStatus(ctx context.Context, bridgeID, url string) error {
	st, err := s.bridges.Status(ctx, url)
	switch {
	case err != nil:
		return err
	case st.BridgeID != bridgeID:
		return ErrMismatch.Because("its id is %.100q", st.BridgeID)
	case st.Status != link.StatusFree:
		return ErrAlreadyBound.On("bridgeId", bridgeID)
	case st.DriverID != "" && s.hasDriver(st.DriverID):
		return ErrDriverTaken.On("driverId", st.DriverID)
	}
	return nil
}

func (s *Service) hasDriver(id string) bool { return s.attacher != nil && s.attacher.HasDriver(id) }

// keep checks and stores what a bridge has answered, and shows its tags.
func (s *Service) keep(ctx context.Context, bridgeID, url string, m link.Manifest) (Binding, error) {
	if m.BridgeID != bridgeID {
		return Binding{}, ErrMismatch
	}
	if n := len(m.BindingToken); n < minToken || n > maxToken || clean(m.BindingToken) != m.BindingToken {
		return Binding{}, ErrBadManifest.Because("it has no binding token of %d to %d characters", minToken, maxToken)
	}
	if err := checkManifest(m); err != nil {
		return Binding{}, err
	}
	free, err := s.reserveDriver(m.DriverID)
	if err != nil {
		return Binding{}, err
	}
	defer free()
	b := Binding{BridgeID: bridgeID, DriverID: m.DriverID, EngineID: s.opts.EngineID, BoundAt: s.now(), URLs: s.urlsOf(bridgeID, url), Token: m.BindingToken}
	b.TakeManifest(m)
	if err := ctx.Err(); err != nil {
		return Binding{}, err
	}
	// The caller may leave now: a binding that is half done would have to be undone.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	switch err := s.store.AddBinding(ctx, b, m); {
	case errors.Is(err, ErrAlreadyBound), errors.Is(err, ErrDriverTaken):
		return Binding{}, err // the stored one is another one
	case err != nil:
		return Binding{}, s.undo(ctx, b, err)
	}
	stored, err := s.stored(ctx, bridgeID)
	if err == nil {
		err = s.show(ctx, stored, m)
	}
	if err != nil {
		return Binding{}, s.undo(ctx, b, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watch(s.take(stored))
	return b, nil
}

// storeTimeout is how long the store has for a binding.
const storeTimeout = 30 * time.Second

// stored reads a binding back: the store knows the position of a bridge that was bound before.
func (s *Service) stored(ctx context.Context, bridgeID string) (Binding, error) {
	all, err := s.store.Bindings(ctx)
	if err != nil {
		return Binding{}, err
	}
	i := slices.IndexFunc(all, func(b Binding) bool { return b.BridgeID == bridgeID })
	if i < 0 {
		return Binding{}, ErrNotBound.On("bridgeId", bridgeID)
	}
	return all[i], nil
}

// undo removes a binding that may be stored, and returns why.
func (s *Service) undo(ctx context.Context, b Binding, why error) error {
	if err := s.store.RemoveBinding(ctx, b.BridgeID); err != nil && !errors.Is(err, ErrNotBound) {
		s.opts.Logger.Error("failed to remove a binding that failed", "bridge", b.BridgeID, "error", err)
	}
	return why
}

// reserveDriver keeps two bridges that are bound at the same time from having one driver id.
func (s *Service) reserveDriver(id string) (free func(), err error) {
	taken := s.hasDriver(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.bridge {
		taken = taken || b.DriverID == id
	}
	if taken || s.drivers[id] {
		return nil, ErrDriverTaken.On("driverId", id)
	}
	s.drivers[id] = true
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.drivers, id)
	}, nil
}

// urlsOf returns where a bridge can be reached: the URL that has worked, and what scans have found.
func (s *Service) urlsOf(bridgeID, url string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []string{url}
	if seen := s.seen[bridgeID]; s.now().Sub(seen.at).Abs() <= seenFor {
		list = addURLs(list, seen.urls)
	}
	return list
}

// addURLs adds those of the same scheme, at most maxURLs in all: what is found on the network does not take TLS away.
func addURLs(list, more []string) []string {
	for _, url := range more {
		if len(list) < maxURLs && !slices.Contains(list, url) && (len(list) == 0 || scheme(url) == scheme(list[0])) {
			list = append(list, url)
		}
	}
	return list
}

// Unbind removes a binding and makes the bridge free. A bridge that cannot be reached becomes free when it opens its link, which is refused then.
// It also removes the binding of another engine that uses the store: that engine may be gone for good, and the bridge could never be bound again.
func (s *Service) Unbind(ctx context.Context, bridgeID string) error {
	unlock, err := s.lock(ctx, bridgeID)
	if err != nil {
		return err
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	b, ok := s.get(bridgeID)
	if !ok {
		if b, err = s.stored(ctx, bridgeID); err != nil {
			return err
		}
	}
	if err := s.store.RemoveBinding(ctx, bridgeID); err != nil && !errors.Is(err, ErrNotBound) {
		return err
	}
	s.mu.Lock()
	if known := s.bridge[bridgeID]; known != nil && known.stop != nil {
		known.stop()
	}
	delete(s.bridge, bridgeID)
	s.mu.Unlock()
	if s.attacher != nil {
		if err := s.attacher.Detach(ctx, b); err != nil {
			s.opts.Logger.Error("failed to remove the driver of a bridge", "bridge", bridgeID, "driver", b.DriverID, "error", err)
		}
	}
	s.release(ctx, b)
	s.opts.Logger.Info("bridge unbound", "bridge", bridgeID, "driver", b.DriverID)
	return nil
}

// release makes a bridge free, if it can be reached. Until the key was used, the bridge may know it or not.
func (s *Service) release(ctx context.Context, b Binding) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	var err error
	for _, url := range b.URLs {
		for _, secret := range []string{b.Key, b.Token} {
			if secret == "" {
				continue
			}
			if err = s.bridges.Release(ctx, url, secret); err == nil {
				return
			}
			if !errors.Is(err, ErrDenied) {
				break
			}
		}
	}
	if err != nil {
		s.opts.Logger.Warn("failed to release a bridge; it becomes free when its link is refused", "bridge", b.BridgeID, "error", err)
	}
}
