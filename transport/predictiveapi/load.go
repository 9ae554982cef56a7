package predictiveapi

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/predictive/recordcsv"
	"github.com/otkit/otkit/transport/predictiveapi/internal/gen"
	"github.com/otkit/otkit/transport/problem"
)

// recordKind is what adding failures and adding replacements have in common.
type recordKind[R any] struct {
	store   predictive.RecordStore
	newID   func() string
	maxBody int64
	maxRows int

	read  func(io.Reader, recordcsv.Options) iter.Seq2[R, error]
	all   func(context.Context, predictive.RecordReader, predictive.RecordQuery) iter.Seq2[R, error]
	write func(context.Context, []R) error
	key   func(R) (id string, at time.Time)
	same  func(a, b R) bool
}

func failuresOf(store predictive.RecordStore, o Options) recordKind[predictive.Failure] {
	return recordKind[predictive.Failure]{store: store, newID: o.NewID, maxBody: o.MaxBody, maxRows: o.MaxRows,
		read: recordcsv.ReadFailures, all: recordcsv.Failures, write: store.AddFailures,
		key: func(f predictive.Failure) (string, time.Time) { return f.ID, f.Start },
		same: func(a, b predictive.Failure) bool {
			equal := a.Start.Equal(b.Start) && a.Noticed.Equal(b.Noticed) && a.End.Equal(b.End)
			b.Start, b.Noticed, b.End = a.Start, a.Noticed, a.End
			return equal && a == b
		}}
}

func replacementsOf(store predictive.RecordStore, o Options) recordKind[predictive.Replacement] {
	return recordKind[predictive.Replacement]{store: store, newID: o.NewID, maxBody: o.MaxBody, maxRows: o.MaxRows,
		read: recordcsv.ReadReplacements, all: recordcsv.Replacements, write: store.AddReplacements,
		key: func(r predictive.Replacement) (string, time.Time) { return r.ID, r.At },
		same: func(a, b predictive.Replacement) bool {
			equal := a.At.Equal(b.At)
			b.At = a.At
			return equal && a == b
		}}
}

// identify gives a record without an id a new one, and returns the ids that records may have already.
func (k *recordKind[R]) identify(id *string) (given map[string]bool) {
	if *id != "" {
		return map[string]bool{*id: true}
	}
	*id = k.newID()
	return nil
}

// maxBadCells is how many cells of a file an error names.
const maxBadCells = 100

// load adds the records of a CSV file.
func (k *recordKind[R]) load(ctx context.Context, body io.Reader) (gen.RecordImport, error) {
	// The last byte tells a file that is as large as allowed from a larger one.
	limited := &io.LimitedReader{R: body, N: k.maxBody + 1}
	made := make(map[string]bool)
	o := recordcsv.Options{MaxRows: k.maxRows, NewID: func() string {
		id := k.newID()
		made[id] = true
		return id
	}}
	var rows []R
	var bad []fault.Field
	for r, err := range k.read(limited, o) {
		e, ok := fault.From(err)
		switch {
		case err == nil && len(bad) == 0:
			rows = append(rows, r)
		case err == nil:
		case ok && len(e.Fields) > 0:
			bad = append(bad, e.Fields...)
		default:
			return gen.RecordImport{}, problem.FromDecode(err)
		}
		if limited.N == 0 || len(bad) > maxBadCells {
			break
		}
	}
	switch {
	case limited.N == 0:
		return gen.RecordImport{}, problem.ErrBodyTooLarge.Because("at most %d bytes are read", k.maxBody)
	case len(bad) > 0:
		return gen.RecordImport{}, recordcsv.ErrFile.Invalid(bad[:min(len(bad), maxBadCells)]...)
	}
	given := make(map[string]bool)
	for _, r := range rows {
		if id, _ := k.key(r); !made[id] {
			given[id] = true
		}
	}
	added, err := k.add(ctx, rows, given)
	return gen.RecordImport{Added: added, Skipped: len(rows) - added}, err
}

// add adds all records or none, except for those that are recorded already with the same content, and returns how many it added. Records with
// other ids than the given ones are new.
func (k *recordKind[R]) add(ctx context.Context, rows []R, given map[string]bool) (added int, err error) {
	for range 2 { // another caller may have added the same ones meanwhile
		fresh := rows
		if len(given) > 0 {
			if fresh, err = k.fresh(ctx, rows, given); err != nil {
				return 0, err
			}
		}
		if len(fresh) == 0 {
			return 0, nil
		}
		if err = k.write(ctx, fresh); !errors.Is(err, predictive.ErrRecordExists) {
			return len(fresh), err
		}
	}
	return 0, err
}

// fresh returns the records that are not recorded already. A record has the time by which it is found.
func (k *recordKind[R]) fresh(ctx context.Context, rows []R, given map[string]bool) (fresh []R, err error) {
	var first, last time.Time
	byID := make(map[string]R, len(given))
	for _, r := range rows {
		id, at := k.key(r)
		if !given[id] {
			continue
		}
		byID[id] = r
		if first.IsZero() || at.Before(first) {
			first = at
		}
		if at.After(last) {
			last = at
		}
	}
	known := make(map[string]bool)
	for r, err := range k.all(ctx, k.store, predictive.RecordQuery{From: first, To: last.Add(time.Microsecond)}) {
		if err != nil {
			return nil, err
		}
		id, _ := k.key(r)
		sent, ok := byID[id]
		switch {
		case ok && !k.same(sent, r):
			return nil, predictive.ErrRecordExists.On("id", id)
		case ok:
			known[id] = true
		}
	}
	for _, r := range rows {
		if id, _ := k.key(r); !known[id] {
			fresh = append(fresh, r)
		}
	}
	return fresh, nil
}
