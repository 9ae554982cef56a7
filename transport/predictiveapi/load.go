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

// identify gives a record without an id a new one, and returns the new ids.
func (k *recordKind[R]) identify(id *string) (made map[string]bool) {
	if *id != "" {
		return nil
	}
	*id = k.newID()
	return map[string]bool{*id: true}
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
	added, err := k.add(ctx, rows, made)
	return gen.RecordImport{Added: added, Skipped: len(rows) - added}, err
}

// add adds all records or none, except for those that are recorded already with the same content, and returns how many it added. Records with
// ids that were made for them are new.
func (k *recordKind[R]) add(ctx context.Context, rows []R, made map[string]bool) (added int, err error) {
	for range 2 { // another caller may have added the same ones meanwhile
		var fresh []R
		if fresh, err = k.fresh(ctx, rows, made); err != nil || len(fresh) == 0 {
			return 0, err
		}
		if err = k.write(ctx, fresh); !errors.Is(err, predictive.ErrRecordExists) {
			return len(fresh), err
		}
	}
	return 0, err
}

// fresh returns the records that are not recorded already. It looks for them at their times.
func (k *recordKind[R]) fresh(ctx context.Context, rows []R, made map[string]bool) ([]R, error) {
	var first, last time.Time
	byID := make(map[string]int, len(rows)-len(made))
	for i, r := range rows {
		id, at := k.key(r)
		if made[id] {
			continue
		}
		byID[id] = i
		if first.IsZero() || at.Before(first) {
			first = at
		}
		if at.After(last) {
			last = at
		}
	}
	if len(byID) == 0 {
		return rows, nil
	}
	known := make(map[string]bool)
	for r, err := range k.all(ctx, k.store, predictive.RecordQuery{From: first, To: last.Add(time.Microsecond)}) {
		if err != nil {
			return nil, err
		}
		id, _ := k.key(r)
		i, ok := byID[id]
		switch {
		case ok && !k.same(rows[i], r):
			return nil, predictive.ErrRecordExists.On("id", id)
		case ok:
			known[id] = true
		}
	}
	if len(known) == 0 {
		return rows, nil
	}
	var fresh []R
	for _, r := range rows {
		if id, _ := k.key(r); !known[id] {
			fresh = append(fresh, r)
		}
	}
	return fresh, nil
}
