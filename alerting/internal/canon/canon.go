// Package canon brings times, ids and texts into the form in which alerting stores them.
package canon

import (
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

// MaxOffset is the largest offset of a page. Every store accepts it, and it fits an int of 32 bits.
const MaxOffset = math.MaxInt32

// Time returns t in UTC, truncated to microseconds.
func Time(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// NewID returns a new UUIDv7.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// ID returns a GUID in lower case. It reports false if id is not a GUID of 36 characters.
func ID(id string) (string, bool) {
	u, err := uuid.Parse(id)
	return u.String(), err == nil && len(id) == 36
}

// Cut returns the first limit bytes of s, without breaking a character.
func Cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return strings.Clone(s[:limit]) // do not keep the whole text in memory
}

// Pairs limits a set of labels or annotations.
type Pairs struct {
	Count int // number of pairs
	Name  int // bytes of a name
	Value int // bytes of a value
	Total int // bytes of all names and values
}

// Bound returns the first pairs by name that fit into limits. Longer names and values are cut.
func (limits Pairs) Bound(pairs map[string]string) map[string]string {
	bounded, total := make(map[string]string, min(len(pairs), limits.Count)), limits.Total
	for _, name := range slices.Sorted(maps.Keys(pairs)) {
		short, text := Cut(name, limits.Name), Cut(pairs[name], limits.Value)
		if total -= len(short) + len(text); total < 0 || len(bounded) == limits.Count {
			break
		}
		bounded[short] = text
	}
	return bounded
}
