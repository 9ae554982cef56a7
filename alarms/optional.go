package alarms

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"time"
)

// CodeLister is an optional interface of a [Store]. Without it, conditions are read one by one for their codes.
type CodeLister interface {
	// Codes returns the codes of the conditions with these keys. Unknown keys are omitted.
	Codes(ctx context.Context, keys []string) (map[string]int64, error)
}

// EventLister is an optional interface of a [Store]. Without it, the events of an occurrence are found by reading the
// journal from the occurrence to its end.
type EventLister interface {
	// EventsOf returns the events of the occurrence with a Seq in ascending order: limit of them after the
	// first offset ones, and the number of all.
	EventsOf(ctx context.Context, occurrence int64, offset, limit int) ([]Event, int, error)
}

// Statistics is an optional interface of a [Store]. Without it, trends and analytics read every occurrence of their
// range.
type Statistics interface {
	// HourlyCounts counts occurrences with start <= RaisedAt < end by the hour of UTC and severity, ascending.
	// Hours without an occurrence are omitted.
	HourlyCounts(ctx context.Context, start, end time.Time) ([]HourlyCount, error)
	// ActiveIntervals yields the occurrences with start <= RaisedAt < end, ascending by Seq. An error ends it.
	ActiveIntervals(ctx context.Context, start, end time.Time) iter.Seq2[ActiveInterval, error]
}

// HourlyCount counts the occurrences raised in one hour of UTC.
type HourlyCount struct {
	Start  time.Time // on the hour
	Counts [4]int    // by Severity
}

// ActiveInterval is the time during which an occurrence was active.
type ActiveInterval struct {
	Seq                 int64
	Code                int64
	RaisedAt, ClearedAt time.Time // ClearedAt is zero while active
}

// Trimmer is an optional interface of a [Store]. Without it, nothing is removed.
type Trimmer interface {
	// Trim removes occurrences that were cleared before the given time. It also removes events from before it that
	// were journaled before it, which the time in their IDs shows (UUIDv7): an event can be reported long after
	// it happened. A condition stays with its code and its newest occurrence while it is suppressed, while it has
	// another occurrence, and while the same store has a resolution for it or the rule that its key names.
	// Otherwise it is removed with its newest occurrence, and gets a new code if it recurs.
	Trim(ctx context.Context, before time.Time) error
}

// ResolutionStore stores resolutions; see [Options.Resolutions]. It must be safe for concurrent use.
type ResolutionStore interface {
	// AddResolution stores a resolution and returns it with its ID, which is above that of every
	// earlier one.
	AddResolution(ctx context.Context, r Resolution) (Resolution, error)
	// Resolutions returns the resolutions of a code, newest first.
	Resolutions(ctx context.Context, code int64) ([]Resolution, error)
}

// optional returns the store as an optional interface, or a substitute.
func optional[T any](store Store, substitute T) T {
	if own, ok := store.(T); ok {
		return own
	}
	return substitute
}

// required implements optional interfaces with the required methods of a store.
type required struct{ store Store }

func (r required) Codes(ctx context.Context, keys []string) (map[string]int64, error) {
	codes := make(map[string]int64, len(keys))
	for _, key := range keys {
		c, err := r.store.Condition(ctx, ByKey(key))
		switch {
		case err == nil:
			codes[key] = c.Code
		case !errors.Is(err, ErrAlarmNotFound):
			return nil, err
		}
	}
	return codes, nil
}

func (r required) EventsOf(ctx context.Context, occurrence int64, offset, limit int) ([]Event, int, error) {
	list, total := []Event{}, 0
	for after := occurrence - 1; ; {
		events, err := r.store.Events(ctx, after, journalBatch)
		if err != nil {
			return nil, 0, err
		}
		for i := range events {
			if events[i].Occurrence.Seq != occurrence {
				continue
			}
			if total++; total > offset && len(list) < limit {
				list = append(list, events[i])
			}
		}
		if len(events) < journalBatch {
			return list, total, nil
		}
		after = events[len(events)-1].Seq
	}
}

func (r required) HourlyCounts(ctx context.Context, start, end time.Time) ([]HourlyCount, error) {
	counts := []HourlyCount{}
	for o, err := range each(ctx, r.store, Query{Start: start, End: end, NoLabels: true}) {
		if err != nil {
			return nil, err
		}
		hour := o.RaisedAt.UTC().Truncate(time.Hour)
		if last := len(counts) - 1; last < 0 || !counts[last].Start.Equal(hour) {
			counts = append(counts, HourlyCount{Start: hour})
		}
		counts[len(counts)-1].Counts[o.Severity]++
	}
	slices.Reverse(counts)
	return counts, nil
}

func (r required) ActiveIntervals(ctx context.Context, start, end time.Time) iter.Seq2[ActiveInterval, error] {
	return func(yield func(ActiveInterval, error) bool) {
		var list []ActiveInterval
		for o, err := range each(ctx, r.store, Query{Start: start, End: end, NoLabels: true}) {
			if err != nil {
				yield(ActiveInterval{}, err)
				return
			}
			list = append(list, ActiveInterval{Seq: o.Seq, Code: o.Code, RaisedAt: o.RaisedAt, ClearedAt: o.ClearedAt})
		}
		slices.SortFunc(list, func(a, b ActiveInterval) int { return cmp.Compare(a.Seq, b.Seq) })
		for _, one := range list {
			if !yield(one, nil) {
				return
			}
		}
	}
}

// each yields the occurrences that a query selects, newest first, read page by page. An error ends it.
func each(ctx context.Context, store Store, q Query) iter.Seq2[*Occurrence, error] {
	return func(yield func(*Occurrence, error) bool) {
		for q.Limit = MaxPageSize; ; {
			p, err := store.Occurrences(ctx, q)
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range p.Occurrences {
				if !yield(&p.Occurrences[i], nil) {
					return
				}
			}
			if len(p.Occurrences) < q.Limit {
				return
			}
			q.Before = p.Occurrences[len(p.Occurrences)-1].Position()
		}
	}
}
