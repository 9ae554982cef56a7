package bridge

import (
	"context"
	"errors"

	"github.com/otkit/otkit/discovery/link"
)

// Host is a bridge: it can be bound to one engine at a time, and delivers the changes of its driver's tags to it. Safe for concurrent
// use. Close must be called.
type Host struct {
	o Options
}

// New reads the binding from Options.StateFile and, if there is one, begins to collect. Run delivers. New returns an error if a required
// option is missing, or the file or the buffer cannot be read.
func New(ctx context.Context, o Options) (*Host, error) {
	return nil, errors.New("follows")
}

// Run keeps the link to the engine open while the bridge is bound. It returns when ctx ends, and may not be called again.
func (h *Host) Run(ctx context.Context) {}

// Drain stores what the driver has reported, as Flush does. Call it when the driver has stopped and before Close.
func (h *Host) Drain(ctx context.Context) error { return h.Flush(ctx) }

// Close stops collecting and waits for what the Host runs. What is in memory only is lost; Drain stores it.
func (h *Host) Close(ctx context.Context) error { return nil }

// Status returns what everybody may know of the bridge.
func (h *Host) Status() link.Status { return link.Status{} }

// Link returns the status of the link to the engine.
func (h *Host) Link() LinkStatus { return LinkStatus{} }

// SetFoundEngine sets the address of an engine that was found in the network, or that none is found if url is empty. Link returns it while the
// bridge is free.
func (h *Host) SetFoundEngine(url string) {}

// Stats returns what waits for the engine. If the buffer cannot be asked, it returns what is known, and the error.
func (h *Host) Stats(ctx context.Context) (Stats, error) { return Stats{}, nil }

// Manifest describes the bridge and its tags. It has no token.
func (h *Host) Manifest(ctx context.Context) (link.Manifest, error) { return link.Manifest{}, nil }

// ManifestChanged reports that tags were defined or removed, or that Options.Submodels returns something else. The engine gets the new
// manifest. Tags that appear or change with a new value are noticed without it.
func (h *Host) ManifestChanged() {}

// Bind binds the bridge to an engine. The manifest that it returns has the binding token. The binding is on the disk when it returns.
// What the errors mean: ErrBound (also by a concurrent request), ErrBindSecret, ErrBindRequest (its fields say what is wrong), ErrState (the
// bridge is still free).
func (h *Host) Bind(ctx context.Context, r link.BindRequest, secret string) (link.Manifest, error) {
	return link.Manifest{}, nil
}

// Release ends the binding: the bridge is free and its link closed. What is buffered stays for the engine. It returns ErrNotBound if the
// bridge is free, and ErrState if the binding could not be removed.
func (h *Host) Release(ctx context.Context) error { return nil }

// Authorized reports whether secret is the binding token or the session key of the engine that the bridge is bound to. Once the key has been
// used, the token is refused.
func (h *Host) Authorized(secret string) bool { return false }

// Flush returns when all that the driver has reported before is in the buffer. It returns ErrBuffer if the buffer cannot take it now; the
// Host tries again. A free bridge buffers nothing: Flush then returns nil.
func (h *Host) Flush(ctx context.Context) error { return nil }
