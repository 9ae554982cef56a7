package tags

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/otkit/otkit/fault"
)

// ListQuery selects, sorts and pages tags.
type ListQuery struct {
	Driver     string     // exact id; empty for all
	Pattern    string     // LIKE pattern over the name; empty for all
	Text       string     // part of the name, address, description or unit, without regard to case; empty for all
	Qualities  QualitySet // of the newest samples; empty for all
	Sort       ListSort
	Descending bool // the other way round; tags that are equal in what they are sorted by remain in the order of SortNatural
	Page       int  // from 1; 0 counts as 1
	PageSize   int  // 1..500; 0 counts as 50
}

// ListSort is an order of tags.
type ListSort uint8

// The orders of tags. Where tags are equal, SortNatural decides.
const (
	SortName       ListSort = iota // by the bytes of the names
	SortNatural                    // by name, with digits by their number: tag2 before tag10
	SortSourceTime                 // by Sample.SourceTime
	SortQuality                    // Bad, Uncertain, Good
	SortDriver                     // by the bytes of the driver ids
	endOfSorts
)

// The paging limits of lists of tags.
const (
	DefaultPageSize = 50
	MaxPageSize     = 500
)

// List returns a page of tags, and how many there are in all. A bad page, pattern or order is an
// ErrInvalidRequest, a page size above MaxPageSize an ErrPageSizeExceeded.
func (e *Engine) List(q ListQuery) ([]Snapshot, int, error) {
	page, size := cmp.Or(q.Page, 1), cmp.Or(q.PageSize, DefaultPageSize)
	switch {
	case size > MaxPageSize:
		return nil, 0, ErrPageSizeExceeded.Because("at most %d", MaxPageSize)
	case page < 1:
		return nil, 0, ErrInvalidRequest.Invalid(fault.Field{Field: "page", Message: "must be at least 1"})
	case size < 1:
		return nil, 0, ErrInvalidRequest.Invalid(fault.Field{Field: "pageSize", Message: "must be at least 1"})
	case q.Sort >= endOfSorts:
		return nil, 0, ErrInvalidRequest.Invalid(fault.Field{Field: "sort", Message: "must be an order of tags"})
	}
	if len(q.Text) > MaxPatternBytes {
		return nil, 0, ErrInvalidRequest.Invalid(fault.Field{Field: "text", Message: fmt.Sprintf("must be at most %d bytes", MaxPatternBytes)})
	}
	f := filter{driver: q.Driver, text: strings.ToLower(q.Text), qualities: q.Qualities}
	if q.Pattern != "" && q.Pattern != "%" {
		p, err := CompilePattern(q.Pattern)
		if err != nil {
			return nil, 0, err
		}
		f.pattern = p
	}
	var all []*entry
	if q.Sort == SortName {
		all = e.sortedEntries()
	} else {
		all = e.naturalEntries()
	}
	from := math.MaxInt - size // beyond all of them: multiplying could overflow
	if page-1 <= len(all)/size {
		from = (page - 1) * size
	}
	if q.Sort > SortNatural {
		list, total := sortedPage(all, &f, q, from, from+size)
		return snapshots(list, size), total, nil
	}
	list, total := namedPage(all, &f, q.Descending, from, from+size)
	return snapshots(list, size), total, nil
}

func snapshots(entries []*entry, size int) []Snapshot {
	list := make([]Snapshot, 0, size)
	for _, en := range entries {
		list = append(list, en.snapshot())
	}
	return list
}

// filter is what the tags of a list have in common.
type filter struct {
	driver    string
	pattern   *Pattern
	text      string // in lower case
	qualities QualitySet
}

func (f *filter) all() bool { return *f == filter{} }

func (f *filter) takes(en *entry) bool {
	t := en.tag.Load()
	if f.driver != "" && t.Driver != f.driver || f.pattern != nil && !f.pattern.matchLower(en.lower) {
		return false
	}
	if f.text != "" && !strings.Contains(en.lower, f.text) && !contains(t.Address, f.text) && !contains(t.Description, f.text) &&
		!contains(t.Unit, f.text) {
		return false
	}
	if f.qualities == 0 {
		return true
	}
	en.mu.Lock()
	defer en.mu.Unlock()
	return f.qualities.Has(en.sample.Quality)
}

