package tags

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/internal/natural"
)

// MaxBatch is the most items that one batch of reads or writes may have.
const MaxBatch = 500

// DefineTags adds tags or changes their definitions. Either all are taken or none: the error is an
// ErrInvalidTag naming the first that is not valid. A tag may be defined before its driver is there;
// it is Bad with reason NoDriver until then. A change of data type, address, native type, scale or
// offset forgets the tag's sample, which is Bad with reason WaitingForData until the next reading; a
// change of driver makes it Bad.
//
// Many tags are taken in portions, so that readers of other tags do not wait: a reader may see a part of
// them until Define returns.
func (e *Engine) DefineTags(list ...Tag) error {
	if err := validateAll(list, e.addressChecker); err != nil {
		return err
	}
	return e.define(list)
}

// Check returns the error that DefineTags would return for a tag.
func (e *Engine) Check(t Tag) error { return validateAll([]Tag{t}, e.addressChecker) }

// DefineUnusable is DefineTags for a tag whose address its driver refuses. It is defined all the same, Bad with reason ConfigError, until it
// is defined otherwise or has another driver. [Engine.Unusable] tells why.
func (e *Engine) DefineUnusable(t Tag) error {
	if err := validateAll([]Tag{t}, func(string) PointValidator { return nil }); err != nil {
		return err
	}
	if err := e.define([]Tag{t}); err != nil {
		return err
	}
	en, err := e.find(t.Name)
	if err != nil {
		return err
	}
	e.mu.RLock()
	r := e.runners[t.Driver]
	e.mu.RUnlock()
	if r == nil {
		return nil
	}
	refused, ok := r.refusals([]*entry{en})[en]
	if !ok {
		return nil
	}
	var changes []Change
	e.mu.RLock()
	if e.runners[t.Driver] == r && en.tag.Load() == refused.of && !en.gone.Load() { // still as it was asked for
		e.unusable.set(en, refused.err)
		if c, told := en.degrade(Bad, ReasonConfig, e.now()); told {
			changes = append(changes, c)
		}
	}
	e.mu.RUnlock()
	e.notify(changes)
	return nil
}

// define takes definitions in portions, so that readers do not wait for all of them.
func (e *Engine) define(list []Tag) error {
	for part := range slices.Chunk(list, portion) {
		fresh := make([]*entry, len(part))
		now := e.now()
		for i := range part {
			t := part[i]
			t.Access = cmp.Or(t.Access, ReadOnly)
			fresh[i] = newEntry(&t, now, ReasonWaiting, &e.seq, e.wheel)
		}
		e.mu.Lock()
		if e.closed {
			e.mu.Unlock()
			return ErrClosed
		}
		changes, added := e.defineLocked(fresh, now)
		untidy := e.untidy()
		subs := make([]*Subscription, 0, len(e.subs))
		if len(added) > 0 {
			subs = slices.AppendSeq(subs, maps.Keys(e.subs))
		}
		e.mu.Unlock()
		for _, s := range subs {
			for _, en := range added {
				s.joinNew(en)
			}
		}
		e.notify(changes)
		if untidy {
			e.sortedEntries()
		}
	}
	return nil
}

// untidy reports whether so much has come and gone since the tags were sorted that it takes more memory
// than the tags. The lock is held.
func (e *Engine) untidy() bool { return len(e.unsorted)+e.gone > 2*len(e.byName)+10*portion }

// validateAll checks definitions, and their addresses where the driver can validate them.
func validateAll(list []Tag, checker func(driver string) PointValidator) error {
	for i := range list {
		t := &list[i]
		if t.Name == "" {
			return ErrInvalidTag.Because("tag %d", i).Invalid(fault.Field{Field: "name", Message: "is required"})
		}
		if err := t.Validate(); err != nil {
			return err
		}
		c := checker(t.Driver)
		if c == nil {
			continue
		}
		if err := guard(func() error { return c.ValidatePoint(t.point()) }); err != nil {
			return ErrInvalidTag.On("tagName", t.Name).Wrap(err).
				Invalid(fault.Field{Field: "address", Message: fmt.Sprintf("%q is not one that the driver can use", clip(t.Address))})
		}
	}
	return nil
}

