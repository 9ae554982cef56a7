package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/history"
)

// fileStore is a history.Store in one file, with the required methods alone. alertingtest.TestHistoryStore proves it.
// It holds all records in memory, which suits some thousand.
type fileStore struct {
	mu      sync.RWMutex
	file    *os.File // a line of JSON for each history.Changes
	size    int64    // of the complete lines
	records map[alerting.RecordKey]alerting.Record
}

func openStore(path string) (*fileStore, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	s := &fileStore{file: file, records: make(map[alerting.RecordKey]alerting.Record)}
	if err := s.replay(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return s, nil
}

// replay applies the changes of earlier processes. An incomplete last line is left by a crash; for its change, Apply
// did not return nil.
func (s *fileStore) replay() error {
	lines := bufio.NewReader(s.file)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return s.cut()
		}
		if err != nil {
			return err
		}
		var c history.Changes
		if err := json.Unmarshal(line, &c); err != nil {
			return err
		}
		s.apply(c)
		s.size += int64(len(line))
	}
}

// cut removes what follows the last complete line.
func (s *fileStore) cut() error {
	if err := s.file.Truncate(s.size); err != nil {
		return err
	}
	_, err := s.file.Seek(s.size, io.SeekStart)
	return err
}

func (s *fileStore) close() error { return s.file.Close() }

// ApplyRecords implements history.Writer.
func (s *fileStore) ApplyRecords(ctx context.Context, c history.Changes) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	line, err := json.Marshal(c)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.file.Write(append(line, '\n')); err != nil {
		return errors.Join(err, s.cut())
	}
	if err := s.file.Sync(); err != nil { // a nil error promises that the changes survive
		return errors.Join(err, s.cut())
	}
	s.size += int64(len(line)) + 1
	s.apply(c)
	return nil
}

// apply ignores the ends in c: they are for the receiver of alerts, which needs history.ReceiverStore.
func (s *fileStore) apply(c history.Changes) {
	for _, r := range c.Add {
		r.Key = r.Key.Canonical()
		r.Labels, r.Annotations = maps.Clone(r.Labels), maps.Clone(r.Annotations)
		if _, exists := s.records[r.Key]; !exists {
			s.records[r.Key] = r
		}
	}
	for _, u := range c.Update {
		if r, ok := s.records[u.Key.Canonical()]; ok {
			r.Title, r.Description, r.Annotations, r.Truncated, r.Digest = u.Title, u.Description, maps.Clone(u.Annotations), u.Truncated, u.Digest
			s.records[r.Key] = r
		}
	}
	for _, done := range c.Complete {
		if r, ok := s.records[done.Key.Canonical()]; ok && r.CompletedAt.IsZero() {
			r.CompletedAt = done.At
			s.records[r.Key] = r
		}
	}
}

// Record implements history.Store.
func (s *fileStore) Record(ctx context.Context, id string) (alerting.Record, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, r := range s.records {
		if r.ID == id {
			return clone(r), ctx.Err()
		}
	}
	return alerting.Record{}, cmp.Or(ctx.Err(), error(history.ErrNotFound.On("id", id)))
}

// clone returns a record that shares no map with the store.
func clone(r alerting.Record) alerting.Record {
	r.Labels, r.Annotations = maps.Clone(r.Labels), maps.Clone(r.Annotations)
	return r
}

// Records implements history.Store.
func (s *fileStore) Records(ctx context.Context, f history.Filter, offset, limit int) ([]alerting.Record, int64, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var list []alerting.Record
	for _, r := range s.records {
		if selects(f, r) {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b alerting.Record) int { // the newest first
		return cmp.Or(b.Key.At.Compare(a.Key.At), strings.Compare(b.ID, a.ID))
	})
	total := len(list)
	list = list[min(offset, total):]
	list = list[:min(limit, len(list))]
	for i, r := range list {
		list[i] = clone(r.Brief())
	}
	return list, int64(total), ctx.Err()
}

// selects reports whether a filter selects a record.
func selects(f history.Filter, r alerting.Record) bool {
	state := history.Firing
	if !r.CompletedAt.IsZero() {
		state = history.Resolved
	}
	text := alarms.FoldCase(f.Text)
	switch {
	case !f.Severities.Has(r.Severity),
		f.State != "" && f.State != state,
		!f.From.IsZero() && r.Key.At.Before(f.From),
		!f.To.IsZero() && !r.Key.At.Before(f.To),
		!strings.Contains(history.FoldSource(r.Source), history.FoldSource(f.Source)),
		!strings.Contains(alarms.FoldCase(r.Title), text) && !strings.Contains(alarms.FoldCase(r.Description), text):
		return false
	}
	for name, value := range f.Labels {
		if got, ok := r.Labels[name]; !ok || got != value {
			return false
		}
	}
	return true
}
