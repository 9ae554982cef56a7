package hubs

import (
	"context"
	"log/slog"
	"time"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting/silences"
)

// Silences returns the silences there are. A [silences.Service] is one.
type Silences interface {
	// Index returns an index of the silences.
	Index(ctx context.Context) (*silences.Index, error)
}

// silenceTimeout is how long alarms wait for silences to be read.
const silenceTimeout = 2 * time.Second

// silenceReader reads silences, and returns those that it has read last when that takes too long. One goroutine at a time may use it.
type silenceReader struct {
	source Silences
	log    *slog.Logger

	last    *silences.Index
	reading chan readSilences // receives the result of a read that goes on; nil for none
	late    bool              // that read has timed out
	failing bool
}

type readSilences struct {
	index *silences.Index
	err   error
}

func newSilenceReader(source Silences, log *slog.Logger) *silenceReader {
	return &silenceReader{source: source, log: log, last: silences.NewIndex(nil)}
}

// read returns the silences for a time. It waits for at most silenceTimeout, and not at all while an earlier read still goes on.
func (r *silenceReader) read(ctx context.Context, now time.Time) activeSilences {
	if r.reading == nil {
		done := make(chan readSilences, 1)
		r.reading, r.late = done, false
		go func() { // Index may wait for a lock that another reader holds
			index, err := r.source.Index(ctx)
			done <- readSilences{index, err}
		}()
	}
	wait := silenceTimeout
	if r.late {
		wait = 0
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case got := <-r.reading:
		r.take(ctx, got)
	case <-timer.C:
		select {
		case got := <-r.reading:
			r.take(ctx, got)
		default:
			r.late = true
			r.note(ctx, context.DeadlineExceeded)
		}
	}
	return activeSilences{r.last, now}
}

func (r *silenceReader) take(ctx context.Context, got readSilences) {
	r.reading = nil
	if got.err == nil {
		r.last = got.index
	}
	r.note(ctx, got.err)
}

// note logs that reading begins to fail or resumes.
func (r *silenceReader) note(ctx context.Context, err error) {
	switch {
	case ctx.Err() != nil:
		return
	case err == nil && r.failing:
		r.log.Info("reading silences resumed")
	case err != nil && !r.failing:
		r.log.Error("failed to read silences; dashboards use those read last", "error", err)
	}
	r.failing = err != nil
}

// wait returns when no read goes on any more.
func (r *silenceReader) wait() {
	if r.reading != nil {
		<-r.reading
	}
}

// activeSilences are the silences at a time.
type activeSilences struct {
	index *silences.Index
	now   time.Time
}

func (a activeSilences) none() bool { return a.index.Len() == 0 }

// silence reports whether a silence holds for an occurrence now, or held when something happened to it.
func (a activeSilences) silence(o *alarms.Occurrence, at time.Time) bool {
	if a.index.Len() == 0 {
		return false
	}
	if _, holds := a.index.Match(o.SourceType, o.Source, a.now); holds {
		return true
	}
	_, held := a.index.Match(o.SourceType, o.Source, at)
	return held
}
