package cluster

import (
	"context"
	"maps"
	"time"
)

// Session is one run of an engine. Its leases last as long as it does.
type Session struct {
	ID     string // of this run
	Engine string // id of the engine, the same after a restart
	Beat   uint64 // how often it was renewed

	// What the engine tells the others with each renewal.
	Name     string // of the engine, for people; may be empty
	Host     string
	URL      string // where the engine is reached; may be empty
	Version  string
	Since    time.Time         // start of the run, by the engine's clock
	Labels   map[string]string // for Work.Requires
	Draining bool              // gives its work away
	// Unable has the work that the engine has tried and cannot do, with the reason.
	Unable map[string]string
	// Wants has the work that the engine asks for, with the epoch of the lease that it asks to follow; see Member.Want.
	Wants map[string]uint64
}

func (s Session) clone() Session {
	s.Labels, s.Unable, s.Wants = maps.Clone(s.Labels), maps.Clone(s.Unable), maps.Clone(s.Wants)
	return s
}

// Lease is who does a piece of work.
type Lease struct {
	Work    string
	Session string // ID of the session; empty when nobody holds it
	Epoch   uint64 // rises by one with every holder
}

// Loss is a session that another engine has ended, because it was not renewed: the engine was killed, hangs or does not reach the store.
type Loss struct {
	Session
	At time.Time // when it was ended, by the clock of the engine that did
}

// MaxLost is the largest number of losses of a store.
const MaxLost = 100

// State is what a store has.
type State struct {
	Sessions []Session // by ID
	Leases   []Lease   // by Work
	Lost     []Loss    // by At, one of an engine, and at most MaxLost: the newest ones
}

// Store keeps the sessions, leases and losses of the engines of one plant. Each call is one step that happens wholly or not at all, also
// beside calls of other processes; what a call has answered, later calls see. Safe for concurrent use.
//
// Package clustertest has a conformance suite for stores.
type Store interface {
	// Renew stores a session: with Beat 1 a new one, else one that has a lower Beat in the store. If it is not in the store any
	// more, Renew returns ErrEnded.
	Renew(ctx context.Context, s Session) error

	// State returns the sessions, the leases and the losses.
	State(ctx context.Context) (State, error)

	// End removes a session and lets go of its leases, provided that its Beat is not higher. ended is false if it was renewed
	// meanwhile, and true also if it is not there.
	End(ctx context.Context, session string, beat uint64) (ended bool, err error)

	// Lose ends the session of another engine as End does, and notes the loss. at has microseconds. If the session is not there, such as because its
	// engine has ended it, there is no loss.
	Lose(ctx context.Context, s Session, at time.Time) (ended bool, err error)

	// Forget removes the loss of a session, if there is one.
	Forget(ctx context.Context, session string) error

	// Claim makes a session the holder of those of the works that nobody holds, and returns their leases. A session that is not
	// in the store is ErrEnded.
	Claim(ctx context.Context, session string, works []string) ([]Lease, error)

	// Release lets go of those of the works that the session holds. With a successor it makes that session their holder, if it is
	// in the store; the epochs rise.
	Release(ctx context.Context, session string, works []string, successor string) error
}
