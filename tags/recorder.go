package tags

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// RecorderOptions configure a Recorder. The zero RecorderOptions work.
type RecorderOptions struct {
	Logger     *slog.Logger
	Now        func() time.Time
	FlushEvery time.Duration // longest time that a sample waits; default 1 s
	FlushAt    int           // samples that are stored at once when so many wait; default 5,000
	MaxWaiting int           // samples that wait while the store fails; beyond it the oldest are dropped; default 200,000
	MaxAge     time.Duration // retention; default 31 days, negative for no limit
	MaxBytes   int64         // retention; default 1 GiB, negative for no limit
	TrimEvery  time.Duration // default 10 minutes
}

// Recorder writes changes to a HistoryStore in batches. It never holds up who tells it: while the
// store is slow or full, samples wait up to a bound and the oldest are dropped and counted. Safe for
// concurrent use. Close must be called.
type Recorder struct {
	store HistoryStore
	o     RecorderOptions
	log   *slog.Logger

	wake   chan struct{}
	cancel context.CancelFunc
	done   chan struct{}

	mu      sync.Mutex
	waiting []HistorySample
	dropped uint64
	stored  uint64
	err     error // of the last flush
}

// RecorderStats tells how recording goes.
type RecorderStats struct {
	Stored  uint64 // samples stored
	Dropped uint64 // samples lost because the store did not take them for too long
	Waiting int
	Err     error // of the last attempt, nil when it succeeded
}

// NewRecorder starts a recorder.
func NewRecorder(store HistoryStore, o RecorderOptions) (*Recorder, error) {
	if store == nil {
		return nil, errors.New("tags: a Recorder needs a HistoryStore")
	}
	if o.FlushEvery < 0 || o.FlushAt < 0 || o.MaxWaiting < 0 || o.TrimEvery < 0 {
		return nil, errors.New("tags: RecorderOptions.FlushEvery, FlushAt, MaxWaiting and TrimEvery must not be negative")
	}
	o.FlushEvery = cmp.Or(o.FlushEvery, time.Second)
	o.FlushAt = cmp.Or(o.FlushAt, 5000)
	o.MaxWaiting = cmp.Or(o.MaxWaiting, 200_000)
	o.MaxAge = cmp.Or(o.MaxAge, 31*24*time.Hour)
	o.MaxBytes = cmp.Or(o.MaxBytes, 1<<30)
	o.TrimEvery = cmp.Or(o.TrimEvery, 10*time.Minute)
	if o.Now == nil {
		o.Now = time.Now
	}
	r := &Recorder{store: store, o: o, log: o.Logger, wake: make(chan struct{}, 1), done: make(chan struct{})}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	go r.run(ctx)
	return r, nil
}

// Observe takes changes over; it is made for Engine.Observe.
func (r *Recorder) Observe(changes []Change) {
	r.mu.Lock()
	for _, c := range changes {
		r.waiting = append(r.waiting, HistorySample{Tag: c.Tag.Name, Time: c.SourceTime, Value: c.Value, Quality: c.Quality, Reason: c.Reason})
	}
	r.bound()
	full := len(r.waiting) >= r.o.FlushAt
	r.mu.Unlock()
	if full {
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
}

// bound drops the oldest samples beyond MaxWaiting. They are cut off without moving the others, which
// would cost much for each change while the store fails; append moves them when it has to grow.
func (r *Recorder) bound() {
	if over := len(r.waiting) - r.o.MaxWaiting; over > 0 {
		r.waiting = r.waiting[over:]
		r.dropped += uint64(over)
	}
}

// Stats tells how recording goes.
func (r *Recorder) Stats() RecorderStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return RecorderStats{Stored: r.stored, Dropped: r.dropped, Waiting: len(r.waiting), Err: r.err}
}

// Flush stores what waits. The error is the store's; the samples then go on waiting.
func (r *Recorder) Flush(ctx context.Context) error {
	r.mu.Lock()
	batch := r.waiting
	r.waiting = nil
	r.mu.Unlock()
	if len(batch) == 0 {
		return nil
	}
	err := r.store.Append(ctx, batch)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.stored += uint64(len(batch))
	} else {
		r.waiting = append(batch, r.waiting...)
		r.bound()
	}
	if was := r.err; err != nil && was == nil {
		r.log.Error("tag history cannot be stored; samples wait", "waiting", len(r.waiting), "error", err)
	} else if err == nil && was != nil {
		r.log.Info("tag history is being stored again", "dropped", r.dropped)
	}
	r.err = err
	return err
}

// Close stores what waits, within ctx, and ends the recorder.
func (r *Recorder) Close(ctx context.Context) error {
	r.cancel()
	<-r.done
	return r.Flush(ctx)
}

func (r *Recorder) run(ctx context.Context) {
	defer close(r.done)
	flush, trim := time.NewTicker(r.o.FlushEvery), time.NewTicker(r.o.TrimEvery)
	defer flush.Stop()
	defer trim.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
			if r.Stats().Err != nil {
				continue // a failing store is tried again at the slower pace of the ticker
			}
		case <-flush.C:
		case <-trim.C:
			r.trim(ctx)
			continue
		}
		_ = r.Flush(ctx) // kept in Stats and logged there
	}
}

func (r *Recorder) trim(ctx context.Context) {
	before := time.Time{}
	if r.o.MaxAge > 0 {
		before = r.o.Now().Add(-r.o.MaxAge)
	}
	if err := r.store.Trim(ctx, before, max(r.o.MaxBytes, 0)); err != nil && ctx.Err() == nil {
		r.log.Error("old tag history cannot be removed", "error", err)
	}
}
