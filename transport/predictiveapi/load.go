package predictiveapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/predictive/recordcsv"
	"github.com/otkit/otkit/transport/predictiveapi/internal/gen"
	"github.com/otkit/otkit/transport/problem"
)

// alarmKey identifies a record of the source alarm, which stores keep once.
type alarmKey struct {
	equipment, component, detail string
	us                           int64
}

// record is a failure or a replacement.
type record interface {
	ValidateAt(now time.Time) error
}

// recordKind is what adding failures and adding replacements have in common.
type recordKind[R record] struct {
	store   predictive.RecordStore
	newID   func() string
	now     func() time.Time
	known   func(context.Context) ([]string, error) // the equipments that are, sorted
	maxBody int64
	maxRows int

	read  func(io.Reader, recordcsv.Options) iter.Seq2[R, error]
	all   func(context.Context, predictive.RecordReader, predictive.RecordQuery) iter.Seq2[R, error]
	write func(context.Context, []R) error
	id    func(*R) *string
	key   func(R) (id string, at time.Time)
	// equipment returns that of a record.
	equipment func(R) string
	alarm     func(R) (alarmKey, bool)
	same      func(a, b R) bool
}

func failuresOf(store predictive.RecordStore, known func(context.Context) ([]string, error), o Options) recordKind[predictive.Failure] {
	return recordKind[predictive.Failure]{store: store, newID: o.NewID, now: o.Now, known: known, maxBody: o.MaxBody, maxRows: o.MaxRows,
		read: recordcsv.ReadFailures, all: recordcsv.Failures, write: store.AddFailures,
		id:        func(f *predictive.Failure) *string { return &f.ID },
		key:       func(f predictive.Failure) (string, time.Time) { return f.ID, f.Start },
		equipment: func(f predictive.Failure) string { return f.EquipmentID },
		alarm: func(f predictive.Failure) (alarmKey, bool) {
			return alarmKey{f.EquipmentID, f.Component, f.Code, f.Start.UnixMicro()}, f.Source == predictive.SourceAlarm
		},
		same: func(a, b predictive.Failure) bool {
			equal := a.Start.Equal(b.Start) && a.Noticed.Equal(b.Noticed) && a.End.Equal(b.End)
			b.Start, b.Noticed, b.End = a.Start, a.Noticed, a.End
			return equal && a == b
		}}
}

func replacementsOf(store predictive.RecordStore, known func(context.Context) ([]string, error), o Options) recordKind[predictive.Replacement] {
	return recordKind[predictive.Replacement]{store: store, newID: o.NewID, now: o.Now, known: known, maxBody: o.MaxBody, maxRows: o.MaxRows,
		read: recordcsv.ReadReplacements, all: recordcsv.Replacements, write: store.AddReplacements,
		id:        func(r *predictive.Replacement) *string { return &r.ID },
		key:       func(r predictive.Replacement) (string, time.Time) { return r.ID, r.At },
		equipment: func(r predictive.Replacement) string { return r.EquipmentID },
		alarm: func(r predictive.Replacement) (alarmKey, bool) {
			return alarmKey{r.EquipmentID, r.Component, string(r.Reason), r.At.UnixMicro()}, r.Source == predictive.SourceAlarm
		},
		same: func(a, b predictive.Replacement) bool {
			equal := a.At.Equal(b.At)
			b.At = a.At
			return equal && a == b
		}}
}

// batch is records that are added together.
type batch[R record] struct {
	rows []R
	// lines are those of the rows in a file, or nil.
	lines []int
	// made has the ids that were made for the rows.
	made map[string]bool
}

// exists returns the error of a row whose id another record has.
func (b *batch[R]) exists(row int, id, of string) error {
	err := predictive.ErrRecordExists.On("id", id)
	if b.lines == nil {
		return err
	}
	return err.Invalid(fault.Field{Field: fmt.Sprintf("line %d, column id", b.lines[row]), Message: "is that of " + of})
}

// post adds one record, or those of a file if it is nil. It returns what became of the file, or a warning about the record.
func (k *recordKind[R]) post(ctx context.Context, one *R, file io.Reader) (done gen.RecordImport, warning string, err error) {
	known, err := k.known(ctx)
	switch {
	case err != nil:
		return done, "", err
	case file != nil:
		done, err = k.load(ctx, file, known)
		return done, "", err
	case one == nil:
		return done, "", problem.ErrMediaType.Because("the Content-Type must be application/json or text/csv")
	}
	b := &batch[R]{}
	if id := k.id(one); *id == "" {
		*id = k.newID()
		b.made = map[string]bool{*id: true}
	}
	if err := (*one).ValidateAt(k.now()); err != nil {
		return done, "", err
	}
	b.rows = []R{*one}
	if _, err := k.add(ctx, b); err != nil {
		return done, "", err
	}
	_, warning = k.unknown(b.rows, known)
	return done, warning, nil
}

