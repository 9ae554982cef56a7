package aas

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/otkit/otkit/fault"
)

// maxNesting bounds objects and arrays within each other, those of unknown members included, so that a
// document cannot exhaust the stack.
const maxNesting = 4 * MaxDepth

// decoder reads a document in one pass. The first error stays: after it every method does nothing, so
// that callers need not ask after each step.
type decoder struct {
	text  string // the document; strings without escapes are parts of it
	pos   int
	err   error
	path  []step
	depth int // elements and references around the position

	nameAt            int // where the name of the last member begins
	elements, entries int
	merging           bool // into elements that exist already
	metadataOnly      bool // leave values as they are

	ahead    []objectHead // objects that were looked at ahead, ascending, up to aheadEnd
	aheadEnd int
	scanning bool

	arenas
}

// step is the way to one member or entry.
type step struct {
	name  string
	index int // of an entry of an array; -1 for a member
}

// objectHead is what decides how the object that begins at start is read.
type objectHead struct {
	start   int
	kind    ElementKind
	idShort string
}

// object is what the decoder knows of the object that it is in.
type object struct {
	key     member
	started bool
	seen    [2]uint64 // members
	unknown []string  // names of members that the metamodel does not have
}

func (o *object) has(m member) bool { return o.seen[m/64]&(1<<(m%64)) != 0 }

// decode runs read over a whole document.
func decode(data []byte, read func(d *decoder)) error {
	var d decoder
	return d.decode(data, read)
}

func (d *decoder) decode(data []byte, read func(d *decoder)) error {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if !utf8.Valid(data) {
		return ErrInvalidRequest.Because("the document is not valid UTF-8")
	}
	d.text, d.path = string(data), make([]step, 0, 16)
	read(d)
	if d.err == nil && d.peek() != 0 {
		d.malformed()
	}
	return d.err
}

// fail keeps the first error, at the position of the decoder.
func (d *decoder) fail(message string) {
	if d.err != nil {
		return
	}
	if where := d.where(); where != "" {
		d.err = ErrInvalidRequest.Invalid(fault.Field{Field: where, Message: message})
	} else {
		d.err = ErrInvalidRequest.Because("the document %s", message)
	}
}

func (d *decoder) malformed() {
	if d.err == nil {
		d.err = ErrInvalidRequest.Because("the document is not valid JSON near byte %d", d.pos)
	}
}

// failAt fails for a member of the thing at the position.
func (d *decoder) failAt(m member, message string) {
	d.path = append(d.path, step{memberNames[m], -1})
	d.fail(message)
	d.path = d.path[:len(d.path)-1]
}

func (d *decoder) where() string { return pathOf(d.path) }

func pathOf(path []step) string {
	var b strings.Builder
	for _, s := range path {
		switch {
		case s.index >= 0:
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		case s.name != "":
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s.name)
		}
	}
	return b.String()
}

// peek skips white space and returns the next byte, 0 at the end.
func (d *decoder) peek() byte {
	for d.pos < len(d.text) {
		switch c := d.text[d.pos]; c {
		case ' ', '\n', '\r', '\t':
			d.pos++
		case 0:
			d.malformed()
			return 1
		default:
			return c
		}
	}
	return 0
}

func (d *decoder) push(s step) {
	if len(d.path) >= maxNesting {
		d.fail("is nested too deeply, at most " + strconv.Itoa(maxNesting) + " levels")
		return
	}
	d.path = append(d.path, s)
}

// begin enters an object; next has to follow.
func (d *decoder) begin(o *object) {
	if d.err != nil {
		return
	}
	if d.peek() != '{' {
		d.fail("must be an object")
		return
	}
	d.pos++
	d.push(step{index: -1})
}

// next moves to the value of the next member, or leaves the object.
func (d *decoder) next(o *object) bool {
	name, ok := d.nextName(o)
	if !ok {
		return false
	}
	o.key = membersByName[name]
	if o.key != noMember {
		if o.has(o.key) {
			d.fail("is a duplicate")
			return false
		}
		o.seen[o.key/64] |= 1 << (o.key % 64)
	}
	return true
}

// nextName is next for an object whose members are not those of the metamodel.
func (d *decoder) nextName(o *object) (string, bool) {
	if d.err != nil {
		return "", false
	}
	c := d.peek()
	switch {
	case c == '}' && d.err == nil:
		d.pos++
		d.path = d.path[:len(d.path)-1]
		return "", false
	case !o.started:
		o.started = true
	case c == ',':
		d.pos++
		c = d.peek()
	default:
		c = 0
	}
	if c != '"' {
		d.malformed()
		return "", false
	}
	d.nameAt = d.pos
	name := d.str()
	if d.peek() != ':' {
		d.malformed()
		return "", false
	}
	d.pos++
	d.path[len(d.path)-1].name = name
	return name, d.err == nil
}

// need fails when the object that was just read lacks a member.
func (d *decoder) need(o *object, members ...member) {
	if d.err != nil {
		return
	}
	var missing []fault.Field
	for _, m := range members {
		if !o.has(m) {
			missing = append(missing, fault.Field{Field: memberOf(d.where(), memberNames[m]), Message: "is required"})
		}
	}
	if missing != nil {
		d.err = ErrInvalidRequest.Invalid(missing...)
	}
}

// needNew is need for what exists already when a document is merged into it.
func (d *decoder) needNew(o *object, members ...member) {
	if !d.merging {
		d.need(o, members...)
	}
}

// openArray enters an array and reports whether it has an entry, which is then at the position.
func (d *decoder) openArray() bool {
	if d.err != nil {
		return false
	}
	if d.peek() != '[' {
		d.fail("must be an array")
		return false
	}
	d.pos++
	if d.peek() == ']' {
		d.pos++
		return false
	}
	d.push(step{index: 0})
	return d.entry()
}

// nextItem moves to the next entry, or leaves the array.
func (d *decoder) nextItem() bool {
	if d.err != nil {
		return false
	}
	switch d.peek() {
	case ',':
		d.pos++
		d.path[len(d.path)-1].index++
		return d.entry()
	case ']':
		d.pos++
		d.path = d.path[:len(d.path)-1]
	default:
		d.malformed()
	}
	return false
}

func (d *decoder) entry() bool {
	if d.entries++; d.entries > MaxEntries {
		d.fail("is too much: at most " + strconv.Itoa(MaxEntries) + " entries in all arrays of a document")
	}
	return d.err == nil
}

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
