package audit

import (
	"context"
	"time"
)

// Store holds the chain. Nothing but Trim changes or removes an entry. Safe for concurrent use, by several processes too.
// Package audittest has a conformance suite.
type Store interface {
	// Append seals entries in their order behind the head of the chain, stores them in one transaction, and returns
	// the number of the first. When it returns, they are durable.
	Append(ctx context.Context, entries []Entry) (first int64, err error)
	// Records returns the records that match, newest first, and how many match in all if q.Count is set.
	Records(ctx context.Context, q Query) (page []Record, total int64, err error)
	// Entries returns up to limit entries with numbers above after, in the order of the chain.
	Entries(ctx context.Context, after int64, limit int) ([]Entry, error)
	// Ends returns the position of the last entry that Trim removed, and that of the newest entry.
	Ends(ctx context.Context) (anchor, head Link, err error)
	// Trim removes the oldest entries, as many as the cut allows, makes the last removed one the anchor, and appends
	// the entry that notice returns, all in one transaction. It returns how many it removed. If there is nothing to
	// remove, it changes nothing and does not call notice. notice may be called more than once.
	Trim(ctx context.Context, cut Cut, notice func(removed int64, anchor Link) Entry) (removed int64, err error)
}

// Admitter is an optional interface of a [Store] that takes intents only while it has enough space, and keeps the rest of
// it for outcomes and events.
type Admitter interface {
	// Admit returns an error of the kind [fault.Unavailable] while intents are refused. It returns immediately.
	Admit() error
}

// Cut selects the entries that Trim removes: the longest run from the oldest entry that satisfies Before or Keep.
// The newest entry always stays.
type Cut struct {
	Before time.Time // remove entries older than this; zero for no limit of age
	Keep   int64     // remove entries beyond this number; 0 for no limit of number
	Max    int64     // entries that one call removes at most; required
}

// Query selects records. Its zero value matches all.
type Query struct {
	From, To time.Time // From <= Time < To; zero for no limit
	Actor    string    // exact; empty for all
	Action   string    // exact; empty for all
	Object   string    // exact, one of the act's objects; empty for all
	Outcome  Outcome   // empty for all
	ID       int64     // only this record; 0 for all
	Before   int64     // only records with an ID below; 0 for all
	Offset   int       // records to skip
	Limit    int       // at most so many; stores are never asked for 0
	Count    bool      // whether the total is wanted
	// LostBefore distinguishes acts without an outcome: those older than it are Unknown, the others Pending. The log
	// sets it.
	LostBefore time.Time
}

// LostDetail is the detail of records whose outcome was never stored.
const LostDetail = "no outcome was stored"

// Join returns the record of an intent or event; outcome is the entry of the intent's outcome, nil for none. Stores use it.
func Join(e Entry, outcome *Entry, lostBefore time.Time) Record {
	r := Record{ID: e.Seq, Time: e.Time, Act: e.Act, Result: e.Result, Hash: e.Hash}
	switch {
	case e.Outcome != "":
		r.EndedAt = e.Time
	case outcome != nil:
		r.Result, r.EndedAt = outcome.Result, outcome.Time
	case e.Time.Before(lostBefore):
		r.Result = Result{Outcome: Unknown, Detail: LostDetail}
	default:
		r.Outcome = Pending
	}
	return r
}

// Matches reports whether a record satisfies the filters of the query. Stores may use it.
func (q Query) Matches(r Record) bool {
	switch {
	case !q.From.IsZero() && r.Time.Before(q.From),
		!q.To.IsZero() && !r.Time.Before(q.To),
		q.Actor != "" && r.Actor != q.Actor,
		q.Action != "" && r.Action != q.Action,
		q.Outcome != "" && r.Outcome != q.Outcome,
		q.ID != 0 && r.ID != q.ID,
		q.Before != 0 && r.ID >= q.Before:
		return false
	case q.Object == "":
		return true
	}
	for _, o := range r.Objects {
		if o == q.Object {
			return true
		}
	}
	return false
}
