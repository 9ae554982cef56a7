package aasstore

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"hash/fnv"
	"slices"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
)

// A document that is kept apart has an outline in aas_documents and its elements in aas_chunks, many to a chunk: what
// a call on one element reads and writes is small, and the whole is still read from few rows. An index leads from the
// hash of an idShort to the chunks that may have it. It is divided into buckets, by the hash.

const (
	chunkBytes    = 16 << 10 // of the elements of a chunk, unless one element has more
	maxChunkBytes = 4 * chunkBytes
	bucketEntries = 256 // elements a bucket when the document is written
	maxBucket     = 8 * bucketEntries
)

// outline is what aas_documents has of a document that is kept apart.
type outline struct {
	Head, Tail string
	Count      int   // see repository.Divided
	Entries    int   // likewise
	Buckets    int   // of the index
	Last       int64 // chunk
}

func (o *outline) text() string {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err) // it has texts and numbers alone
	}
	return string(text)
}

// outlineOf returns the outline of a document, its chunks, and the bytes of its JSON.
func outlineOf(d *repository.Divided) (outline, []chunk, int64) {
	chunks, size := chunksOf(d.Elements), len(d.Head)+len(d.Tail)+len(d.Elements)-1
	for i := range d.Elements {
		size += len(d.Elements[i].JSON)
	}
	return outline{string(d.Head), string(d.Tail), d.Count, d.Entries, 1 + len(d.Elements)/bucketEntries, int64(len(chunks) - 1)}, chunks, int64(size)
}

// textFor returns the columns json and size.
func textFor(d *repository.Document) (string, int64) {
	if d.Divided == nil {
		return string(d.JSON), 0
	}
	o, _, size := outlineOf(d.Divided)
	return o.text(), size
}

// chunk is some elements that follow each other.
type chunk struct {
	number int64
	names  []byte // for each element the length of its idShort, the idShort and the length of its JSON
	data   []byte // the elements with commas between them
}

func chunksOf(elements []aas.DividedElement) (list []chunk) {
	for i := range elements {
		e := &elements[i]
		if n := len(list); n == 0 || !list[n-1].hasRoom(e.JSON) {
			list = append(list, chunk{number: int64(n)})
		}
		list[len(list)-1].add(e.IDShort, e.JSON)
	}
	return list
}

func (c *chunk) hasRoom(text []byte) bool { return len(c.data)+len(text) < chunkBytes }

func (c *chunk) add(idShort string, text []byte) {
	if len(c.data) > 0 {
		c.data = append(c.data, ',')
	}
	c.data = append(c.data, text...)
	c.names = appendName(c.names, idShort, len(text))
}

func appendName(to []byte, idShort string, size int) []byte {
	to = append(binary.AppendUvarint(to, uint64(len(idShort))), idShort...)
	return binary.AppendUvarint(to, uint64(size))
}

// place is where an element is in a chunk.
type place struct {
	from, to         int // in data
	nameFrom, nameTo int // in names
}

// each calls fn for each element until fn returns false. ok is false for names that cannot be read.
func (c *chunk) each(fn func(idShort []byte, p place) bool) (ok bool) {
	at := 0
	for n := 0; n < len(c.names); {
		size, width := binary.Uvarint(c.names[n:])
		if width <= 0 || size > uint64(len(c.names)-n-width) {
			return false
		}
		name := c.names[n+width : n+width+int(size)]
		end := n + width + int(size)
		length, more := binary.Uvarint(c.names[end:])
		if more <= 0 || length > uint64(len(c.data)-at) {
			return false
		}
		p := place{from: at, to: at + int(length), nameFrom: n, nameTo: end + more}
		if !fn(name, p) {
			return true
		}
		n, at = p.nameTo, p.to+1
	}
	return true
}

// find returns the first element with an idShort.
func (c *chunk) find(idShort string) (p place, found bool) {
	c.each(func(name []byte, at place) bool {
		p, found = at, string(name) == idShort
		return !found
	})
	return p, found
}

// replace puts another element in the place of one.
func (c *chunk) replace(p place, idShort string, text []byte) {
	c.names = slices.Replace(c.names, p.nameFrom, p.nameTo, appendName(nil, idShort, len(text))...)
	c.data = slices.Replace(c.data, p.from, p.to, text...)
}

// remove takes an element out, and the comma that was beside it.
func (c *chunk) remove(p place) {
	c.names = slices.Delete(c.names, p.nameFrom, p.nameTo)
	switch {
	case p.to < len(c.data):
		p.to++
	case p.from > 0:
		p.from--
	}
	c.data = slices.Delete(c.data, p.from, p.to)
}

// elements returns the elements of the chunk.
func (c *chunk) elements() (list []aas.DividedElement) {
	c.each(func(name []byte, p place) bool {
		list = append(list, aas.DividedElement{IDShort: string(name), JSON: c.data[p.from:p.to]})
		return true
	})
	return list
}

// bucket is a part of the index: a hash and the number of a chunk for each of its elements.
type bucket []byte

const bucketEntry = 4 + 8

func hashOf(idShort string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(idShort))
	return h.Sum32()
}

// bucketNumber returns the row of aas_chunks with the bucket of a hash.
func (o *outline) bucketNumber(hash uint32) int64 { return -1 - int64(hash%uint32(o.Buckets)) }

func entryOf(hash uint32, number int64) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint32(nil, hash), uint64(number))
}

// chunks returns the numbers of the chunks that may have an element, ascending.
func (b bucket) chunks(hash uint32) (numbers []int64) {
	for at := 0; at+bucketEntry <= len(b); at += bucketEntry {
		if binary.LittleEndian.Uint32(b[at:]) == hash {
			numbers = append(numbers, int64(binary.LittleEndian.Uint64(b[at+4:])))
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

// without returns the bucket without one entry.
func (b bucket) without(entry []byte) bucket {
	for at := 0; at+bucketEntry <= len(b); at += bucketEntry {
		if bytes.Equal(b[at:at+bucketEntry], entry) {
			return slices.Delete(b, at, at+bucketEntry)
		}
	}
	return b
}
