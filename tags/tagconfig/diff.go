package tagconfig

import (
	"iter"
	"slices"
	"strings"
)

// Differences lists what a Bulk would change. The lists are sorted by tag id and never nil.
type Differences struct {
	Added     []*Config `json:"added"` // those that were compared
	Changed   []Change  `json:"changed"`
	Unchanged []string  `json:"unchanged"` // tag ids
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

// Diff compares items that were imported with the current ones, which are sorted by tag id, such as those of Store.All. As in a
// Bulk, the last of two items for one tag counts, and tags that are not named do not.
func Diff(current iter.Seq[Config], incoming []Config) Differences {
	after := byTag(incoming)
	d := Differences{Added: []*Config{}, Changed: []Change{}, Unchanged: []string{}}
	for old := range current {
		for len(after) > 0 && after[0].TagID < old.TagID {
			d.Added, after = append(d.Added, after[0]), after[1:]
		}
		if len(after) == 0 || after[0].TagID != old.TagID {
			continue
		}
		if fields := changedFields(&old, after[0]); len(fields) > 0 {
			d.Changed = append(d.Changed, Change{old.TagID, fields})
		} else {
			d.Unchanged = append(d.Unchanged, old.TagID)
		}
		after = after[1:]
	}
	d.Added = append(d.Added, after...)
	return d
}

// Missing returns the ids of current items that incoming does not have. It is never nil.
func Missing(current iter.Seq[Config], incoming []Config) []string {
	named := make(map[string]struct{}, len(incoming))
	for i := range incoming {
		named[incoming[i].TagID] = struct{}{}
	}
	missing := []string{}
	for c := range current {
		if _, ok := named[c.TagID]; !ok {
			missing = append(missing, c.TagID)
		}
	}
	return missing
}

// byTag returns the last item of each tag, sorted by tag id.
func byTag(items []Config) []*Config {
	sorted := make([]*Config, len(items))
	for i := range items {
		sorted[len(items)-1-i] = &items[i] // the last one first, where a stable sort leaves it
	}
	slices.SortStableFunc(sorted, func(a, b *Config) int { return strings.Compare(a.TagID, b.TagID) })
	return slices.CompactFunc(sorted, func(a, b *Config) bool { return a.TagID == b.TagID })
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
