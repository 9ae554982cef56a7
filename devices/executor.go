package devices

import (
	"context"
	"errors"
)

// Executor lets devices of one kind carry out commands. It is safe for concurrent use; of one device it gets one order at a time.
type Executor interface {
	// Execute carries out an order and returns when the device has, with data for the caller; it may be nil. An error is the
	// device's own: its text is for the caller. When ctx ends Execute stops the device and returns soon, unless the cause is
	// [ErrClosed]: then it leaves the device as it is.
	Execute(ctx context.Context, o Order) (data map[string]any, err error)
	// Stop stops a device at once, whatever it does, and returns when the device has been told. It is called while Execute
	// runs, too.
	Stop(ctx context.Context, deviceID string) error
}

// Order is a command that has passed the safety policies.
type Order struct {
	Command
	Move     *Move   // with the map filled in if From is known; nil when the command does not move the device
	From     *Pose   // where the device was when the order was checked; nil when not known
	MaxSpeed float64 // metres a second; 0: no limit
}

// ErrUnknownOutcome is for an [Executor] that does not know what the device has done: the command is [Lost] and not
// [Failed], and the way that is reserved for it remains so until the device reports.
var ErrUnknownOutcome = errors.New("what the device did is not known")

// Refresher is an [Executor] that can ask a device for a report. A service does that before it judges a command by a report that is
// older than a second, because a device that stands may report seldom.
type Refresher interface {
	// Refresh returns when the device has reported, or when ctx ends.
	Refresh(ctx context.Context, deviceID string) error
}
