package tags

import (
	"context"
	"time"
)

// Driver speaks one protocol to one endpoint: a device, or a gateway with devices behind it.
//
// A driver is simple on purpose. The engine owns polling, reconnection with backoff, quality,
// scaling, deadbands and fan-out. The driver connects, reads and writes when it is called, and reports
// what happened. The engine calls Connect, Read, Write and Close from one goroutine, so a
// driver needs no lock of its own for them. Every call must return soon after its context ends. A
// driver whose Read makes several requests should be a Planner too.
//
// Package tagstest has a conformance suite for drivers.
type Driver interface {
	// Connect opens the connection. The engine calls it until it returns nil, and again after any
	// call that returned ErrNotConnected. Connect first closes a connection that is left.
	Connect(ctx context.Context) error

	// Read reads points into out, which has their length and order and is zeroed. A point that
	// cannot be read gets an Err and does not spoil the others. The returned error is for the call
	// as a whole: ErrNotConnected (wrapped or not) when the connection is gone; out is then ignored.
	Read(ctx context.Context, points []Point, out []Reading) error

	// Write writes items in order and sets errs, which has their length, to nil for each that the
	// device took. An error means that the device has certainly not taken the value, unless it wraps
	// ErrUncertain, ErrTimeout or context.DeadlineExceeded: the value may have arrived. The returned
	// error is as for Read. If Write returns an error, items whose errs is nil count as unknown.
	Write(ctx context.Context, items []WriteItem, errs []error) error

	// Close closes the connection. It may be called in any state, also twice and before Connect.
	Close() error
}

// Point is what a driver needs to know of a tag.
type Point struct {
	Address    string
	NativeType string // see Tag.Native
	Type       DataType
}

// Reading is what a driver read from one point, before scaling.
type Reading struct {
	Value   Value
	Quality Quality   // set it: a reading without Quality is Bad
	Time    time.Time // the device's own time stamp; zero takes the time of the call
	Late    bool      // delivered late, from a buffer: goes to history, and to the cache only when newer
	Reason  Reason    // why Quality is not Good, where the driver knows it; ReasonNone and ReasonRemoved count as ReasonDriver
	Err     error     // set when the point could not be read; Value, Quality and Reason are then ignored
}

// WriteItem is one raw value to write to a point.
type WriteItem struct {
	Point Point
	Value Value
}

// Subscriber is a driver whose device sends changes. Subscribe calls emit with the index
// into points and the new reading, from any goroutine but never after it has returned, and blocks
// until ctx ends, when it returns any error or nil, or the connection is gone or there is none, which it
// reports as ErrNotConnected. Read and Write may be called meanwhile: the engine still reads every point at DriverOptions.RefreshInterval,
// because a subscription can die without notice.
type Subscriber interface {
	Subscribe(ctx context.Context, points []Point, emit func(i int, r Reading)) error
}

// Unpolled is a Subscriber whose device cannot be asked, because it only sends. The engine never calls Read
// and calls tags stale only by Tag.StaleAfter. Subscribe first emits the newest reading of each point that
// has one, because what was emitted before it was called may have been dropped.
type Unpolled interface {
	Subscriber
	Unpolled() // does nothing
}

// Forwarder is a Subscriber whose device keeps every reading until it is stored (store and forward), such
// as another host with a buffer on disk. Its readings go to history through Forward, complete and with
// their own times; Subscribe and Forward run concurrently and both update the cache.
//
// What holds for Unpolled holds for a Forwarder, with or without that method: its device reports every change of
// value and quality, also what a write has changed.
type Forwarder interface {
	Subscriber

	// Forward calls store with readings in the order in which they were taken, from one goroutine at a
	// time and never after it has returned, and blocks until ctx ends, when it returns any error or nil,
	// or the connection is gone or there is none, which it reports as ErrNotConnected. When store returns
	// nil, the readings survive a crash, and must not be given to it again by this process. When it
	// returns an error, no reading of the call has had an effect: Forward gives the same readings to it
	// again, later or in the next call of Forward, and none that is newer before them.
	//
	// Points change when tags are defined: the engine then ends Forward and Subscribe, and calls them
	// again. points may be empty; a reading of a point that is not among them belongs to no tag.
	Forward(ctx context.Context, points []Point, store func(ctx context.Context, readings []Forwarded) error) error
}

