package history

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/otkit/otkit/internal/wake"
	"github.com/otkit/otkit/tags"
)

// RecorderOptions configure a Recorder. The zero RecorderOptions work.
type RecorderOptions struct {
	Logger        *slog.Logger
	Now           func() time.Time
	FlushInterval time.Duration // longest time that a sample stays in memory; default 1 s
	FlushSize     int           // pending samples that trigger a flush; default 50,000
	MaxPending    int           // pending samples beyond which the oldest are dropped; default 500,000
	MaxAge        time.Duration // retention; default 31 days, negative for no limit
	MaxBytes      int64         // retention; default 1 GiB, negative for no limit
	TrimInterval  time.Duration // default 10 minutes; negative: only Trim trims
}

// maxFlush limits the samples of one call of the store.
const maxFlush = 100_000

// DropReason is why samples were lost.
type DropReason string

// The reasons why samples are lost.
const (
	DropStoreFailed DropReason = "store-failed" // the store returned errors for too long
	DropStoreSlow   DropReason = "store-slow"   // the store took them too slowly
)

// DropReasons returns the reasons why samples are lost.
func DropReasons() []DropReason { return []DropReason{DropStoreFailed, DropStoreSlow} }

// Recorder writes changes to a Store in batches. It never blocks its callers: while the store is slow or full, samples are pending
// up to a limit; then the oldest are dropped, counted and logged. Trimming runs concurrently with flushing. It is safe for concurrent
// use. Close must be called.
type Recorder struct {
	store Store
	o     RecorderOptions
	log   *slog.Logger

	wake   wake.Signal
	cancel context.CancelFunc
	wg     sync.WaitGroup // flushing and trimming

	mu       sync.Mutex
	pending  []Sample
	dropped  map[DropReason]uint64
	lastDrop time.Time
	stored   uint64
	err      error // of the last flush

	logged   uint64    // dropped samples that the log has
	loggedAt time.Time // of the last line
}

// RecorderStats are statistics of a Recorder.
type RecorderStats struct {
	Stored    uint64                // samples stored
	Dropped   uint64                // samples lost, for any reason
	DroppedBy map[DropReason]uint64 // the same by reason; nil when none were lost
	LastDrop  time.Time             // when samples were lost last; zero when none were
	Pending   int
	Err       error // of the last attempt, nil when it succeeded
}

// NewRecorder starts a recorder.
func NewRecorder(store Store, o RecorderOptions) (*Recorder, error) {
	if store == nil {
		return nil, errors.New("history: NewRecorder needs a Store")
	}
	if o.FlushInterval < 0 || o.FlushSize < 0 || o.MaxPending < 0 {
		return nil, errors.New("history: RecorderOptions.FlushInterval, FlushSize and MaxPending must not be negative")
	}
	o.FlushInterval = cmp.Or(o.FlushInterval, time.Second)
	o.FlushSize = cmp.Or(o.FlushSize, 50_000)
	o.MaxPending = cmp.Or(o.MaxPending, 500_000)
	o.MaxAge = cmp.Or(o.MaxAge, 31*24*time.Hour)
	o.MaxBytes = cmp.Or(o.MaxBytes, 1<<30)
	o.TrimInterval = cmp.Or(o.TrimInterval, 10*time.Minute)
	if o.Now == nil {
		o.Now = time.Now
	}
	r := &Recorder{store: store, o: o, log: o.Logger, wake: wake.NewSignal(), dropped: make(map[DropReason]uint64)}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	r.wg.Go(func() { r.flushEvery(ctx) })
	if o.TrimInterval > 0 {
		r.wg.Go(func() { r.trimEvery(ctx) })
	}
	return r, nil
}

// Observe records changes. Pass it to Engine.Observe. Changes that are Recorded or Remote are skipped: others record them.
func (r *Recorder) Observe(changes []tags.Change) {
	r.mu.Lock()
	for i := range changes {
		if !changes[i].Recorded && !changes[i].Remote {
			r.pending = append(r.pending, sampleOf(&changes[i]))
		}
	}
	r.bound()
	full := len(r.pending) >= r.o.FlushSize
	line := r.dropLine()
	r.mu.Unlock()
	line()
	if full {
		r.wake.Set()
	}
}

// bound drops the oldest samples beyond MaxPending. They are cut off without moving the others, which
// would cost much for each change while the store fails; append moves them when it has to grow.
func (r *Recorder) bound() {
	if over := len(r.pending) - r.o.MaxPending; over > 0 {
		r.pending = r.pending[over:]
		reason := DropStoreSlow
		if r.err != nil {
			reason = DropStoreFailed
		}
		r.drop(reason, over)
	}
}

