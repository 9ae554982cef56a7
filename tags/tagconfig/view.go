package tagconfig

import (
	"maps"
	"slices"
	"strings"

	"github.com/tidwall/btree"
)

// view is the configuration as readers see it. It is not changed once it is in force: a draft makes the next, which shares
// all but what differs.
type view struct {
	revision int64
	header   header
	items    *btree.Map[string, *entry] // by tag id
	order    *btree.Map[int64, *entry]  // by position
	odd      *btree.Map[string, *entry] // those with members that are not ours, by tag id
}

// entry is one item. It is not changed once it is in a view.
type entry struct {
	Config
	extra    []member // members of the file that are not ours, by name
	position int64    // orders the items as in the file
	revision int64    // of the edit that made it
}

func emptyView(h header) *view {
	return &view{header: h, items: btree.NewMap[string, *entry](0), order: btree.NewMap[int64, *entry](0), odd: btree.NewMap[string, *entry](0)}
}

func (v *view) get(tagID string) (Config, bool) {
	e, ok := v.items.Get(tagID)
	if !ok {
		return Config{}, false
	}
	return e.Config, true
}

// configured returns the items by tag id.
func (v *view) configured() []Config {
	all := make([]Config, 0, v.items.Len())
	v.items.Scan(func(_ string, e *entry) bool {
		all = append(all, e.Config)
		return true
	})
	return all
}

// edit returns the items as the Edit that adds them all.
func (v *view) edit() Edit {
	e := Edit{Put: v.configured(), kept: make([]*Config, 0, v.items.Len())}
	v.items.Scan(func(_ string, of *entry) bool {
		e.kept = append(e.kept, &of.Config)
		return true
	})
	return e
}

func (v *view) unknown() []string {
	found := v.header.unknown()
	v.odd.Scan(func(_ string, e *entry) bool {
		for _, x := range e.extra {
			found["variables."+clip(x.name)] = struct{}{}
		}
		return len(found) < 10*mostUnknown // the rest is not sorted in, but bounded
	})
	names := slices.Sorted(maps.Keys(found))
	return names[:min(len(names), mostUnknown)]
}

// gap is how far apart new items are placed, so that there is room for items that are put between them in the file.
const gap = 1 << 20

// draft is the next view while it is made.
type draft struct {
	view
	from    *view
	changes map[string]change // nil if nobody asks
}

// change is what has become of an item; nil for none.
type change struct{ old, new *entry }

func (v *view) draft() *draft {
	d := &draft{view: *v, from: v, changes: map[string]change{}}
	d.items, d.order, d.odd = v.items.Copy(), v.order.Copy(), v.odd.Copy()
	d.revision++
	return d
}

// branch returns a draft that continues from d, with changes of its own.
func (d *draft) branch() *draft {
	b := &draft{view: d.view, from: d.from, changes: map[string]change{}}
	b.items, b.order, b.odd = d.items.Copy(), d.order.Copy(), d.odd.Copy()
	return b
}

// absorb makes what a branch has changed part of d.
func (d *draft) absorb(b *draft) {
	d.view = b.view
	if len(d.changes) == 0 {
		d.changes = b.changes
		return
	}
	for id, c := range b.changes {
		d.note(id, c.old, c.new)
	}
}

// changed reports whether the draft differs from the view that it was made of.
func (d *draft) changed() bool { return len(d.changes) > 0 || !d.header.equal(d.from.header) }

func (d *draft) note(tagID string, old, new *entry) {
	if d.changes == nil {
		return
	}
	if c, ok := d.changes[tagID]; ok {
		old = c.old
	}
	d.changes[tagID] = change{old, new}
}

// put adds an item or replaces that of its tag, whose unknown members stay. It returns the entries before and now, the same
// one if nothing changes.
func (d *draft) put(c Config) (old, now *entry) {
	old, ok := d.items.Get(c.TagID)
	if !ok {
		last, _, _ := d.order.Max()
		return nil, d.set(&entry{Config: c, position: last + gap})
	}
	if sameConfig(&old.Config, &c) {
		return old, old
	}
	return old, d.set(&entry{Config: c, extra: old.extra, position: old.position})
}

// set puts an entry in its place.
func (d *draft) set(e *entry) *entry {
	e.revision = d.revision
	old, _ := d.items.Set(e.TagID, e)
	if old != nil && old.position != e.position {
		if at, _ := d.order.Get(old.position); at == old {
			d.order.Delete(old.position)
		}
	}
	d.order.Set(e.position, e)
	if len(e.extra) > 0 {
		d.odd.Set(e.TagID, e)
	} else if old != nil && len(old.extra) > 0 {
		d.odd.Delete(e.TagID)
	}
	d.note(e.TagID, old, e)
	return e
}

// remove takes an item out; nil if there is none.
func (d *draft) remove(tagID string) *entry {
	old, ok := d.items.Delete(tagID)
	if !ok {
		return nil
	}
	if at, _ := d.order.Get(old.position); at == old {
		d.order.Delete(old.position)
	}
	if len(old.extra) > 0 {
		d.odd.Delete(tagID)
	}
	d.note(tagID, old, nil)
	return old
}

