package tags

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// UnusableTag is a tag whose driver runs and refuses its address.
type UnusableTag struct {
	Name, Driver string
	Err          error // of the driver
}

// unusable has the tags that their drivers refuse. There are few.
type unusable struct {
	mu  sync.Mutex
	all map[*entry]UnusableTag
}

func (u *unusable) set(en *entry, err error) {
	t := en.tag.Load()
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.all == nil {
		u.all = make(map[*entry]UnusableTag)
	}
	u.all[en] = UnusableTag{t.Name, t.Driver, err}
}

func (u *unusable) remove(en *entry) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.all, en)
}

// degradeOther makes a tag Bad unless its driver refuses it: its ConfigError outlasts a lost connection. It asks with the lock of the entry held, so
// that whoever refuses the tag meanwhile has the last word.
func (u *unusable) degradeOther(en *entry, reason Reason, now time.Time) (Change, bool) {
	en.mu.Lock()
	defer en.mu.Unlock()
	u.mu.Lock()
	_, refused := u.all[en]
	u.mu.Unlock()
	if refused {
		return Change{}, false
	}
	return en.lowerTo(Bad, reason, now)
}

// Unusable returns the tags whose drivers run and refuse their addresses, by name. They are Bad with reason ConfigError.
func (e *Engine) Unusable() []UnusableTag {
	e.unusable.mu.Lock()
	list := make([]UnusableTag, 0, len(e.unusable.all))
	for _, t := range e.unusable.all {
		list = append(list, t)
	}
	e.unusable.mu.Unlock()
	slices.SortFunc(list, func(a, b UnusableTag) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// addressRefusal is why a driver refuses the address of a definition.
type addressRefusal struct {
	of  *Tag
	err error
}

// refusals returns why a driver refuses the addresses of those of its tags that it does.
func (r *runner) refusals(part []*entry) map[*entry]addressRefusal {
	c, ok := r.driver.(PointValidator)
	if !ok {
		return nil
	}
	var found map[*entry]addressRefusal
	for _, en := range part {
		t := en.tag.Load()
		if t.Driver != r.id {
			continue
		}
		if err := guard(func() error { return c.ValidatePoint(t.point()) }); err != nil {
			if found == nil {
				found = make(map[*entry]addressRefusal)
			}
			found[en] = addressRefusal{t, err}
		}
	}
	return found
}
