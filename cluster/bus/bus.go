package bus

import (
	"context"
	"time"

	"github.com/otkit/otkit/fault"
)

// MaxMessage is how many bytes a message or an answer may have.
const MaxMessage = 512 << 10

// The errors of a Bus.
var (
	// ErrSubject: a subject breaks the rules of [CheckSubject].
	ErrSubject = fault.New(fault.Invalid, "BUS_SUBJECT_INVALID", "a subject must have 1 to 250 letters, digits, - and _ in tokens separated by dots")
	// ErrServed: the subject is served already by this engine.
	ErrServed = fault.New(fault.AlreadyExists, "BUS_SUBJECT_SERVED", "the subject is served already")
	// ErrTooLarge: a message has more than [MaxMessage] bytes.
	ErrTooLarge = fault.New(fault.TooLarge, "BUS_MESSAGE_TOO_LARGE", "the message is too large for the bus")
	// ErrDown: the bus is not connected, or what it has to send is not taken.
	ErrDown = fault.New(fault.Unavailable, "BUS_DOWN", "the bus of the engines is not connected")
	// ErrNoAnswer: a request was not answered in time, or nobody serves its subject. It may have been carried out.
	ErrNoAnswer = fault.New(fault.Unavailable, "BUS_NO_ANSWER", "no engine has answered")
	// ErrClosed: the bus is closed.
	ErrClosed = fault.New(fault.Unavailable, "BUS_CLOSED", "the bus is closed")
)

// Bus carries messages among engines. Subjects consist of tokens of a to z, A to Z, 0 to 9, - and _, separated by dots, with at most 250 bytes in all;
// for any other the methods return ErrSubject. Safe for concurrent use.
//
// Package bustest has a conformance suite.
type Bus interface {
	// Publish sends a message to those that subscribe to the subject on other engines. It does not wait until they have it. The messages of
	// an engine arrive in the order in which they were published, possibly with gaps. It returns ErrTooLarge, ErrDown or ErrClosed. It does
	// not keep data.
	Publish(subject string, data []byte) error

	// Subscribe calls handle with the messages of other engines, one after the other, until cancel is called, which waits for the call that runs
	// unless that is made by handle. If handle is slow, messages are lost and counted in Status.Lost. handle must not keep the data.
	Subscribe(subject string, handle func(data []byte)) (cancel func(), err error)

	// Request sends a request and returns the answer of who serves the subject, on whichever engine. If none comes before ctx ends, or nobody serves it,
	// it returns ErrNoAnswer. Nothing is sent again. Other errors are ErrTooLarge, ErrDown and ErrClosed; nothing was sent then.
	Request(ctx context.Context, subject string, data []byte) ([]byte, error)

	// Serve answers requests of a subject, which nobody else may serve, until cancel is called, which waits for the calls that run. Calls of handle are
	// concurrent, at most [MaxServing] at a time; further requests wait or are lost. ctx ends with cancel. An answer that is too large is not sent.
	// handle must not keep the data. If this engine serves the subject already, Serve returns ErrServed.
	Serve(subject string, handle func(ctx context.Context, data []byte) []byte) (cancel func(), err error)

	// Status returns how the bus is.
	Status() Status

	// Close ends all subscriptions and requests and waits for the calls that run, as long as ctx lasts. Calling it again is safe.
	Close(ctx context.Context) error
}

// MaxServing is how many requests of a subject are served at the same time.
const MaxServing = 64

// Status is how a bus is.
type Status struct {
	Kind  string    // such as "NATS", "embedded NATS", "PostgreSQL"
	Up    bool      // connected
	Since time.Time // of Up
	Err   string    // why it is not up; empty if it is
	Lost  uint64    // messages that came and could not be handled in time
}
