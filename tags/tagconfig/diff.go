package tagconfig

import (
	"slices"
	"strings"
)

// Differences lists what a Bulk would change. The lists are sorted by tag id and never nil.
type Differences struct {
	Added     []Config `json:"added"`
	Changed   []Change `json:"changed"`
	Unchanged []string `json:"unchanged"` // tag ids
}

// Change is what would become of one tag.
type Change struct {
	TagID  string        `json:"tagId"`
	Fields []FieldChange `json:"fields"`
}

// FieldChange is one member of a tag before and after: a string, float64, int64 or bool, nil for
// absent.
type FieldChange struct {
	Field string `json:"field"`
	Old   any    `json:"old"`
	New   any    `json:"new"`
}

// Diff compares items that were imported with the current ones. As in a Bulk, the last of two items
// for one tag counts, and tags that are not named do not.
func Diff(current, incoming []Config) Differences {
	before := byTag(current)
	after := byTag(incoming)
	d := Differences{Added: []Config{}, Changed: []Change{}, Unchanged: []string{}}
	for id, c := range after {
		old, known := before[id]
		if !known {
			d.Added = append(d.Added, c)
			continue
		}
		if fields := changedFields(&old, &c); len(fields) > 0 {
			d.Changed = append(d.Changed, Change{id, fields})
		} else {
			d.Unchanged = append(d.Unchanged, id)
		}
	}
	slices.SortFunc(d.Added, func(a, b Config) int { return strings.Compare(a.TagID, b.TagID) })
	slices.SortFunc(d.Changed, func(a, b Change) int { return strings.Compare(a.TagID, b.TagID) })
	slices.Sort(d.Unchanged)
	return d
}

func byTag(items []Config) map[string]Config {
	m := make(map[string]Config, len(items))
	for _, c := range items {
		c.normalize()
		m[c.TagID] = c
	}
	return m
}

func changedFields(old, c *Config) []FieldChange {
	var changed []FieldChange
	for i := range columns {
		if a, b := columns[i].get(old), columns[i].get(c); a != b {
			changed = append(changed, FieldChange{columns[i].name, a, b})
		}
	}
	return changed
}

// sameConfig compares what items say.
func sameConfig(a, b *Config) bool {
	if a == b {
		return true
	}
	x, y := *a, *b
	for _, p := range [...][2]**float64{
		{&x.MinValue, &y.MinValue}, {&x.MaxValue, &y.MaxValue}, {&x.ScalingFactor, &y.ScalingFactor},
		{&x.Offset, &y.Offset}, {&x.Deadband, &y.Deadband}, {&x.DeadbandPercent, &y.DeadbandPercent},
	} {
		if !samePointed(*p[0], *p[1]) {
			return false
		}
		*p[0], *p[1] = nil, nil
	}
	if !samePointed(x.ConfirmWrites, y.ConfirmWrites) {
		return false
	}
	x.ConfirmWrites, y.ConfirmWrites = nil, nil
	return x == y
}

func samePointed[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }
