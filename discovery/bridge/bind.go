package bridge

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/fault"
)

const (
	maxID   = 128
	maxURL  = 2048
	maxPins = 16
	maxURLs = 16
)

// Bind binds the bridge to an engine. The manifest that it returns has the binding token. The binding is on the disk when it returns.
// What the errors mean: ErrBound (also by a concurrent request), ErrBindSecret, ErrBindRequest (its fields say what is wrong), ErrBuffer (what
// waits for another engine could not be discarded) and ErrState: with all but the first, the bridge is still free.
func (h *Host) Bind(ctx context.Context, r link.BindRequest, secret string) (link.Manifest, error) {
	if h.o.BindSecret != "" && !equal(secret, h.o.BindSecret) {
		return link.Manifest{}, ErrBindSecret
	}
	if err := validateBind(r, cmp.Or(h.o.EngineURL, r.EngineURL)); err != nil {
		return link.Manifest{}, err
	}
	h.mu.Lock()
	if h.binding || h.state.bound() {
		h.mu.Unlock()
		return link.Manifest{}, ErrBound
	}
	h.binding = true
	h.mu.Unlock()
	h.tellStatus()
	m, err := h.bind(ctx, r)
	h.mu.Lock()
	h.binding = false
	h.mu.Unlock()
	h.tellStatus()
	if err == nil {
		h.reportDamage(ctx)
		h.wake.Set()
	}
	return m, err
}

func (h *Host) bind(ctx context.Context, r link.BindRequest) (link.Manifest, error) {
	h.changing.Lock()
	defer h.changing.Unlock()
	m, _, err := h.freshManifest(ctx) // its hash is asked for when the link opens
	if err != nil {
		return link.Manifest{}, err
	}
	h.mu.Lock()
	next := h.state
	h.mu.Unlock()
	if next.Owner != "" && next.Owner != r.EngineID {
		if err := h.discard(ctx, next.Owner); err != nil {
			return link.Manifest{}, ErrBuffer.Wrap(err)
		}
	}
	token := make([]byte, 32)
	_, _ = rand.Read(token) // never fails
	next = state{EngineID: r.EngineID, EngineURL: r.EngineURL, EngineURLs: r.EngineURLs, Pins: r.EnginePins, Token: base64.RawURLEncoding.EncodeToString(token),
		BoundAt: h.o.Now().UTC(), Owner: r.EngineID, DamageTold: next.DamageTold}
	if err := h.store(next); err != nil {
		return link.Manifest{}, ErrState.Wrap(err)
	}
	h.mu.Lock()
	h.boundSince = time.Now()
	h.conn = LinkStatus{Since: h.o.Now()}
	h.mu.Unlock()
	if err := h.collector.activate(context.WithoutCancel(ctx)); err != nil {
		h.log.Error("failed to read the current values of tags", "error", err)
	}
	h.log.Info("bridge bound", "engine", r.EngineID, "url", r.EngineURL)
	m.BindingToken = next.Token
	return m, nil
}

// discard removes what waits for another engine.
func (h *Host) discard(ctx context.Context, owner string) error {
	stats, err := h.o.Buffer.Stats(ctx)
	if err != nil {
		return err
	}
	inMemory, err := h.collector.discard(ctx)
	if err != nil {
		return err
	}
	h.forgetDelivered()
	if entries := stats.Entries + inMemory; entries > 0 {
		h.log.Warn("buffered samples of another engine discarded", "engine", owner, "samples", entries)
		h.o.OnDiscard(ctx, owner, entries)
	}
	return nil
}

// store replaces the state on the disk and then in memory. h.changing is held.
func (h *Host) store(next state) error {
	if err := next.store(h.o.StateFile); err != nil {
		return err
	}
	h.mu.Lock()
	h.state = next
	h.mu.Unlock()
	return nil
}

