package historystore

import (
	"encoding/binary"
	"hash/crc32"
	"math"

	"github.com/otkit/otkit/storage/historystore/internal/chunk"
)

// shardTags is how many tags wait together. A reader of one tag reads what waits of its shard, and one
// transaction of compaction moves it: more make both longer, fewer make more rows of each Append.
const shardTags = 512

func shardOf(tag int64) int64 { return tag / shardTags }

// batch is one row of history_waiting: samples of the tags of one shard. Its data are: a check sum, the
// time that the blocks are relative to, the number of tags, for each tag the difference of its number to
// the one before and the length of its block, and the blocks.
type batch struct {
	shard    int64
	min, max int64 // micros
	count    int64
	data     []byte
}

// A batch is divided where it has so many samples or bytes.
const (
	maxBatch      = 1 << 16
	maxBatchBytes = 4 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal puts the check sum in front of data whose first four bytes are free.
func seal(data []byte) []byte {
	binary.LittleEndian.PutUint32(data, crc32.Checksum(data[4:], castagnoli))
	return data
}

// unseal returns what follows the check sum, when that is right.
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
	base   int64 // a time near those of the samples
	index  []byte
	blocks []byte
	tags   uint64
	last   int64
}

func (w *batchWriter) add(id int64, points []chunk.Point) {
	if w.tags == 0 {
		w.shard, w.min, w.max = shardOf(id), math.MaxInt64, math.MinInt64
	}
	before := len(w.blocks)
	w.blocks = chunk.Append(w.blocks, w.base, points)
	w.index = binary.AppendUvarint(w.index, uint64(id-w.last))
	w.index = binary.AppendUvarint(w.index, uint64(len(w.blocks)-before))
	w.last = id
	w.tags++
	w.count += int64(len(points))
	w.min = min(w.min, points[0].Micros)
	w.max = max(w.max, points[len(points)-1].Micros)
}

func (w *batchWriter) full() bool { return w.count >= maxBatch || len(w.blocks) >= maxBatchBytes }

// finish returns the batch and makes the writer ready for the next one.
func (w *batchWriter) finish() batch {
	b := w.batch
	b.data = make([]byte, 4, 4+2*binary.MaxVarintLen64+len(w.index)+len(w.blocks))
	b.data = binary.AppendVarint(b.data, w.base)
	b.data = binary.AppendUvarint(b.data, w.tags)
	b.data = append(append(b.data, w.index...), w.blocks...)
	seal(b.data)
	*w = batchWriter{index: w.index[:0], blocks: w.blocks[:0]}
	return b
}

// eachBlock returns the block of each tag in a batch, in ascending order of the tags' numbers, until
// visit returns false. It is false for a batch that is damaged.
func eachBlock(data []byte, visit func(tag, base int64, block []byte) bool) bool {
	rest, ok := unseal(data)
	if !ok {
		return false
	}
	base, n := binary.Varint(rest)
	return n > 0 && eachBlockSince(rest[n:], base, visit)
}

// eachBlockSince is eachBlock for what follows the base. Batches of earlier versions had none.
func eachBlockSince(rest []byte, base int64, visit func(tag, base int64, block []byte) bool) bool {
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
		if !visit(int64(id), base, blocks[:size]) {
			return true
		}
		blocks = blocks[size:]
	}
	return len(blocks) == 0
}

// adoptBatch converts a batch of an earlier version.
func adoptBatch(data []byte) (out []batch, ok bool) {
	rest, ok := unseal(data)
	if !ok {
		return nil, false
	}
	var (
		w      batchWriter
		points []chunk.Point
		err    error
	)
	ok = eachBlockSince(rest, 0, func(tag, _ int64, block []byte) bool {
		if points, err = chunk.Decode(points[:0], 0, block); err != nil {
			return false
		}
		if w.tags > 0 && (w.full() || shardOf(tag) != w.shard) {
			out = append(out, w.finish())
		}
		if w.tags == 0 {
			w.base = points[0].Micros
		}
		w.add(tag, points)
		return true
	})
	if w.tags > 0 {
		out = append(out, w.finish())
	}
	return out, ok && err == nil
}
