package aas

// arena hands out entries of arrays from blocks, so that a document costs few allocations.
type arena[T any] struct {
	free  []T
	block int
	stack []T // entries of the arrays that are being read
}

// smallest and largest block of an arena, in entries; the largest bounds what is allocated in vain.
const (
	firstBlock = 4
	lastBlock  = 64
)

func (a *arena[T]) take(n int) []T {
	if n > len(a.free) {
		next := min(max(2*a.block, firstBlock), lastBlock)
		if n > next/2 {
			return make([]T, n)
		}
		a.block, a.free = next, make([]T, next)
	}
	taken := a.free[:n:n]
	a.free = a.free[n:]
	return taken
}

func (a *arena[T]) one() *T { return &a.take(1)[0] }

// list reads an array; nil when it is empty.
func list[T any](d *decoder, a *arena[T], read func(*decoder) T) []T {
	base := len(a.stack)
	for ok := d.openArray(); ok; ok = d.nextItem() {
		a.stack = append(a.stack, read(d))
	}
	if len(a.stack) == base {
		return nil
	}
	entries := a.take(len(a.stack) - base)
	copy(entries, a.stack[base:])
	clear(a.stack[base:])
	a.stack = a.stack[:base]
	return entries
}
