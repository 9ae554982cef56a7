package predictive

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/otkit/otkit/predictive/features"
)

// life is the time of a component, or of an equipment, from a start to a failure, to the end of what is known, or to now.
type life struct {
	group     features.Group
	equipment string
	start     time.Time // zero if not known
	from      time.Time // from which history is read
	end       time.Time
	failed    bool // at end; otherwise it would have lasted longer
	open      bool // end is now
}

// event ends a life. The next one begins at until.
type event struct {
	at, until time.Time
	failed    bool
	ended     bool // until is known
}

const (
	// sameFailure is the distance of failures that are taken as one, as when an alarm goes on and off.
	sameFailure = 10 * time.Minute
	// repair is how long after a failure a replacement is taken as its repair, and openRepair where the end of the failure is not known.
	repair     = 24 * time.Hour
	openRepair = 7 * 24 * time.Hour
)

// history of records of an equipment.
type records struct {
	failures     []Failure
	replacements []Replacement
}

// records returns the records of an equipment before a time.
func (s *Service) records(ctx context.Context, equipment string, to time.Time) (r records, err error) {
	failures, err := s.deps.Records.Failures(ctx, RecordQuery{EquipmentID: equipment, To: to})
	if err != nil {
		return r, err
	}
	replacements, err := s.deps.Records.Replacements(ctx, RecordQuery{EquipmentID: equipment, To: to})
	return records{failures.Items, replacements.Items}, err
}

// components returns the components that the records name, in alphabetical order.
func (r records) components() []string {
	var list []string
	for _, f := range r.failures {
		list = append(list, f.Component)
	}
	for _, p := range r.replacements {
		list = append(list, p.Component)
	}
	slices.Sort(list)
	list = slices.Compact(list)
	return slices.DeleteFunc(list, func(c string) bool { return c == "" })
}

// only returns the records of a component, "" for those that name none.
func (r records) only(component string) records {
	var list records
	for _, f := range r.failures {
		if f.Component == component {
			list.failures = append(list.failures, f)
		}
	}
	for _, p := range r.replacements {
		if p.Component == component {
			list.replacements = append(list.replacements, p)
		}
	}
	return list
}

// events returns what ended lives, in the order of time. A replacement soon after a failure is its repair.
func (r records) events() (list []event) {
	all := make([]event, 0, len(r.failures)+len(r.replacements))
	for _, f := range r.failures {
		e := event{at: f.Start, until: f.Start, failed: true}
		if f.End.After(f.Start) {
			e.until, e.ended = f.End, true
		}
		all = append(all, e)
	}
	failures := len(all)
	for _, p := range r.replacements {
		all = append(all, event{at: p.At, until: p.At, failed: p.Reason == ReasonFailure, ended: true})
	}
	type entry struct {
		event
		replaced bool
	}
	entries := make([]entry, len(all))
	for i, e := range all {
		entries[i] = entry{e, i >= failures}
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return a.at.Compare(b.at) })
	last := false // the last of list is of a failure record
	for _, e := range entries {
		if n := len(list); n > 0 {
			b := &list[n-1]
			gap := e.at.Sub(b.until)
			if last && e.replaced && (gap <= repair || !b.ended && gap <= openRepair) || last && !e.replaced && gap <= sameFailure {
				b.ended = b.ended || e.ended
				if e.until.After(b.until) {
					b.until = e.until
				}
				continue
			}
		}
		list, last = append(list, e.event), !e.replaced
	}
	return list
}

// unitName names what lives: an equipment or a part of it, such as a component or a tag.
func unitName(equipment, part string) string {
	if part == "" {
		return equipment
	}
	return equipment + "/" + part
}

// livesOf returns the lives between two times that events divide. The last one is open.
func livesOf(equipment, part string, events []event, from, to time.Time) (list []life) {
	l := life{group: features.Group{Unit: unitName(equipment, part)}, equipment: equipment, from: from}
	for _, e := range events {
		if e.at.After(l.from) && e.at.Before(to) {
			l.end, l.failed = e.at, e.failed
			list = append(list, l)
		}
		l.group.Life++
		if l.start = e.until; l.start.After(l.from) {
			l.from = l.start
		}
	}
	l.end, l.failed, l.open = to, false, true
	if l.end.After(l.from) {
		list = append(list, l)
	}
	return list
}

// current returns the life that goes on at a time: that of a component or, if no record names it, of the equipment as far as
// records name no component.
func (r records) current(equipment, component string, from, to time.Time) life {
	own := r.only(component)
	if len(own.failures)+len(own.replacements) == 0 {
		own = r.only("")
	}
	return openLife(equipment, own.events(), from, to)
}

func openLife(equipment string, events []event, from, to time.Time) life {
	if list := livesOf(equipment, "", events, from, to); len(list) > 0 && list[len(list)-1].open {
		return list[len(list)-1]
	}
	return life{equipment: equipment, start: to, from: to, end: to, open: true} // under repair
}

// medianLife returns the median length of the lives that failed and whose start is known, or else of those that failed; 0 without any.
func medianLife(lives []life) time.Duration {
	var known, all []time.Duration
	for _, l := range lives {
		if !l.failed {
			continue
		}
		d := l.end.Sub(l.from)
		if all = append(all, d); !l.start.IsZero() {
			known = append(known, d)
		}
	}
	if len(known) == 0 {
		known = all
	}
	if len(known) == 0 {
		return 0
	}
	slices.SortFunc(known, cmp.Compare[time.Duration])
	return known[len(known)/2]
}

func failedLives(lives []life) (n int) {
	for _, l := range lives {
		if l.failed {
			n++
		}
	}
	return n
}
