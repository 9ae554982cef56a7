package alarms

import (
	"context"
	"slices"
)

// Overview is how the plant stands: how many alarms there are in each state, and the one to look at first.
type Overview struct {
	// Counts has a number for each severity and each state but StateNormal. An alarm that is suppressed is counted by its condition, as
	// long as its newest occurrence is active or unacknowledged.
	Counts  [4]map[State]int
	Gravest *Occurrence // the newest of the most severe that are active, the unacknowledged ones first; nil for none
	// Flood reports that more alarms than Limits.FloodStart of each operator were raised within the last Limits.FloodWindow.
	Flood bool
}

// Overview counts alarms, including those that are not stored yet. It reads no occurrences but those of suppressed conditions.
func (s *Service) Overview(ctx context.Context) (Overview, error) {
	var o Overview
	for i := range o.Counts {
		severity := Severity(i)
		q := Query{State: ListActive, Severities: SetOf(severity), Count: true}
		active, err := s.total(ctx, q)
		if err != nil {
			return Overview{}, err
		}
		q.Unacknowledged = true
		open := 0
		if active > 0 {
			if open, err = s.total(ctx, q); err != nil {
				return Overview{}, err
			}
		}
		q.State = ListReturned
		returned, err := s.total(ctx, q)
		if err != nil {
			return Overview{}, err
		}
		o.Counts[i] = map[State]int{StateUnacknowledged: open, StateAcknowledged: active - open, StateReturnedUnacknowledged: returned}
	}
	suppressed, err := s.store.SuppressedConditions(ctx)
	if err != nil {
		return Overview{}, err
	}
	for i := range suppressed {
		if last := suppressed[i].Last; last != nil && last.State() != StateNormal {
			o.Counts[last.Severity&3][suppressed[i].State()]++
		}
	}
	if o.Gravest, err = s.gravest(ctx, &o); err != nil {
		return Overview{}, err
	}
	recent, err := s.total(ctx, Query{Start: s.clock().Add(-s.limits.FloodWindow), Count: true})
	o.Flood = recent > s.limits.FloodStart*s.limits.Operators
	return o, err
}

func (s *Service) total(ctx context.Context, q Query) (int, error) {
	page, err := s.occurrences(ctx, q, false)
	return page.Total, err
}

func (s *Service) gravest(ctx context.Context, o *Overview) (*Occurrence, error) {
	for _, state := range []State{StateUnacknowledged, StateAcknowledged} {
		for i, counts := range slices.Backward(o.Counts[:]) {
			if counts[state] == 0 {
				continue
			}
			page, err := s.occurrences(ctx, Query{State: ListActive, Unacknowledged: state == StateUnacknowledged, Severities: SetOf(Severity(i)), Limit: 1}, false)
			if err != nil {
				return nil, err
			}
			if len(page.Occurrences) > 0 { // else it has ended meanwhile
				return &page.Occurrences[0], nil
			}
		}
	}
	return nil, nil
}
