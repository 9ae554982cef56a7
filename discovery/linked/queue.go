package linked

import (
	"sync"

	"github.com/otkit/otkit/discovery/link"
)

// queue holds the batches that are not acknowledged. Its bound is the window of the link.
type queue struct {
	mu      sync.Mutex
	batches []*link.Batch
	bytes   int
	more    chan struct{} // closed, and made again, when a batch is added
	last    uint64        // of the batch that was added last
}

func newQueue() *queue { return &queue{more: make(chan struct{})} }

// maxEntry is the largest number of an entry: numbers are stored as signed ones.
const maxEntry = 1 << 62

func (q *queue) add(b *link.Batch) error {
	switch {
	case b.Count < 1 || b.Count > link.MaxCount:
		return link.ErrProtocol.Because("a batch has %d entries, 1 to %d are allowed", b.Count, link.MaxCount)
	case b.First < 1 || b.First > maxEntry:
		return link.ErrProtocol.Because("a batch begins with entry %d, 1 to %d are allowed", b.First, uint64(maxEntry))
	case b.Late < 0 || b.Late > b.Count:
		return link.ErrProtocol.Because("%d of %d entries of a batch are late", b.Late, b.Count)
	case len(b.Data) > link.MaxData:
		return link.ErrProtocol.Because("a batch has %d bytes of data, at most %d are allowed", len(b.Data), link.MaxData)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.batches) >= link.MaxUnackedBatches || q.bytes+len(b.Data) > link.MaxUnackedBytes {
		return link.ErrProtocol.Because("more than %d batches or %d bytes are not acknowledged", link.MaxUnackedBatches, link.MaxUnackedBytes)
	}
	q.batches, q.bytes, q.last = append(q.batches, b), q.bytes+len(b.Data), max(q.last, b.Last())
	close(q.more)
	q.more = make(chan struct{})
	return nil
}

// peek returns the leading batches, which stay in the queue, with about limit entries together, or a channel that is closed when there may be one.
func (q *queue) peek(limit int) ([]*link.Batch, <-chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n, entries := 0, 0
	for n < len(q.batches) && (n == 0 || entries+q.batches[n].Count <= limit) {
		entries += q.batches[n].Count
		n++
	}
	return q.batches[:n:n], q.more
}

// remove removes the leading batches.
func (q *queue) remove(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, b := range q.batches[:n] {
		q.bytes -= len(b.Data)
	}
	q.batches = append([]*link.Batch(nil), q.batches[n:]...)
}

// newest returns the number of the last entry that was received.
func (q *queue) newest() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.last
}
