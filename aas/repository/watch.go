package repository

import (
	"context"
	"slices"
	"time"

	"github.com/otkit/otkit/aas"
)

// ValueNotifier is a [ValueSource] that reports which values change. Without it, a [ValueWatch] reads the values of its
// submodel twice a second.
type ValueNotifier interface {
	ValueSource
	// Notify starts to report changes of names. Those that do not exist are omitted; one that is removed counts as
	// changed.
	Notify(names []string) (ValueNotices, error)
}

// ValueNotices reports changes of values. One goroutine may call Next at a time.
type ValueNotices interface {
	// Next waits for changes and returns the names whose values may have changed since the call before, or since
	// Notify. If ctx ends, Next returns its error.
	Next(ctx context.Context) ([]string, error)
	// Close ends the reports. It may be called again.
	Close()
}

const (
	watchCheck = 2 * time.Second        // how soon a watch sees that its submodel was changed, or that tags came or went
	watchPoll  = 500 * time.Millisecond // the same where the source does not notify
	maxWatch   = time.Hour              // the longest throttle
)

// WatchOptions configure a [ValueWatch]. The zero value works.
type WatchOptions struct {
	Throttle time.Duration // shortest time between two returns of Next, 0..1 h; the first two are outside of it
}

// PropertyValue is the value of a live property.
type PropertyValue struct {
	Path    string    // idShortPath
	Tag     string    // the name that [LiveQualifier] has
	Value   *string   // in the lexical form of the property's type; nil for none
	Quality string    // of the tag; empty if the [ValueSource] does not know it
	Reason  string    // why the quality is not good
	At      time.Time // when the device or its driver took the value; zero if that is not known
}

// equal reports whether two values of one property are the same. Their times do not count.
func (v *PropertyValue) equal(other *PropertyValue) bool {
	same := v.Value == other.Value || v.Value != nil && other.Value != nil && *v.Value == *other.Value
	return same && v.Quality == other.Quality && v.Reason == other.Reason
}

// ValueChanges are the live values that changed.
type ValueChanges struct {
	Version uint64 // of the submodel
	// Complete reports whether Values has every live property: the first time, and when the submodel was changed.
	Complete bool
	Values   []PropertyValue // in the order of the submodel
}

// ValueWatch follows the live values of a submodel. It holds only the newest value of each, so that a slow reader costs
// nothing. One goroutine may call its methods at a time.
type ValueWatch struct {
	s        *Service
	id       string
	throttle time.Duration
	notifier ValueNotifier // nil if the source is none

	version uint64
	places  []livePlace
	byName  map[string][]int // indexes of places
	notices ValueNotices     // nil while no tag is known
	fresh   bool             // nothing of the version was returned yet
	checked time.Time
	first   bool // nothing was returned yet
	sent    time.Time
}

// livePlace is a live property and what was returned of it.
type livePlace struct {
	property *aas.Property
	stored   *string
	known    bool // there is such a tag
	noticed  bool // there was when the notices began
	last     PropertyValue
}

// WatchValues starts to follow the live values of a submodel. If there is no such submodel, it returns
// ErrSubmodelNotFound. Close must be called.
func (s *Service) WatchValues(ctx context.Context, id string, o WatchOptions) (*ValueWatch, error) {
	if o.Throttle < 0 || o.Throttle > maxWatch {
		return nil, aas.ErrInvalidRequest.Because("the throttle must be 0 to %s", maxWatch)
	}
	w := &ValueWatch{s: s, id: id, throttle: o.Throttle, first: true}
	w.notifier, _ = s.opts.Values.(ValueNotifier)
	if err := w.load(ctx); err != nil {
		return nil, err
	}
	return w, nil
}

// Close ends the watch. It may be called again.
func (w *ValueWatch) Close() {
	if w.notices != nil {
		w.notices.Close()
		w.notices = nil
	}
}

// Next waits for changes and returns them. The first call returns all live values. If the submodel was changed, Next
// returns all again; if it was removed, ErrSubmodelNotFound.
func (w *ValueWatch) Next(ctx context.Context) (ValueChanges, error) {
	if err := sleep(ctx, w.throttle-time.Since(w.sent)); err != nil {
		return ValueChanges{}, err
	}
	for {
		changes, err := w.step(ctx)
		if err != nil {
			return ValueChanges{}, err
		}
		if !changes.Complete && len(changes.Values) == 0 {
			continue
		}
		if !w.first {
			w.sent = time.Now()
		}
		w.first = false
		return changes, nil
	}
}