// contains reports whether s in lower case contains text. It makes no copy of s where both are ASCII, as almost always.
func contains(s, text string) bool {
	last := len(s) - len(text)
	for i := 0; i <= last; i++ {
		k := 0
		for k < len(text) && lowerASCII(s[i+k]) == text[k] {
			k++
		}
		if k == len(text) {
			return true
		}
	}
	return strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII }) && strings.Contains(strings.ToLower(s), text)
}

func lowerASCII(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// namedPage returns those from..to of the entries that f takes, in their order or the other way round, and how many f takes.
func namedPage(all []*entry, f *filter, descending bool, from, to int) ([]*entry, int) {
	at := func(i int) *entry {
		if descending {
			return all[len(all)-1-i]
		}
		return all[i]
	}
	var found []*entry
	if f.all() {
		for i := from; i < min(to, len(all)); i++ {
			found = append(found, at(i))
		}
		return found, len(all)
	}
	total := 0
	for i := range all {
		if en := at(i); f.takes(en) {
			if total >= from && total < to {
				found = append(found, en)
			}
			total++
		}
	}
	return found, total
}

// ranked is an entry with what it is sorted by.
type ranked struct {
	key   int64
	place int // in the natural order
	entry *entry
}

func byRank(a, b ranked) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.place, b.place)) }

// sortedPage returns those from..to of the entries that f takes, in the order of a query, and how many f takes. all is in natural order.
func sortedPage(all []*entry, f *filter, q ListQuery, from, to int) ([]*entry, int) {
	list := make([]ranked, 0, len(all))
	everything := f.all()
	for i, en := range all {
		if everything || f.takes(en) {
			list = append(list, ranked{place: i, entry: en})
		}
	}
	rank(list, q.Sort)
	if q.Descending {
		for i := range list {
			list[i].key = -list[i].key
		}
	}
	total := len(list)
	if from >= total {
		return nil, total
	}
	list = least(list, min(to, total))
	found := make([]*entry, 0, len(list)-from)
	for _, r := range list[from:] {
		found = append(found, r.entry)
	}
	return found, total
}

// rank sets the keys of a list.
func rank(list []ranked, by ListSort) {
	if by == SortDriver {
		rankDrivers(list)
		return
	}
	for i := range list {
		en := list[i].entry
		en.mu.Lock()
		if by == SortQuality {
			list[i].key = int64(en.sample.Quality)
		} else {
			list[i].key = en.sample.SourceTime.UnixMicro()
		}
		en.mu.Unlock()
	}
}

func rankDrivers(list []ranked) {
	numbers := make(map[string]int64)
	var drivers []string
	for i := range list {
		id := list[i].entry.tag.Load().Driver
		n, known := numbers[id]
		if !known {
			n = int64(len(drivers))
			drivers = append(drivers, id)
			numbers[id] = n
		}
		list[i].key = n
	}
	sorted := slices.Sorted(slices.Values(drivers))
	place := make([]int64, len(drivers))
	for i, id := range sorted {
		place[numbers[id]] = int64(i)
	}
	for i := range list {
		list[i].key = place[list[i].key]
	}
}

// least returns the n least of a list in order. It moves them to the front of the list. Most of a long list is only compared with the
// greatest of those found so far, as few are asked for.
func least(list []ranked, n int) []ranked {
	kept, limit := list[:0], max(2*n, 4096)
	var greatest *ranked
	for _, r := range list {
		if greatest != nil && byRank(r, *greatest) > 0 {
			continue
		}
		if kept = append(kept, r); len(kept) == limit {
			slices.SortFunc(kept, byRank)
			kept = kept[:n]
			last := kept[n-1]
			greatest = &last
		}
	}
	slices.SortFunc(kept, byRank)
	return kept[:n]
}
