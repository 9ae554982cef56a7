package bridge

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"github.com/otkit/otkit/discovery/link"
)

// Limits of a memory buffer.
const (
	DefaultMemoryEntries = 10_000
	maxMemoryBytes       = 16 << 20 // of data: entries can be long texts
)

// memoryBuffer is a Buffer for a bridge without a disk.
type memoryBuffer struct {
	limit int

	mu     sync.Mutex
	blocks []timedBlock
	names  []string
	stats  BufferStats
}

type timedBlock struct {
	link.Block
	at time.Time
}

// NewMemoryBuffer returns a buffer that keeps the newest entries, about limit of them, in memory; DefaultMemoryEntries if limit is not positive. They
// are lost when the process ends.
func NewMemoryBuffer(limit int) Buffer {
	if limit <= 0 {
		limit = DefaultMemoryEntries
	}
	return &memoryBuffer{limit: limit, stats: BufferStats{Epoch: rand.Text()}}
}

func (m *memoryBuffer) Append(_ context.Context, epoch string, blocks []link.Block) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if epoch != m.stats.Epoch {
		return ErrEpoch
	}
	if err := ValidateBlocks(m.stats.Last, blocks); err != nil {
		return err
	}
	now := time.Now()
	for _, b := range blocks {
		m.blocks = append(m.blocks, timedBlock{b, now})
		m.stats.Entries += uint64(b.Count)
		m.stats.Bytes += int64(len(b.Data))
		m.stats.Last = b.Last()
	}
	n := 0
	for ; n < len(m.blocks)-1 && (m.stats.Entries > uint64(m.limit) || m.stats.Bytes > maxMemoryBytes); n++ {
		m.stats.Dropped += uint64(m.blocks[n].Count)
		m.forget(&m.blocks[n].Block)
	}
	m.cut(n)
	return nil
}

// forget takes a block out of the counters.
func (m *memoryBuffer) forget(b *link.Block) {
	m.stats.Entries -= uint64(b.Count)
	m.stats.Bytes -= int64(len(b.Data))
}

// cut removes the first n blocks, which forget has counted.
func (m *memoryBuffer) cut(n int) {
	clear(m.blocks[:n])
	m.blocks = m.blocks[n:]
}

func (m *memoryBuffer) Peek(_ context.Context, epoch string, after uint64, maxBytes int) ([]link.Block, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if epoch != m.stats.Epoch {
		return nil, ErrEpoch
	}
	var out []link.Block
	for i := range m.blocks {
		b := &m.blocks[i].Block
		if b.Last() <= after {
			continue
		}
		if maxBytes -= len(b.Data); maxBytes < 0 && len(out) > 0 {
			break
		}
		out = append(out, *b)
	}
	return out, nil
}

func (m *memoryBuffer) Ack(_ context.Context, epoch string, through uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if epoch != m.stats.Epoch {
		return ErrEpoch
	}
	n := 0
	for ; n < len(m.blocks) && m.blocks[n].Last() <= through; n++ {
		m.forget(&m.blocks[n].Block)
	}
	m.cut(n)
	return nil
}

func (m *memoryBuffer) Renew(_ context.Context, after uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	after = min(after, m.stats.Last)
	m.blocks = append([]timedBlock(nil), m.blocks...)
	for len(m.blocks) > 0 && m.blocks[0].First <= after {
		m.forget(&m.blocks[0].Block)
		m.cut(1)
	}
	for i := range m.blocks {
		m.blocks[i].First -= after
	}
	m.stats = BufferStats{Epoch: rand.Text(), Last: m.stats.Last - after, Entries: m.stats.Entries, Bytes: m.stats.Bytes}
	return nil
}

func (m *memoryBuffer) Names(context.Context) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.names...), nil
}

func (m *memoryBuffer) AddNames(_ context.Context, names []string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.names = append(m.names, names...)
	return nil
}

func (m *memoryBuffer) Epoch() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stats.Epoch
}

func (m *memoryBuffer) Stats(context.Context) (BufferStats, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.stats
	if len(m.blocks) > 0 {
		s.First, s.Oldest = m.blocks[0].First, m.blocks[0].at
	}
	return s, nil
}

func (m *memoryBuffer) Close(context.Context) error { return nil }