// maxBadCells is how many cells of a file an error names.
const maxBadCells = 100

// load adds the records of a CSV file. known are the equipments that are.
func (k *recordKind[R]) load(ctx context.Context, body io.Reader, known []string) (gen.RecordImport, error) {
	// The last byte tells a file that is as large as allowed from a larger one.
	limited := &io.LimitedReader{R: body, N: k.maxBody + 1}
	b := &batch[R]{made: make(map[string]bool)}
	line := 0
	o := recordcsv.Options{MaxRows: k.maxRows, Now: k.now(), OnLine: func(n int) { line = n }, NewID: func() string {
		id := k.newID()
		b.made[id] = true
		return id
	}}
	var bad []fault.Field
	for r, err := range k.read(limited, o) {
		e, ok := fault.From(err)
		switch {
		case err == nil && len(bad) == 0:
			b.rows, b.lines = append(b.rows, r), append(b.lines, line)
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
	added, err := k.add(ctx, b)
	done := gen.RecordImport{Added: added, Skipped: len(b.rows) - added}
	done.UnknownEquipment, done.Warning = k.unknown(b.rows, known)
	return done, err
}

// maxUnknown is how many equipments a warning names.
const maxUnknown = 10

// unknown counts the records of equipment that is not known, and returns a warning that names it. Known is sorted. The equipment may come later, or be that
// of another engine, so that such records are kept.
func (k *recordKind[R]) unknown(rows []R, known []string) (n int, warning string) {
	found := make(map[string]bool)
	for _, r := range rows {
		id := k.equipment(r)
		if _, ok := slices.BinarySearch(known, id); !ok {
			n++
			found[id] = true
		}
	}
	if n == 0 {
		return 0, ""
	}
	ids := slices.Sorted(maps.Keys(found))
	warning = "no equipment is known by the equipmentId " + strings.Join(ids[:min(len(ids), maxUnknown)], ", ")
	if more := len(ids) - maxUnknown; more > 0 {
		warning += fmt.Sprintf(" and %d more", more)
	}
	return n, warning + "; GET equipments lists those that are"
}

// add adds all records or none, except for those that are recorded already with the same content, and returns how many it added. Records with
// ids that were made for them are new.
func (k *recordKind[R]) add(ctx context.Context, b *batch[R]) (added int, err error) {
	for range 2 { // another caller may have added the same ones meanwhile
		var fresh []R
		if fresh, err = k.fresh(ctx, b); err != nil || len(fresh) == 0 {
			return 0, err
		}
		if err = k.write(ctx, fresh); !errors.Is(err, predictive.ErrRecordExists) {
			return len(fresh), err
		}
	}
	e, _ := fault.From(err)
	for i, r := range b.rows {
		if id, _ := k.key(r); id == e.Metadata["id"] { // recorded at another time
			return 0, b.exists(i, id, otherContent)
		}
	}
	return 0, err
}

const otherContent = "a record with other content"

// fresh returns the records that are not recorded already. It looks for them at their times.
func (k *recordKind[R]) fresh(ctx context.Context, b *batch[R]) ([]R, error) {
	rows, made := b.rows, b.made
	var first, last time.Time
	byID, alarms := make(map[string]int, len(rows)-len(made)), make(map[alarmKey]bool)
	known := make([]bool, len(rows))
	for i, r := range rows {
		id, at := k.key(r)
		alarm, isAlarm := k.alarm(r)
		if isAlarm {
			known[i] = alarms[alarm] // twice in the list
			alarms[alarm] = true
		}
		if made[id] && !isAlarm {
			continue
		}
		if first, twice := byID[id]; twice && !known[i] {
			return nil, b.exists(i, id, fmt.Sprintf("line %d", b.lines[first]))
		}
		if !made[id] {
			byID[id] = i
		}
		if first.IsZero() || at.Before(first) {
			first = at
		}
		if at.After(last) {
			last = at
		}
	}
	if first.IsZero() {
		return rows, nil
	}
	recorded := make(map[alarmKey]bool)
	for r, err := range k.all(ctx, k.store, predictive.RecordQuery{From: first, To: last.Add(time.Microsecond)}) {
		if err != nil {
			return nil, err
		}
		if alarm, ok := k.alarm(r); ok && alarms[alarm] {
			recorded[alarm] = true
		}
		id, _ := k.key(r)
		if i, ok := byID[id]; ok {
			if _, isAlarm := k.alarm(rows[i]); !isAlarm && !k.same(rows[i], r) {
				return nil, b.exists(i, id, otherContent)
			}
			known[i] = known[i] || k.same(rows[i], r)
		}
	}
	fresh := make([]R, 0, len(rows))
	for i, r := range rows {
		if alarm, isAlarm := k.alarm(r); !known[i] && !(isAlarm && recorded[alarm]) {
			fresh = append(fresh, r)
		}
	}
	return fresh, nil
}