// addressChecker returns the checker of a driver, nil when it has none or is not registered.
func (e *Engine) addressChecker(driver string) PointValidator {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if r := e.runners[driver]; r != nil {
		c, _ := r.driver.(PointValidator)
		return c
	}
	return nil
}

// defineLocked adds new entries, or their definitions where there is an entry of the name. It returns the
// changes to notify of, and the entries that subscriptions may join, once e.mu is free again.
func (e *Engine) defineLocked(fresh []*entry, now time.Time) (changes []Change, added []*entry) {
	changed := runners{}
	defer changed.wakeUp()
	for _, en := range fresh {
		t := en.tag.Load()
		if known, ok := e.byName[t.Name]; ok {
			e.unusable.remove(known)
			if c, told := e.redefine(known, t, now, changed); told {
				changes = append(changes, c)
			}
			continue
		}
		r := e.runners[t.Driver]
		if r == nil {
			en.sample.Reason = ReasonNoDriver // nobody else knows the entry yet
		}
		e.byName[t.Name] = en
		added = append(added, en)
		if r != nil {
			en.belongTo(r)
			r.attach(en)
			changed[r] = struct{}{}
		}
	}
	e.unsorted = append(e.unsorted, added...)
	e.revision.Add(1)
	return changes, added
}

// Revision returns a number that changes whenever tags are defined or removed, before anybody is notified. While it is the same, so are
// the definitions of all tags.
func (e *Engine) Revision() uint64 { return e.revision.Load() }

func (e *Engine) redefine(en *entry, t *Tag, now time.Time, changed runners) (Change, bool) {
	from, to := e.runners[en.tag.Load().Driver], e.runners[t.Driver]
	if from != nil && from != to {
		from.detach(en)
		changed[from] = struct{}{}
	}
	reason := ReasonWaiting
	if to == nil {
		reason = ReasonNoDriver
	}
	en.belongTo(to)
	c, told := en.redefine(t, reason, now)
	if to != nil {
		to.attach(en)
		changed[to] = struct{}{}
	}
	return c, told
}

// RemoveTags removes tags. Subscribers see them Bad with reason Removed. Unknown names are ignored.
func (e *Engine) RemoveTags(names ...string) {
	for part := range slices.Chunk(names, portion) {
		e.mu.Lock()
		changes := e.undefineLocked(part)
		e.mu.Unlock()
		e.notify(changes)
	}
}

func (e *Engine) undefineLocked(names []string) (changes []Change) {
	changed := runners{}
	defer changed.wakeUp()
	for _, name := range names {
		en, ok := e.byName[name]
		if !ok {
			continue
		}
		delete(e.byName, name)
		e.unusable.remove(en)
		e.gone++
		if r := e.runners[en.tag.Load().Driver]; r != nil {
			r.detach(en)
			changed[r] = struct{}{}
		}
		if c, told := en.remove(e.now()); told {
			changes = append(changes, c)
		}
	}
	e.revision.Add(1)
	return changes
}

func (e *Engine) find(name string) (*entry, error) {
	e.mu.RLock()
	en, ok := e.byName[name]
	e.mu.RUnlock()
	if !ok {
		return nil, ErrTagNotFound.On("tagName", clip(name))
	}
	return en, nil
}

// Read returns a tag's definition and newest sample from the cache, or ErrTagNotFound.
func (e *Engine) Read(name string) (Snapshot, error) {
	en, err := e.find(name)
	if err != nil {
		return Snapshot{}, err
	}
	return en.snapshot(), nil
}

