package storage

import (
	"encoding/binary"
	"hash/crc32"
	"math"

	"github.com/otkit/otkit/storage/internal/chunk"
)

// batch is one row of history_wal. Its data are: a check sum, the number of tags, for each tag the
// difference of its number to the one before and the length of its block, and the blocks.
type batch struct {
	min, max int64 // micros
	count    int64
	data     []byte
}

// maxBatch is where one call's samples are divided into several batches.
const maxBatch = 1 << 17

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal puts the check sum in front of data whose first four bytes are free.
func seal(data []byte) []byte {
	binary.LittleEndian.PutUint32(data, crc32.Checksum(data[4:], castagnoli))
	return data
}

// unseal gives what follows the check sum, when that is right.
func unseal(data []byte) ([]byte, bool) {
	if len(data) < 4 || binary.LittleEndian.Uint32(data) != crc32.Checksum(data[4:], castagnoli) {
		return nil, false
	}
	return data[4:], true
}

// batchWriter packs blocks into a batch. Tags come in ascending order of their numbers; one with
// very many samples may come more than once.
type batchWriter struct {
	batch
	index  []byte
	blocks []byte
	tags   uint64
	last   int64
}

func (w *batchWriter) add(id int64, points []chunk.Point) {
	if w.tags == 0 {
		w.min, w.max = math.MaxInt64, math.MinInt64
	}
	before := len(w.blocks)
	w.blocks = chunk.Append(w.blocks, 0, points)
	w.index = binary.AppendUvarint(w.index, uint64(id-w.last))
	w.index = binary.AppendUvarint(w.index, uint64(len(w.blocks)-before))
	w.last = id
	w.tags++
	w.count += int64(len(points))
	w.min = min(w.min, points[0].Micros)
	w.max = max(w.max, points[len(points)-1].Micros)
}

func (w *batchWriter) full() bool { return w.count >= maxBatch || len(w.blocks) >= 16<<20 }

// finish gives the batch and makes the writer ready for the next one.
func (w *batchWriter) finish() batch {
	b := w.batch
	b.data = make([]byte, 4, 4+binary.MaxVarintLen64+len(w.index)+len(w.blocks))
	b.data = binary.AppendUvarint(b.data, w.tags)
	b.data = append(append(b.data, w.index...), w.blocks...)
	seal(b.data)
	*w = batchWriter{index: w.index[:0], blocks: w.blocks[:0]}
	return b
}

// eachBlock gives the block of each tag in a batch, in ascending order of the tags' numbers, until
// visit returns false. It is false for a batch that is damaged.
func eachBlock(data []byte, visit func(id int64, block []byte) bool) bool {
	rest, ok := unseal(data)
	if !ok {
		return false
	}
	count, n := binary.Uvarint(rest)
	if n <= 0 || count > uint64(len(rest)) {
		return false
	}
	index := rest[n:]
	blocks := index
	for range 2 * count { // the blocks begin where the index ends
		_, n := binary.Uvarint(blocks)
		if n <= 0 {
			return false
		}
		blocks = blocks[n:]
	}
	var id uint64
	for range count {
		step, n := binary.Uvarint(index)
		index = index[n:]
		size, n := binary.Uvarint(index)
		index = index[n:]
		if size > uint64(len(blocks)) {
			return false
		}
		id += step
		if !visit(int64(id), blocks[:size]) {
			return true
		}
		blocks = blocks[size:]
	}
	return len(blocks) == 0
}
