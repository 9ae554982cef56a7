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
	// UpdateBinding changes a binding, atomically. BridgeID, DriverID, EngineID, Epoch, Position, Fence, Report and what belongs to the manifest stay as
	// they are. An error of change is returned, and nothing is stored. If there is no binding, it returns ErrNotBound.
	UpdateBinding(ctx context.Context, bridgeID string, change func(*Binding) error) error
	// RemoveBinding removes a binding and its manifest, or returns ErrNotBound.
	RemoveBinding(ctx context.Context, bridgeID string) error
	// Bindings returns all bindings by bridge id.
	Bindings(ctx context.Context) ([]Binding, error)

	// Manifest returns a stored manifest, without its binding token, or ErrNotBound.
	Manifest(ctx context.Context, bridgeID string) (link.Manifest, error)
	// SetManifest replaces the manifest of a binding, or returns ErrNotBound. With a fence other than 0 that is not the Fence of the binding, it returns
	// ErrLate.
	SetManifest(ctx context.Context, bridgeID string, m link.Manifest, fence uint64) error

	// SetPosition stores the last entry of a bridge's epoch that the engine has. A position below the stored one of the same epoch
	// changes nothing. The position outlasts the binding. With a fence other than 0 that is not the Fence of the binding, SetPosition and UpdateAt return
	// ErrLate.
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
	Fence           uint64 // epoch of the lease of the engine that stores it; 0: it is alone
}

// SharedStore is a Store that several engines use at the same time. Package discoverytest has its conformance suite, too.
type SharedStore interface {
	Store
	// PlantID returns the id by which bridges know the engines. If the store has none yet, it stores id.
	PlantID(ctx context.Context, id string) (string, error)
	// Version returns a number that grows with each change of what Bindings and Engines return, other than of Epoch, Position and Fence.
	Version(ctx context.Context) (int64, error)
	// Binding returns a binding, or ErrNotBound.
	Binding(ctx context.Context, bridgeID string) (Binding, error)
	// Claim sets the Fence of a binding to the epoch of a lease, and returns the binding as it is then. If it has a higher one, Claim returns ErrLate; if
	// there is no binding of the bridge with the driver, ErrNotBound. The Fence of a binding that is added is 0, whatever was before.
	Claim(ctx context.Context, bridgeID, driverID string, epoch uint64) (Binding, error)
	// SetReports stores reports by bridge id. Bridges that are not bound, and those with a report of a higher Epoch, are ignored.
	SetReports(ctx context.Context, reports map[string]Report) error
	// SetEngine stores an engine of the plant, in place of what is stored of its ID.
	SetEngine(ctx context.Context, e Engine) error
	// Engines returns the engines by ID.
	Engines(ctx context.Context) ([]Engine, error)
}

// Engine is how bridges reach an engine of a plant.
type Engine struct {
	ID     string
	URLs   []string
	Pins   []string  // of its certificate, see link.BindRequest; none without TLS
	SeenAt time.Time // when it was stored last; UTC, to the microsecond
}
