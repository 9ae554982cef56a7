package tags

import (
	"context"
	"time"
)

// Driver speaks one protocol to one endpoint: a device, or a gateway with devices behind it.
//
// A driver is simple on purpose. The engine owns polling, reconnection with backoff, quality,
// scaling, deadbands and fan-out; the driver connects, reads and writes when it is told to, and says
// honestly what happened. The engine calls Connect, Read, Write and Close from one goroutine, so a
// driver needs no lock of its own for them. Every call must return soon after its context ends.
//
// Package tagstest has a conformance suite for drivers.
type Driver interface {
	// Connect opens the connection. The engine calls it until it returns nil, and again after any
	// call that returned ErrNotConnected; a half-open connection from before is to be closed first.
	Connect(ctx context.Context) error

	// Read reads points into out, which has their length and order and is zeroed. A point that
	// cannot be read gets an Err and does not spoil the others. The returned error is for the call
	// as a whole: ErrNotConnected (wrapped or not) when the connection is gone; out is then ignored.
	Read(ctx context.Context, points []Point, out []Reading) error

	// Write writes items in order and sets errs, which has their length, to nil for each that the
	// device took. An error says that the device has surely not taken the value, unless it wraps
	// ErrUncertain, ErrTimeout or context.DeadlineExceeded: the value may have arrived. The returned
	// error is as for Read; the fate of an item that has no such error of its own is then unknown.
	Write(ctx context.Context, items []WriteItem, errs []error) error

	// Close closes the connection. It may be called at any time, also twice.
	Close() error
}

// Point is what a driver needs to know of a tag.
type Point struct {
	Address string
	Native  string // see Tag.Native
	Type    DataType
}

// Reading is what a driver read from one point, before scaling.
type Reading struct {
	Value   Value
	Quality Quality   // Good when the device vouches for it
	Time    time.Time // the device's own time stamp; zero takes the time of the call
	Late    bool      // delivered late, from a buffer: goes to history, and to the cache only when newer
	Err     error     // set when the point could not be read; Value and Quality are then ignored
}

// WriteItem is one raw value to write to a point.
type WriteItem struct {
	Point Point
	Value Value
}

// Subscriber is a driver that is told of changes by its device. Subscribe calls emit with the index
// into points and the new reading, from any goroutine but never after it has returned, and blocks
// until ctx ends or the connection is gone, which it reports as ErrNotConnected. Read and Write may
// be called meanwhile: the engine still reads every point now and then (DriverOptions.Refresh),
// because a subscription can die without anybody being told.
type Subscriber interface {
	Subscribe(ctx context.Context, points []Point, emit func(i int, r Reading)) error
}

// Browser is a driver that can list what its device has to offer. The tags have Name (without the
// driver's prefix), Address, DataType and Access set.
type Browser interface {
	Browse(ctx context.Context) ([]Tag, error)
}

// AddressChecker is a driver that can say, without a device, whether it understands a point.
// The engine asks it when a tag is defined, connected or not and from any goroutine; a tag that it
// does not understand is refused as an ErrInvalidTag.
type AddressChecker interface {
	CheckPoint(p Point) error
}

// Rounder is a driver whose devices keep some values less exactly than the engine, such as a Float
// in a register of whole numbers. Round gives the raw value that the device will hold when v is
// written to p, without asking the device; an error says that it cannot hold v at all. The engine
// asks it before it accepts a write, from any goroutine, checks what comes back against the tag's
// limits, and sends that.
type Rounder interface {
	Round(p Point, v Value) (Value, error)
}

// BatchLimiter is a driver that wants at most so many points in one Read. The engine lets writes in
// between two batches. Without it a batch is at most 500 points.
type BatchLimiter interface {
	MaxBatch() int
}
