package linked

import (
	"context"

	"github.com/otkit/otkit/discovery/link"
)

// Grant is what a binding gives its bridge for a link.
type Grant struct {
	EngineID     string
	Reach        link.Reach // its Pins are empty without TLS
	Key          string     // a session key for a bridge that came with its token; else empty
	Position     uint64     // the last stored entry of the epoch; 0 for an epoch that is not known
	WantManifest bool       // the manifest is not the one that is stored
	Lease        *Lease     // by which this engine serves the link; nil if no other engine does
}

// Lease is the right of one of several engines to serve the link of a bridge, whose driver it runs.
type Lease struct {
	Epoch uint64      // higher than that of every holder before
	Valid func() bool // reports whether the lease stands. It must be quick
	// Done is closed when the work is to end: if the lease still stands then, the link stays open until the driver is not run any more.
	Done <-chan struct{}
	// Ended is closed when the driver is not run here any more.
	Ended <-chan struct{}
}

// stands is for leases that may be nil.
func (l *Lease) stands() bool { return l == nil || l.Valid() }

// Bindings knows the bridges that are bound. Its methods may be called from several goroutines.
type Bindings interface {
	// OpenLink checks the id, and the token or key, of a Hello. If the engine has no such binding, the error is a [link.Refusal], and if another engine serves
	// the link, a [link.Elsewhere]; any other error makes the bridge try again later. A valid token is exchanged for a key, which is stored before OpenLink returns:
	// the same key each time, until ConfirmKey.
	OpenLink(ctx context.Context, hello link.Hello) (Grant, error)

	// ConfirmKey is called on each link once the bridge has used its key. From then on its token is refused.
	ConfirmKey(ctx context.Context, bridgeID string) error

	// StorePosition stores the last entry of an epoch that is in the history. When it returns nil, the position survives a crash. If another engine has taken
	// the link over, StorePosition, Lost and Event return link.ErrElsewhere, which ends the link.
	StorePosition(ctx context.Context, bridgeID, epoch string, through uint64) error

	// UpdateManifest stores a manifest and defines its tags in the tag engine, as far as they are not defined. It returns before
	// the batches of the link are stored.
	UpdateManifest(ctx context.Context, bridgeID string, m link.Manifest) error

	// LinkChanged reports that a link of the bridge has opened, or that none is open any more. The calls of one bridge never overlap, and
	// the last one is true to the state. If the binding was removed since OpenLink, it returns [link.ErrRefused], which ends the link.
	LinkChanged(ctx context.Context, bridgeID string, open bool) error

	// Released reports that the bridge was made free at the bridge. Its link ends next.
	Released(ctx context.Context, bridgeID string) error

	// Lost raises an alarm because the bridge dropped n entries, up to the given one, before they were delivered. It is StorePosition for that entry
	// too: when it returns nil, both survive a crash, and otherwise it is called again, and counts the entries once.
	Lost(ctx context.Context, bridgeID, epoch string, n, through uint64) error

	// Buffered reports what waits at the bridge, every link.PingInterval. It does not block.
	Buffered(bridgeID string, b link.Buffer)

	// Event stores what happened on the bridge. When it returns nil, it survives a crash. An event may come again after one.
	Event(ctx context.Context, bridgeID string, e link.Event) error
}
