package discovery

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/internal/runes"
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
// and cannot be kept is released again. A bridge that was released at the bridge, and says that it is free, may be bound again: its tags, their
// history and its shell stay.
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
	old, again := s.get(r.BridgeID)
	if !again {
		old.EngineID = s.opts.EngineID
	}
	if err := s.askStatus(ctx, r.BridgeID, url, old); err != nil {
		return Binding{}, link.Manifest{}, err
	}
	engineURL, err := s.opts.EngineURL(ctx, url)
	if err != nil {
		return Binding{}, link.Manifest{}, err
	}
	reach := s.Reach()
	m, err := s.bridges.Bind(ctx, url, r.Secret, link.BindRequest{EngineID: old.EngineID, EngineURL: engineURL, EnginePins: reach.Pins, EngineURLs: reach.URLs})
	if errors.Is(err, ErrAlreadyBound) { // by somebody who was faster, whom the bridge can name
		if named := s.askStatus(ctx, r.BridgeID, url, old); errors.Is(named, ErrAlreadyBound) {
			err = named
		}
	}
	if err != nil {
		return Binding{}, link.Manifest{}, err
	}
	keep := s.keep
	if again {
		keep = s.renew
	}
	b, err := keep(ctx, r.BridgeID, url, m)
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

// begin begins to bind a bridge that nobody else is binding. Call the function that it returns to end it.
func (s *Service) begin(bridgeID string) (func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.busy[bridgeID] != nil:
		return nil, ErrAlreadyBound.On("bridgeId", bridgeID).Because("another request is changing its binding")
	case s.bridge[bridgeID] == nil && len(s.bridge) >= s.opts.MaxBindings:
		return nil, ErrTooMany.Because("at most %d", s.opts.MaxBindings)
	}
	return s.hold(bridgeID), nil
}

// askStatus finds out before anything changes whether the bridge is the one that is meant, and may be bound. old is its binding, of which just
// the EngineID is set if there is none.
func (s *Service) askStatus(ctx context.Context, bridgeID, url string, old Binding) error {
	st, err := s.bridges.Status(ctx, url)
	switch {
	case err != nil:
		return err
	case st.BridgeID != bridgeID:
		return ErrMismatch.Because("its id is %.100q", st.BridgeID)
	case st.Status == link.StatusBinding:
		return ErrAlreadyBound.On("bridgeId", bridgeID).Because("an engine is binding it")
	case st.Status != link.StatusFree:
		return alreadyBound(bridgeID, st.BoundEngineID, old.EngineID)
	case old.BridgeID == "":
		if st.DriverID != "" && s.hasDriver(st.DriverID) {
			return ErrDriverTaken.On("driverId", st.DriverID)
		}
		return nil
	case s.linkOpen(bridgeID): // what answers there is not the bridge of the link
		return alreadyBound(bridgeID, old.EngineID, old.EngineID)
	case st.DriverID != "" && st.DriverID != old.DriverID:
		return ErrDriverChanged.Because("%q became %q", old.DriverID, clean(st.DriverID))
	}
	return nil
}

// alreadyBound returns the error for a bridge that is bound to an engine, which may be this one.
func alreadyBound(bridgeID, to, ours string) error {
	err := ErrAlreadyBound.On("bridgeId", bridgeID)
	switch to = runes.Shorten(clean(to), MaxIDBytes); to {
	case "":
		return err
	case ours:
		err = err.Because("to this engine, %s", to)
	default:
		err = err.Because("to another engine, %s", to)
	}
	return err.With("boundEngineId", to)
}

func (s *Service) linkOpen(bridgeID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.bridge[bridgeID]
	return b != nil && s.isLinked(b)
}

func (s *Service) hasDriver(id string) bool { return s.attacher != nil && s.attacher.HasDriver(id) }