// Release ends the binding: the bridge is free and its link closed. What is buffered stays for the engine. It returns ErrNotBound if the
// bridge is free, and ErrState if the binding could not be removed.
func (h *Host) Release(context.Context) error { return h.free(func(state) bool { return true }) }

// free ends the binding if it is one that still says so.
func (h *Host) free(still func(state) bool) error {
	h.changing.Lock()
	defer h.changing.Unlock()
	h.mu.Lock()
	old := h.state
	h.mu.Unlock()
	if !old.bound() || !still(old) {
		return ErrNotBound
	}
	if err := h.store(state{Owner: old.Owner, DamageTold: old.DamageTold}); err != nil {
		return ErrState.Wrap(err)
	}
	h.collector.deactivate()
	h.mu.Lock()
	end := h.session
	h.conn = LinkStatus{Since: h.o.Now()}
	h.mu.Unlock()
	if end != nil {
		end(errReleased)
	}
	h.log.Info("bridge free", "engine", old.EngineID)
	h.tellStatus()
	h.wake.Set()
	return nil
}

// Authorized reports whether secret is the binding token or the session key of the engine that the bridge is bound to. Once the bridge has
// the key, the token is refused.
func (h *Host) Authorized(secret string) bool {
	h.mu.Lock()
	token, key := h.state.Token, h.state.Key
	h.mu.Unlock()
	ofToken, ofKey := equal(secret, token), equal(secret, key)
	return token != "" && ofToken || key != "" && ofKey
}

// equal compares secrets in a time that depends on neither.
func equal(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// validateBind validates a request. url is where the bridge reaches the engine.
func validateBind(r link.BindRequest, url string) error {
	var bad []fault.Field
	if r.EngineID == "" || len(r.EngineID) > maxID || strings.ContainsFunc(r.EngineID, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		bad = append(bad, fault.Field{Field: "engineId", Message: fmt.Sprintf("must be 1 to %d bytes without control characters", maxID)})
	}
	if err := validateURL(r.EngineURL); err != nil {
		bad = append(bad, fault.Field{Field: "engineUrl", Message: err.Error()})
	}
	if len(r.EnginePins) == 0 && isHTTPS(url) {
		bad = append(bad, fault.Field{Field: "enginePins", Message: "is required: the bridge reaches the engine by https, " + url})
	}
	if len(r.EnginePins) > maxPins {
		bad = append(bad, fault.Field{Field: "enginePins", Message: fmt.Sprintf("must not be more than %d", maxPins)})
	}
	for i, pin := range r.EnginePins {
		if !validPin(pin) {
			bad = append(bad, fault.Field{Field: fmt.Sprintf("enginePins[%d]", i), Message: "must be sha256/ and 32 bytes in base64"})
			break
		}
	}
	if len(r.EngineURLs) > maxURLs {
		bad = append(bad, fault.Field{Field: "engineUrls", Message: fmt.Sprintf("must not be more than %d", maxURLs)})
	}
	for i, url := range r.EngineURLs {
		if err := validateURL(url); err != nil {
			bad = append(bad, fault.Field{Field: fmt.Sprintf("engineUrls[%d]", i), Message: err.Error()})
			break
		}
	}
	if len(bad) > 0 {
		return ErrBindRequest.Invalid(bad...)
	}
	return nil
}

func validPin(pin string) bool {
	text, ok := strings.CutPrefix(pin, "sha256/")
	sum, err := base64.StdEncoding.DecodeString(text)
	return ok && err == nil && len(sum) == sha256.Size
}

// isHTTPS reports whether a URL is one of https.
func isHTTPS(url string) bool { return strings.HasPrefix(strings.ToLower(url), "https://") }

var errURL = errors.New("must be http:// or https:// with a host, without user, query and fragment")

func validateURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || len(text) > maxURL || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil ||
		u.RawQuery != "" || u.Fragment != "" || u.Opaque != "" {
		return errURL
	}
	return nil
}