// Forwarded is a reading that a Forwarder gives to be stored. A Late reading is one that was overtaken: Subscribe has
// emitted a newer one of its point. It goes to history only, or to the cache where the newer one has not come. Any other
// is current, even if its time is earlier than that of the one before.
type Forwarded struct {
	Point   int // index into the points of Forward; readings with another index are ignored
	Reading Reading
}

// Browser is a driver that can list the points of its device. The tags have Name (without the
// driver's prefix), Address, DataType and Access set (not empty).
type Browser interface {
	Browse(ctx context.Context) ([]Tag, error)
}

// PointValidator is a driver that can validate a point without its device. The engine calls
// ValidatePoint when a tag is defined, connected or not and from any goroutine. A tag with an invalid
// point is refused with ErrInvalidTag.
type PointValidator interface {
	ValidatePoint(p Point) error
}

// Rounder is a driver whose devices keep some values less exactly than the engine, such as a Float
// in a register of whole numbers. Round returns the raw value that the device will hold when v is
// written to p, without a request to the device; an error means that it cannot hold v at all. The
// engine calls Round before it accepts a write, from any goroutine, checks the result against the
// tag's limits, and sends it.
type Rounder interface {
	Round(p Point, v Value) (Value, error)
}

// Redirector is a driver some of whose points stand for tags, of another driver mostly. What is written to such a point is a write of that
// tag: it is checked by both definitions, and has the queue, the confirmation and the outcome of a write of the tag itself. WriteTarget
// returns the name of that tag, or false for a point of the driver's own. The engine calls it from any goroutine, and again before a queued
// write is sent: if the answer is another one by then, the write fails.
type Redirector interface {
	WriteTarget(p Point) (tag string, ok bool)
}

// BatchLimiter is a driver that limits the number of points in one Read. The engine lets writes in
// between two batches. Without it a batch is at most 500 points. A Planner is better where it applies.
type BatchLimiter interface {
	MaxBatch() int
}

// Planner is a driver that knows which points one request to its device reads together. The engine
// polls it request by request: it stores each answer with its time as it comes, and lets in writes
// and the requests of other polls between two requests. So a slow device has a long cycle, but every
// tag is read. Read is then not called; Write is called with one item at a time.
type Planner interface {
	// Plan begins a poll of points, without asking the device. points stay as they are until the poll
	// is over. Polls of several intervals may be in progress together; a poll may be abandoned before its end.
	Plan(points []Point) Requests

	// CallTimeout returns the longest time that one call of Requests.Next, or of Write with one item,
	// can take in the worst case. The engine's timeout for each call is this, or
	// DriverOptions.Timeout if that is longer.
	CallTimeout() time.Duration
}

// Requests is a poll in progress. Its methods are called from the goroutine of Read and Write.
type Requests interface {
	// Len returns how many requests are still to be made, as far as the driver knows. The poll is
	// over when it is 0: each of the points has then been in an Answer once.
	Len() int

	// Next makes the next request. It sets the readings of the points that it settles in out, which
	// has the length and order of the points and is zeroed before the first call. The error is as for
	// Driver.Read; where it is not ErrNotConnected, the points of the Answer get it.
	Next(ctx context.Context, out []Reading) (Answer, error)
}

// Answer is the result of one call of Requests.Next.
type Answer struct {
	// Points are the indexes of the points whose readings are settled: read, or failed. They are valid
	// until the next call. There may be none, such as when the device refused the request and its parts
	// are to be asked for one by one, and more than were asked for, such as when a device that gave no
	// answer is not asked for the rest.
	Points []int
	// Asked is when the request went out, zero when none was made.
	Asked time.Time
}

// BreakerReporter is a driver that leaves out units that do not answer. Breakers returns one entry for
// each unit that it polls, by unit; it may be called from any goroutine at any time.
type BreakerReporter interface {
	Breakers() []Breaker
}

// Breaker is the state of a unit behind a driver's endpoint: whether it is polled.
type Breaker struct {
	Unit     string
	State    BreakerState
	Failures int       // requests in a row without an answer
	ProbeAt  time.Time // earliest time of the next request to a skipped unit; zero while Closed
}

// BreakerState is the state of a Breaker.
type BreakerState string

// The states of a breaker.
const (
	BreakerClosed   BreakerState = "Closed"   // the unit is polled
	BreakerOpen     BreakerState = "Open"     // the unit is skipped until ProbeAt
	BreakerHalfOpen BreakerState = "HalfOpen" // the next request to it is a probe
)