// ReadMany reads tags from the cache, in order. Names that are not found are omitted from the
// snapshots and have one ErrTagNotFound each in errs. For more than MaxBatch names, ReadMany returns
// ErrBatchSizeExceeded.
func (e *Engine) ReadMany(names []string) (found []Snapshot, errs []error, err error) {
	if len(names) > MaxBatch {
		return nil, nil, ErrBatchSizeExceeded
	}
	entries := make([]*entry, len(names))
	e.mu.RLock()
	for i, name := range names {
		entries[i] = e.byName[name]
	}
	e.mu.RUnlock()
	found = make([]Snapshot, 0, len(names))
	for i, en := range entries {
		if en == nil {
			errs = append(errs, ErrTagNotFound.On("tagName", clip(names[i])))
			continue
		}
		found = append(found, en.snapshot())
	}
	return found, errs, nil
}

// HasDriver reports whether a driver is registered under the id.
func (e *Engine) HasDriver(id string) bool {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.runners[id] != nil
}

// Resolve finds the tag that a driver id and an address or name within the driver stand for: the tag
// named <driver>.<address>, or else the driver's tag with that address, or else with that address
// without regard to case. An unknown driver is an ErrInvalidDriver, an unknown tag an ErrTagNotFound,
// an address that several tags have an ErrInvalidRequest naming them: they may read it by different
// types.
func (e *Engine) Resolve(driver, address string) (string, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	r := e.runners[driver]
	name := driver + "." + address
	if en, ok := e.byName[name]; ok && en.tag.Load().Driver == driver && r != nil {
		return name, nil
	}
	if r == nil {
		return "", ErrInvalidDriver.On("driverId", clip(driver))
	}
	found := r.byAddress(address)
	switch len(found) {
	case 0:
		return "", ErrTagNotFound.On("tagName", clip(name))
	case 1:
		return found[0], nil
	}
	text := strings.Join(found[:min(len(found), 10)], ", ")
	if len(found) > 10 {
		text += ", ..."
	}
	return "", ErrInvalidRequest.Because("%d tags have this address, ask for one by its name: %s", len(found), text)
}

// sortedEntries returns all entries by name. The slice is shared and never changed. It is made without the
// engine's lock, from the last one and what has come and gone since.
func (e *Engine) sortedEntries() []*entry {
	e.sorting.Lock()
	defer e.sorting.Unlock()
	return e.tidy()
}

// naturalEntries is sortedEntries in the order of [SortNatural]. The order is kept from the first call on.
func (e *Engine) naturalEntries() []*entry {
	e.sorting.Lock()
	defer e.sorting.Unlock()
	all := e.tidy()
	if e.natural == nil {
		e.natural = slices.Clone(all)
		slices.SortFunc(e.natural, byNaturalName)
	}
	return e.natural
}

// tidy brings the orders up to date and returns the one by name. e.sorting is held.
func (e *Engine) tidy() []*entry {
	e.mu.RLock()
	sorted, unsorted, gone := e.sorted, e.unsorted, e.gone
	e.mu.RUnlock()
	if len(unsorted) == 0 && gone == 0 {
		return sorted
	}
	late := slices.Clone(unsorted)
	slices.SortFunc(late, byName)
	all := merged(sorted, late, gone, byName)
	if e.natural != nil {
		slices.SortFunc(late, byNaturalName)
		e.natural = merged(e.natural, late, gone, byNaturalName)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sorted, e.unsorted = all, slices.Clone(e.unsorted[len(unsorted):])
	e.gone -= gone
	return all
}

// merged returns two sorted lists as one, without the entries that are gone, of which there are about so many.
func merged(sorted, late []*entry, gone int, compare func(a, b *entry) int) []*entry {
	all := make([]*entry, 0, len(sorted)+len(late)-min(gone, len(sorted)+len(late)))
	for len(sorted) > 0 || len(late) > 0 {
		from := &sorted
		if len(sorted) == 0 || len(late) > 0 && compare(late[0], sorted[0]) < 0 {
			from = &late
		}
		if en := (*from)[0]; !en.gone.Load() {
			all = append(all, en)
		}
		*from = (*from)[1:]
	}
	return all
}

func byName(a, b *entry) int { return strings.Compare(a.tag.Load().Name, b.tag.Load().Name) }

func byNaturalName(a, b *entry) int { return natural.Compare(a.tag.Load().Name, b.tag.Load().Name) }