// checkAnswer checks what a bridge has answered to a bind.
func checkAnswer(bridgeID string, m link.Manifest) error {
	if m.BridgeID != bridgeID {
		return ErrMismatch
	}
	if n := len(m.BindingToken); n < minToken || n > maxToken || clean(m.BindingToken) != m.BindingToken {
		return ErrBadManifest.Because("it has no binding token of %d to %d characters", minToken, maxToken)
	}
	return checkManifest(m)
}

// keep checks and stores what a bridge has answered, and shows its tags.
func (s *Service) keep(ctx context.Context, bridgeID, url string, m link.Manifest) (Binding, error) {
	if err := checkAnswer(bridgeID, m); err != nil {
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
	case errors.Is(err, ErrAlreadyBound): // by another engine that uses the store
		if other, _ := s.stored(ctx, bridgeID); other.EngineID != "" {
			err = alreadyBound(bridgeID, other.EngineID, s.opts.EngineID)
		}
		return Binding{}, err
	case errors.Is(err, ErrDriverTaken):
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

// renew is keep for a bridge that has a binding: the new one takes its place.
func (s *Service) renew(ctx context.Context, bridgeID, url string, m link.Manifest) (Binding, error) {
	old, _ := s.get(bridgeID)
	if err := checkAnswer(bridgeID, m); err != nil {
		return Binding{}, err
	}
	if m.DriverID != old.DriverID {
		return Binding{}, ErrDriverChanged.Because("%q became %q", old.DriverID, clean(m.DriverID))
	}
	if err := ctx.Err(); err != nil {
		return Binding{}, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	if err := s.setManifest(ctx, bridgeID, m, 0); err != nil {
		return Binding{}, err
	}
	// The token comes last: until it is stored, the old binding stays, of a bridge that is free.
	now, urls := s.now(), s.urlsOf(bridgeID, url)
	change := func(b *Binding) {
		*b = Binding{BridgeID: b.BridgeID, DriverID: b.DriverID, DriverType: b.DriverType, EngineID: b.EngineID, BoundAt: now, URLs: urls, Token: m.BindingToken,
			ManifestHash: b.ManifestHash, TagCount: b.TagCount, ActiveSubmodels: b.ActiveSubmodels, Epoch: b.Epoch, Position: b.Position, Fence: b.Fence, Report: b.Report}
	}
	err := s.store.UpdateBinding(ctx, bridgeID, func(b *Binding) error { // whichever engine looks after it
		change(b)
		return nil
	})
	if err != nil {
		return Binding{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.bridge[bridgeID]
	change(&known.Binding)
	known.renewed(now)
	return known.clone(), nil
}

// renewed notes that a bridge was bound again. Service.mu is held.
func (b *bridge) renewed(now time.Time) {
	b.released, b.missed, b.problem, b.refused = false, 0, "", ""
	b.since, b.lasted = now, time.Now()
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
	if !ok || s.sharing != nil { // another engine may have given the bridge its key
		if b, err = s.stored(ctx, bridgeID); err != nil {
			return err
		}
	}
	if err := s.store.RemoveBinding(ctx, bridgeID); err != nil && !errors.Is(err, ErrNotBound) {
		return err
	}
	s.drop(ctx, b)
	s.release(ctx, b)
	s.opts.Logger.Info("bridge unbound", "bridge", bridgeID, "driver", b.DriverID)
	return nil
}

// drop ends what there is of a bridge whose binding is removed.
func (s *Service) drop(ctx context.Context, b Binding) {
	s.mu.Lock()
	if known := s.bridge[b.BridgeID]; known != nil && known.stop != nil {
		known.stop()
	}
	delete(s.bridge, b.BridgeID)
	s.mu.Unlock()
	if s.attacher == nil {
		return
	}
	if err := s.attacher.Detach(ctx, b); err != nil {
		s.opts.Logger.Error("failed to remove the driver of a bridge", "bridge", b.BridgeID, "driver", b.DriverID, "error", err)
	}
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
