package logging

import (
	"io"
	"sync"
	"time"
)

const (
	batchSize     = 32 << 10               // bytes of lines that are written together
	batchInterval = 100 * time.Millisecond // how long a line waits at most
)

// Batch writes lines of requests together: a system call for each took a tenth of a request's time. Every other line is
// written immediately, and with it what waits, so that the order stays. A process that is killed (SIGKILL, a crash) loses
// the lines of requests of the last 100 ms; Close writes them. Safe for concurrent use.
type Batch struct {
	out io.Writer

	mu      sync.Mutex
	waiting []byte
	timer   *time.Timer // runs while something waits
	closed  bool        // lines are written immediately
}

// NewBatch returns a Batch that writes to out.
func NewBatch(out io.Writer) *Batch { return &Batch{out: out} }

// Write writes what waits, and line.
func (b *Batch) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting) == 0 {
		return b.out.Write(line)
	}
	b.waiting = append(b.waiting, line...)
	return len(line), b.flush()
}

// later lets a line wait.
func (b *Batch) later(line []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting = append(b.waiting, line...); len(b.waiting) >= batchSize || b.closed {
		_ = b.flush() // as slog does: a log that cannot be written is not logged
		return
	}
	if len(b.waiting) > len(line) {
		return
	}
	if b.timer == nil {
		b.timer = time.AfterFunc(batchInterval, func() { _ = b.Flush() })
		return
	}
	b.timer.Reset(batchInterval)
}

// Flush writes what waits.
func (b *Batch) Flush() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.flush()
}

func (b *Batch) flush() error {
	if len(b.waiting) == 0 {
		return nil
	}
	_, err := b.out.Write(b.waiting)
	b.waiting = b.waiting[:0]
	if cap(b.waiting) > 2*batchSize { // one line was very long
		b.waiting = nil
	}
	return err
}

// Close writes what waits and lets later lines wait no more. The writer beneath stays open.
func (b *Batch) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if b.timer != nil {
		b.timer.Stop()
	}
	return b.flush()
}
