package server

import (
	"context"
	"time"
)

// A write waits for its driver far less than lostWrites. One that is queued for longer is of an engine
// that shares the database and has ended.
const (
	lostWrites   = 15 * time.Minute
	settleWrites = 10 * time.Minute
	trimEvery    = time.Hour
)

// startUpkeep keeps what the stores hold in bounds while the server runs.
func (s *Server) startUpkeep() {
	if store, ok := s.opts.Stores.Writes.(interface {
		Trim(ctx context.Context, before time.Time) error
	}); ok {
		s.wg.Go(func() {
			s.repeat(trimEvery, "old outcomes of writes cannot be removed", func(ctx context.Context) error {
				return store.Trim(ctx, s.opts.Now().Add(-s.opts.WriteLogMaxAge))
			})
		})
	}
	s.wg.Go(func() {
		s.repeat(trimEvery, "old alarms cannot be removed", func(ctx context.Context) error {
			return s.room.service.Trim(ctx, s.opts.Now().Add(-s.opts.AlarmMaxAge))
		})
	})
	s.wg.Go(func() {
		s.repeat(trimEvery, "old records of alerts cannot be removed", func(ctx context.Context) error {
			return s.opts.Stores.AlertHistory.TrimRecords(ctx, s.opts.Now().Add(-s.opts.Alerting.HistoryMaxAge))
		})
	})
	if store, ok := s.opts.Stores.Writes.(interface {
		MarkUnfinished(ctx context.Context, before time.Time) (int64, error)
	}); ok {
		s.wg.Go(func() {
			s.repeat(settleWrites, "writes without an outcome cannot be settled", func(ctx context.Context) error {
				n, err := store.MarkUnfinished(ctx, s.opts.Now().Add(-lostWrites))
				if n > 0 {
					s.log.Warn("tag writes of an engine that has ended have no known outcome; they are not repeated", "writes", n)
				}
				return err
			})
		})
	}
}

// repeat does something every so often until the server stops.
func (s *Server) repeat(every time.Duration, failure string, do func(ctx context.Context) error) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-s.stopping.Done():
			return
		case <-ticker.C:
		}
		if err := do(s.stopping); err != nil && s.stopping.Err() == nil {
			s.log.Error(failure, "error", err)
		}
	}
}
