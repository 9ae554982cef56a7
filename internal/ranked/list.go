// Package ranked has a sorted list that knows its entries by position and by class, so that a page far
// down a list costs what the first one does.
package ranked

import (
	"iter"
	"math/bits"
	"slices"
)

// Classes is the number of classes that entries may be of: 0 up to it.
const Classes = 32

// Set is a set of classes: class c is in it when bit c is set.
type Set uint32

// All has every class.
const All Set = 1<<Classes - 1

// SetOf returns the set of the classes for which has is true.
func SetOf(has func(class uint8) bool) (s Set) {
	for class := range uint8(Classes) {
		if has(class) {
			s |= 1 << class
		}
	}
	return s
}

// Has reports whether a class is in the set.
func (s Set) Has(class uint8) bool { return s&(1<<class) != 0 }

// Counts are numbers of entries by class.
type Counts [Classes]int

// Sum returns the number of entries of the classes in a set.
func (c *Counts) Sum(set Set) (n int) {
	for s := uint32(set); s != 0; s &= s - 1 {
		n += c[bits.TrailingZeros32(s)]
	}
	return n
}

// chunkSize is the number of entries of a chunk, which may have up to twice as many.
const chunkSize = 512

// List is a sorted list. Its zero value has no order: use New. It is not safe for concurrent use.
type List[T any] struct {
	compare func(a, b T) int
	class   func(T) uint8
	chunks  []*chunk[T]
	counts  Counts
	size    int
}

type chunk[T any] struct {
	entries []T
	counts  Counts
}

// New makes an empty list. compare orders entries and is 0 for the same one only; class is below Classes and
// does not change while an entry is in the list.
func New[T any](compare func(a, b T) int, class func(T) uint8) *List[T] {
	return &List[T]{compare: compare, class: class}
}

// Len returns the number of entries.
func (l *List[T]) Len() int { return l.size }

// Count returns the number of entries of the classes in a set.
func (l *List[T]) Count(set Set) int { return l.counts.Sum(set) }

// find returns the chunk in which an entry is or belongs, and its place there.
func (l *List[T]) find(entry T) (at, place int, found bool) {
	at, _ = slices.BinarySearchFunc(l.chunks, entry, func(c *chunk[T], entry T) int {
		if l.compare(c.entries[0], entry) <= 0 {
			return -1
		}
		return 1
	})
	at = max(at-1, 0)
	if at < len(l.chunks) {
		place, found = slices.BinarySearchFunc(l.chunks[at].entries, entry, l.compare)
	}
	return at, place, found
}

// Insert puts an entry in, unless it is there.
func (l *List[T]) Insert(entry T) {
	at, place, found := l.find(entry)
	if found {
		return
	}
	if len(l.chunks) == 0 {
		l.chunks = append(l.chunks, &chunk[T]{})
	}
	c := l.chunks[at]
	c.entries = slices.Insert(c.entries, place, entry)
	class := l.class(entry)
	c.counts[class]++
	l.counts[class]++
	l.size++
	if len(c.entries) >= 2*chunkSize {
		upper := &chunk[T]{entries: slices.Clone(c.entries[chunkSize:])}
		clear(c.entries[chunkSize:])
		c.entries = c.entries[:chunkSize]
		for _, e := range upper.entries {
			upper.counts[l.class(e)]++
			c.counts[l.class(e)]--
		}
		l.chunks = slices.Insert(l.chunks, at+1, upper)
	}
}

// Delete removes an entry, if it is there.
func (l *List[T]) Delete(entry T) {
	at, place, found := l.find(entry)
	if !found {
		return
	}
	c := l.chunks[at]
	class := l.class(c.entries[place])
	c.entries = slices.Delete(c.entries, place, place+1)
	c.counts[class]--
	l.counts[class]--
	l.size--
	if len(c.entries) == 0 {
		l.chunks = slices.Delete(l.chunks, at, at+1)
	}
}

// DeleteFunc removes the entries for which del returns true. It is called for each entry, in ascending order.
func (l *List[T]) DeleteFunc(del func(T) bool) {
	l.counts, l.size = Counts{}, 0
	l.chunks = slices.DeleteFunc(l.chunks, func(c *chunk[T]) bool {
		c.entries = slices.DeleteFunc(c.entries, del)
		c.counts = Counts{}
		for _, e := range c.entries {
			c.counts[l.class(e)]++
		}
		for class, n := range c.counts {
			l.counts[class] += n
		}
		l.size += len(c.entries)
		return len(c.entries) == 0
	})
}

// First returns the lowest entry. The list must have one.
func (l *List[T]) First() T { return l.chunks[0].entries[0] }

// All yields the entries in ascending order.
func (l *List[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, c := range l.chunks {
			for _, e := range c.entries {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// Below returns the number of entries of the classes in a set for which low is true. It is true for a first part
// of the list alone.
func (l *List[T]) Below(set Set, low func(T) bool) (n int) {
	for _, c := range l.chunks {
		if low(c.entries[len(c.entries)-1]) {
			n += c.counts.Sum(set)
			continue
		}
		for _, e := range c.entries {
			if !low(e) {
				return n
			}
			if set.Has(l.class(e)) {
				n++
			}
		}
	}
	return n
}

// Backward yields the entries of the classes in a set in descending order, without the first skip of them.
func (l *List[T]) Backward(set Set, skip int) iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, c := range slices.Backward(l.chunks) {
			n := c.counts.Sum(set)
			if n <= skip {
				skip -= n
				continue
			}
			for _, e := range slices.Backward(c.entries) {
				switch {
				case !set.Has(l.class(e)):
				case skip > 0:
					skip--
				case !yield(e):
					return
				}
			}
		}
	}
}