func (r *Recorder) drop(reason DropReason, n int) {
	r.dropped[reason] += uint64(n)
	r.lastDrop = r.o.Now()
}

// dropLogInterval is the shortest time between two lines of the log about dropped samples.
const dropLogInterval = 10 * time.Second

// dropLine returns a function that logs the samples that were dropped since the last line: the first immediately, then one line in each
// interval. Call dropLine with the lock held, and the function without it.
func (r *Recorder) dropLine() func() {
	total := r.totalDropped()
	if total == r.logged || time.Since(r.loggedAt) < dropLogInterval {
		return func() {}
	}
	attrs := []any{"samples", total - r.logged, "total", total, "waiting", len(r.pending)}
	for _, reason := range DropReasons() {
		if n := r.dropped[reason]; n > 0 {
			attrs = append(attrs, string(reason), n)
		}
	}
	if r.err != nil {
		attrs = append(attrs, "error", r.err)
	}
	r.logged, r.loggedAt = total, time.Now()
	return func() { r.log.Error("samples of tag history dropped", attrs...) }
}

func (r *Recorder) totalDropped() (total uint64) {
	for _, n := range r.dropped {
		total += n
	}
	return total
}

// Stats returns statistics.
func (r *Recorder) Stats() RecorderStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := RecorderStats{Stored: r.stored, Dropped: r.totalDropped(), LastDrop: r.lastDrop, Pending: len(r.pending), Err: r.err}
	if s.Dropped > 0 {
		s.DroppedBy = maps.Clone(r.dropped)
	}
	return s
}

// Flush stores the pending samples. If the store returns an error, Flush returns it, and the samples remain pending.
func (r *Recorder) Flush(ctx context.Context) error {
	for {
		r.mu.Lock()
		n := min(len(r.pending), maxFlush)
		batch, rest := r.pending[:n:n], r.pending[n:]
		if r.pending = rest; len(rest) == 0 {
			r.pending = nil
		}
		line := r.dropLine()
		r.mu.Unlock()
		line()
		if n == 0 {
			return nil
		}
		if err := r.append(ctx, batch); err != nil || len(rest) == 0 {
			return err
		}
	}
}

// append stores a batch, or makes it pending again.
func (r *Recorder) append(ctx context.Context, batch []Sample) error {
	err := r.store.Append(ctx, batch)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil && errors.Is(ctx.Err(), context.Canceled) { // by Close, which stores them: the store has not failed
		r.pending = append(batch, r.pending...)
		r.bound()
		return err
	}
	was := r.err
	r.err = err
	if err == nil {
		r.stored += uint64(len(batch))
	} else {
		r.pending = append(batch, r.pending...)
		r.bound()
		r.dropLine()()
	}
	if err != nil && was == nil {
		r.log.Error("failed to store tag history; retrying", "waiting", len(r.pending), "error", err)
	} else if err == nil && was != nil {
		r.log.Info("storing of tag history resumed", "dropped", r.totalDropped())
	}
	return err
}

// Close stores the pending samples until ctx ends, and ends the recorder. If the store fails, the samples remain pending for another
// call of Close or Flush.
func (r *Recorder) Close(ctx context.Context) error {
	r.cancel()
	r.wg.Wait()
	err := r.Flush(ctx)
	if s := r.Stats(); err != nil && s.Pending > 0 {
		r.log.Error("failed to store tag history at shutdown", "samples", s.Pending, "error", err)
	}
	return err
}

func (r *Recorder) flushEvery(ctx context.Context) {
	tick := time.NewTicker(r.o.FlushInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wake.C():
			if r.Stats().Err != nil {
				continue // a failing store is tried again at the slower pace of the ticker
			}
		case <-tick.C:
		}
		_ = r.Flush(ctx) // kept in Stats and logged there
	}
}

// trimEvery trims beside flushing: removing may take long, and may wait for other work of the store.
func (r *Recorder) trimEvery(ctx context.Context) {
	tick := time.NewTicker(r.o.TrimInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := r.Trim(ctx); err != nil && ctx.Err() == nil {
				r.log.Error("failed to remove old tag history", "error", err)
			}
		}
	}
}

// Trim removes what exceeds RecorderOptions.MaxAge and MaxBytes.
func (r *Recorder) Trim(ctx context.Context) error {
	before := time.Time{}
	if r.o.MaxAge > 0 {
		before = r.o.Now().Add(-r.o.MaxAge)
	}
	return r.store.Trim(ctx, before, max(r.o.MaxBytes, 0))
}
