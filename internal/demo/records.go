package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/otkit/otkit/predictive"
)

// recordPrefix is what the ids of the records of the demo begin with.
const recordPrefix = "demo-"

// addPumpRecords stores the failures and replacements of pumps that are later than those of an earlier call, up to now. Those that were
// deleted since are not added again. A failure is stored when it begins; only the replacement tells then when its repair is done.
func addPumpRecords(ctx context.Context, list []pump, store predictive.RecordStore, now time.Time) (added int, err error) {
	for _, p := range list {
		q := predictive.RecordQuery{EquipmentID: p.id()}
		failures, err := store.Failures(ctx, q)
		if err != nil {
			return added, err
		}
		replacements, err := store.Replacements(ctx, q)
		if err != nil {
			return added, err
		}
		from := now.Add(-HistoryAge)
		newFailures, newReplacements := p.records(from, now)
		newFailures = later(newFailures, failures.Items, func(f predictive.Failure) (string, time.Time) { return f.ID, f.Start })
		newReplacements = later(newReplacements, replacements.Items, func(r predictive.Replacement) (string, time.Time) { return r.ID, r.At })
		// What exists was added meanwhile by another engine with the same database; the next call adds what it had not.
		if len(newFailures) > 0 {
			if err := store.AddFailures(ctx, newFailures); err != nil && !errors.Is(err, predictive.ErrRecordExists) {
				return added, fmt.Errorf("failures of %s: %w", p.id(), err)
			}
		}
		if len(newReplacements) > 0 {
			if err := store.AddReplacements(ctx, newReplacements); err != nil && !errors.Is(err, predictive.ErrRecordExists) {
				return added, fmt.Errorf("replacements of %s: %w", p.id(), err)
			}
		}
		added += len(newFailures) + len(newReplacements)
	}
	return added, nil
}

// later returns the records of the list that are later than all those of the demo among the known ones.
func later[T any](list, known []T, of func(T) (id string, at time.Time)) []T {
	var last time.Time
	for _, r := range known {
		if id, at := of(r); strings.HasPrefix(id, recordPrefix) && at.After(last) {
			last = at
		}
	}
	return slices.DeleteFunc(list, func(r T) bool {
		_, at := of(r)
		return !at.After(last)
	})
}

// records returns what happened to a pump between two times, and the replacements with which the first lives began.
func (p pump) records(from, to time.Time) (failures []predictive.Failure, replacements []predictive.Replacement) {
	for _, w := range []wearPart{bearing, seal} {
		for e, _ := p.ends(w, from); !e.at.After(to); e = p.end(w, e.number+1) {
			id := fmt.Sprintf("%s%s-%s-%d", recordPrefix, p.id(), strings.ToLower(w.component), e.number)
			reason := predictive.ReasonPreventive
			if e.failed {
				reason = predictive.ReasonFailure
			}
			if e.failed && !e.at.Before(from) {
				f := predictive.Failure{ID: id, EquipmentID: p.id(), Component: w.component, Code: w.code,
					Source: predictive.SourceManual, Start: e.at, Noticed: e.at}
				if !e.repaired.After(to) { // the service takes no time of the future
					f.End = e.repaired
				}
				failures = append(failures, f)
			}
			if !e.repaired.After(to) {
				replacements = append(replacements, predictive.Replacement{ID: id, EquipmentID: p.id(), Component: w.component, At: e.repaired,
					Reason: reason, Source: predictive.SourceManual})
			}
		}
	}
	return failures, replacements
}