// edit returns the changes as an Edit, by tag id.
func (d *draft) edit() Edit {
	e := Edit{Put: make([]Config, 0, len(d.changes)), kept: make([]*Config, 0, len(d.changes))}
	for _, id := range slices.Sorted(maps.Keys(d.changes)) {
		switch c := d.changes[id]; {
		case c.new != nil:
			e.Put, e.kept = append(e.Put, c.new.Config), append(e.kept, &c.new.Config)
		case c.old != nil:
			e.Remove = append(e.Remove, id)
		}
	}
	return e
}

// editOf is edit for a draft that has put items, some of them for the same tag if there are fewer distinct ones. Where all of them have
// changed something and nothing else has, the edit shares them, for the memory that a large import takes.
func (d *draft) editOf(put []Config, distinct int) Edit {
	if len(put) != distinct || len(put) != len(d.changes) {
		return d.edit()
	}
	e := Edit{Put: put, kept: make([]*Config, len(put))}
	for i := range put {
		c := d.changes[put[i].TagID]
		if c.new == nil {
			return d.edit()
		}
		e.kept[i] = &c.new.Config
	}
	return e
}

// differences returns the changes for people, by tag id, at most limit of them, and the number of all.
func (d *draft) differences(limit int) (list []ItemChange, total int) {
	for _, id := range slices.Sorted(maps.Keys(d.changes)) {
		c := d.changes[id]
		if c.old == nil && c.new == nil {
			continue
		}
		if total++; total > limit {
			continue
		}
		item := ItemChange{TagID: id}
		if c.old != nil {
			item.Old = &c.old.Config
		}
		if c.new != nil {
			item.New = &c.new.Config
		}
		list = append(list, item)
	}
	return list, total
}

// adopt makes the draft what a model file has. Items that were changed or removed after revision since, which the file cannot know,
// stay as they are; removed has the revisions of those that were removed.
// It reports whether there are none of these, so that the file has the whole draft.
func (d *draft) adopt(m *model, since int64, removed map[string]int64) (whole bool) {
	whole = true
	d.header = m.header
	var later []*entry // that the file cannot know
	d.from.order.Scan(func(_ int64, e *entry) bool {
		if _, ok := m.index[e.TagID]; ok {
			return true
		}
		if e.revision > since {
			later, whole = append(later, e), false
		} else {
			d.remove(e.TagID)
		}
		return true
	})
	kept := make([]*entry, 0, len(m.entries)+len(later))
	for _, e := range m.entries {
		old, known := d.items.Get(e.TagID)
		switch {
		case known && sameConfig(&old.Config, &e.Config) && sameMembers(old.extra, e.extra):
			kept = append(kept, old)
		case known && old.revision > since:
			kept, whole = append(kept, old), false
		case known:
			kept = append(kept, d.set(&entry{Config: e.Config, extra: e.extra, position: old.position}))
		case removed[e.TagID] > since:
			whole = false
		default:
			kept = append(kept, &entry{Config: e.Config, extra: e.extra})
		}
	}
	d.arrange(append(kept, later...))
	return whole
}

// arrange gives entries positions in their order, and changes as few as it can. Entries without a position are added.
func (d *draft) arrange(list []*entry) {
	last := int64(0)
	for i := 0; i < len(list); {
		if list[i].position > last {
			last = list[i].position
			i++
			continue
		}
		end, room := i, int64(0)
		for ; end < len(list); end++ { // those that need a place, up to one that has one behind them
			if next := list[end].position; next > last && next-last > int64(end-i) {
				room = (next - last) / int64(end-i+1)
				break
			}
		}
		if end == len(list) {
			room = gap
		}
		for ; i < end; i++ {
			last += room
			moved := *list[i]
			moved.position = last
			d.set(&moved)
		}
	}
}

func sameMembers(a, b []member) bool {
	return slices.EqualFunc(a, b, func(x, y member) bool { return x.name == y.name && string(x.raw) == string(y.raw) })
}

// seeds are the tags that sources have of their own, by tag id; of each tag by source.
type seeds = btree.Map[string, []seed]

type seed struct {
	source string
	*Config
}

// reseed returns seeds without what a source had, and with its items.
func reseed(all *seeds, source string, had []string, items []Config) *seeds {
	next := all.Copy()
	for _, id := range had {
		list, _ := next.Get(id)
		list = slices.DeleteFunc(slices.Clone(list), func(s seed) bool { return s.source == source })
		if len(list) == 0 {
			next.Delete(id)
		} else {
			next.Set(id, list)
		}
	}
	for i := range items {
		list, _ := next.Get(items[i].TagID)
		list = slices.DeleteFunc(slices.Clone(list), func(s seed) bool { return s.source == source })
		list = append(list, seed{source, &items[i]})
		slices.SortFunc(list, func(a, b seed) int { return strings.Compare(a.source, b.source) })
		next.Set(items[i].TagID, list)
	}
	return next
}

// each calls yield for every configured and every seeded tag by tag id, with its seeds, until it returns false.
func each(v *view, all *seeds, yield func(c *Config, known []seed) bool) {
	it := all.Iter()
	more := it.First()
	going := true
	v.items.Scan(func(id string, e *entry) bool {
		for ; going && more && it.Key() < id; more = it.Next() {
			going = yield(it.Value()[0].Config, it.Value())
		}
		var known []seed
		if more && it.Key() == id {
			known = it.Value()
			more = it.Next()
		}
		going = going && yield(&e.Config, known)
		return going
	})
	for ; going && more; more = it.Next() {
		going = yield(it.Value()[0].Config, it.Value())
	}
}
