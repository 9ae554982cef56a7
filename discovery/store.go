package discovery

import (
	"context"
	"time"

	"github.com/otkit/otkit/discovery/link"
)

// Store keeps bindings. What a method has stored survives a crash when it returns. Package discoverytest has its conformance suite.
// Implementations must be safe for concurrent use.
type Store interface {
	// AddBinding stores a binding and its manifest. If the bridge has a binding, it returns ErrAlreadyBound; if another bridge's binding
	// has the DriverID, ErrDriverTaken. The Epoch and Position of b are ignored: the store remembers those of a bridge that was bound before.
	AddBinding(ctx context.Context, b Binding, m link.Manifest) error
	// UpdateBinding changes a binding, atomically. BridgeID, DriverID, EngineID, Epoch, Position and what belongs to the manifest stay as
	// they are. An error of change is returned, and nothing is stored. If there is no binding, it returns ErrNotBound.
	UpdateBinding(ctx context.Context, bridgeID string, change func(*Binding) error) error
	// RemoveBinding removes a binding and its manifest, or returns ErrNotBound.
	RemoveBinding(ctx context.Context, bridgeID string) error
	// Bindings returns all bindings by bridge id.
	Bindings(ctx context.Context) ([]Binding, error)

	// Manifest returns a stored manifest, without its binding token, or ErrNotBound.
	Manifest(ctx context.Context, bridgeID string) (link.Manifest, error)
	// SetManifest replaces the manifest of a binding, or returns ErrNotBound.
	SetManifest(ctx context.Context, bridgeID string, m link.Manifest) error

	// SetPosition stores the last entry of a bridge's epoch that the engine has. A position below the stored one of the same epoch
	// changes nothing. The position outlasts the binding.
	SetPosition(ctx context.Context, p Position) error
	// UpdateAt is UpdateBinding and SetPosition in one. If the position is stored already, or a later one of its epoch, nothing is
	// changed, and change is not called: it may be repeated when the outcome is not known.
	UpdateAt(ctx context.Context, p Position, change func(*Binding) error) error
	// SetHeartbeats stores the times of heartbeats by bridge id. Bridges that are not bound are ignored.
	SetHeartbeats(ctx context.Context, at map[string]time.Time) error
}

// Position is how far the engine has what a bridge delivers.
type Position struct {
	BridgeID, Epoch string
	Through         uint64
}