// step waits once, and returns what has changed, which may be nothing.
func (w *ValueWatch) step(ctx context.Context) (ValueChanges, error) {
	if w.fresh {
		return w.all(ctx)
	}
	names, err := w.wait(ctx)
	if err != nil {
		return ValueChanges{}, err
	}
	if names != nil {
		return w.read(ctx, w.placesOf(names))
	}
	w.checked = time.Now()
	switch version, err := w.s.VersionOf(ctx, KindSubmodel, w.id); {
	case err != nil:
		if ctx.Err() != nil {
			return ValueChanges{}, ctx.Err()
		}
		w.s.log.WarnContext(ctx, "failed to check a watched submodel; retrying", "id", w.id, "error", err)
	case version != w.version: // it may be gone
		if err := w.load(ctx); err != nil {
			return ValueChanges{}, err
		}
		return w.all(ctx)
	}
	changes, err := w.read(ctx, nil)
	if err == nil && slices.ContainsFunc(w.places, func(p livePlace) bool { return p.known != p.noticed }) {
		err = w.subscribe()
	}
	return changes, err
}

// wait returns the names that may have changed, or none when a check is due.
func (w *ValueWatch) wait(ctx context.Context) ([]string, error) {
	interval := watchCheck
	if w.notifier == nil {
		interval = watchPoll
	}
	rest := interval - time.Since(w.checked)
	if w.notices == nil {
		return nil, sleep(ctx, rest)
	}
	due, cancel := context.WithTimeout(ctx, rest)
	defer cancel()
	names, err := w.notices.Next(due)
	switch {
	case err == nil:
		return names, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case due.Err() != nil:
		return nil, nil
	}
	return nil, err
}

// load reads the submodel and begins to follow its tags.
func (w *ValueWatch) load(ctx context.Context) error {
	list, err := w.s.Submodels.stored(ctx, w.id)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return w.s.Submodels.missing(w.id)
	}
	w.places, w.byName = nil, make(map[string][]int)
	if list[0].Live {
		m, err := w.s.Submodels.decode(list[0])
		if err != nil {
			return err
		}
		w.collect(m)
	}
	w.version, w.fresh, w.checked = list[0].Version, true, time.Now()
	if _, err := w.read(ctx, nil); err != nil {
		return err
	}
	return w.subscribe()
}

// collect finds the live properties. Variables of operations are templates and have no values.
func (w *ValueWatch) collect(m *aas.Submodel) {
	m.Walk(func(path aas.Path, e aas.Element) bool {
		if p, ok := e.(*aas.Property); ok {
			if name := liveName(p); name != "" {
				w.byName[name] = append(w.byName[name], len(w.places))
				w.places = append(w.places, livePlace{property: p, stored: p.Value, last: PropertyValue{Path: path.String(), Tag: name}})
			}
		}
		return e.ElementKind() != aas.KindOperation
	})
}

// subscribe has changes of the tags reported that are known now.
func (w *ValueWatch) subscribe() (err error) {
	w.Close()
	names := make([]string, 0, len(w.byName))
	for name, places := range w.byName {
		known := w.places[places[0]].known
		for _, i := range places {
			w.places[i].noticed = known
		}
		if known {
			names = append(names, name)
		}
	}
	if w.notifier != nil && len(names) > 0 {
		w.notices, err = w.notifier.Notify(names)
	}
	return err
}

// placesOf returns the indexes of the properties with tags of these names.
func (w *ValueWatch) placesOf(names []string) []int {
	places := make([]int, 0, len(names))
	for _, name := range names {
		places = append(places, w.byName[name]...)
	}
	return places
}

// all returns every live value.
func (w *ValueWatch) all(ctx context.Context) (ValueChanges, error) {
	if _, err := w.read(ctx, nil); err != nil {
		return ValueChanges{}, err
	}
	w.fresh = false
	changes := ValueChanges{Version: w.version, Complete: true, Values: make([]PropertyValue, len(w.places))}
	for i := range w.places {
		changes.Values[i] = w.places[i].last
	}
	return changes, nil
}

// read reads the values of some properties, or of all for nil, and returns those that differ from the ones before.
func (w *ValueWatch) read(ctx context.Context, places []int) (ValueChanges, error) {
	if places == nil {
		places = make([]int, len(w.places))
		for i := range places {
			places[i] = i
		}
	}
	changes := ValueChanges{Version: w.version}
	values, err := w.valuesOf(ctx, places)
	if err != nil {
		return changes, err
	}
	for k, i := range places {
		place := &w.places[i]
		now := PropertyValue{Path: place.last.Path, Tag: place.last.Tag, Value: place.stored}
		if place.known = k < len(values) && values[k].Known; place.known {
			v := &values[k]
			now.Value, now.Quality, now.Reason, now.At = v.of(place.property.ValueType), v.Quality, v.Reason, v.At
		}
		if !now.equal(&place.last) {
			changes.Values = append(changes.Values, now)
		}
		place.last = now
	}
	return changes, nil
}

func (w *ValueWatch) valuesOf(ctx context.Context, places []int) ([]LiveValue, error) {
	if len(places) == 0 || w.s.opts.Values == nil {
		return nil, nil
	}
	names := make([]string, len(places))
	for k, i := range places {
		names[k] = w.places[i].last.Tag
	}
	return w.s.opts.Values.Values(ctx, names)
}

// sleep waits, unless ctx ends before.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
