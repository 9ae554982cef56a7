package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/internal/canon"
	"github.com/otkit/otkit/fault"
)

// Limits of a page of records.
const (
	DefaultPageSize = 50
	MaxPageSize     = 100
)

// MaxSources is the largest number of sources that are counted.
const MaxSources = 10_000

// Service queries the records of alerts. Safe for concurrent use.
type Service struct {
	store      Store
	statistics Statistics // nil if the store has none
	trimmer    Trimmer    // nil if the store has none
}

// New returns a service over a store.
func New(store Store) (*Service, error) {
	if store == nil {
		return nil, errors.New("history: a store is required")
	}
	s := &Service{store: store}
	s.statistics, _ = store.(Statistics)
	s.trimmer, _ = store.(Trimmer)
	return s, nil
}

// Trim removes records that were completed before a time, if the store can.
func (h *Service) Trim(ctx context.Context, before time.Time) error {
	if h.trimmer == nil {
		return nil
	}
	return h.trimmer.TrimRecords(ctx, before)
}

// Page is one page of records.
type Page struct {
	Records    []alerting.Record // in their brief form, see [alerting.Record.Brief]
	Total      int               // of all that the filter selects
	Page       int
	PageSize   int
	TotalPages int64 // zero when there are no records
}

// List returns a page of the records that a filter selects, the newest first. Pages count from 1; a page after the last one is empty.
// If page or pageSize is below 1, List returns [alerting.ErrInvalidRequest]; if pageSize is above [MaxPageSize],
// [alerting.ErrPageSizeExceeded]; if From is not before To, [alerting.ErrInvalidTimeRange].
func (h *Service) List(ctx context.Context, f Filter, page, pageSize int) (Page, error) {
	switch {
	case page < 1:
		return Page{}, alerting.ErrInvalidRequest.Invalid(fault.Field{Field: "page", Message: "must be at least 1"})
	case pageSize < 1:
		return Page{}, alerting.ErrInvalidRequest.Invalid(fault.Field{Field: "pageSize", Message: "must be at least 1"})
	case pageSize > MaxPageSize:
		return Page{}, alerting.ErrPageSizeExceeded.Invalid(fault.Field{Field: "pageSize", Message: fmt.Sprintf("must be at most %d", MaxPageSize)})
	}
	if err := f.check(); err != nil {
		return Page{}, err
	}
	offset := (min(page, canon.MaxOffset/pageSize) - 1) * pageSize // as empty as the page asked for
	records, total, err := h.store.Records(ctx, f, offset, pageSize)
	if err != nil {
		return Page{}, err
	}
	if records == nil {
		records = []alerting.Record{}
	}
	size := int64(pageSize)
	return Page{Records: records, Total: int(total), Page: page, PageSize: pageSize, TotalPages: (total + size - 1) / size}, nil
}

func checkRange(from, to time.Time) error {
	if !from.IsZero() && !to.IsZero() && !from.Before(to) {
		return alerting.ErrInvalidTimeRange
	}
	return nil
}

// Get returns a record with its annotations. If id is unknown or not a GUID, Get returns [ErrNotFound].
func (h *Service) Get(ctx context.Context, id string) (alerting.Record, error) {
	guid, ok := canon.ID(id)
	if !ok {
		return alerting.Record{}, ErrNotFound.On("id", id)
	}
	return h.store.Record(ctx, guid)
}

// CountBySeverity counts the records raised in a range, half-open, where the zero time does not limit.
// Every severity has a row, the most severe first.
func (h *Service) CountBySeverity(ctx context.Context, from, to time.Time) ([]SeverityCount, error) {
	if err := checkRange(from, to); err != nil {
		return nil, err
	}
	if h.statistics == nil {
		return nil, ErrNoStatistics
	}
	found, err := h.statistics.CountBySeverity(ctx, from, to)
	if err != nil {
		return nil, err
	}
	counts := []SeverityCount{{Severity: alarms.Critical}, {Severity: alarms.Error}, {Severity: alarms.Warning}, {Severity: alarms.Info}}
	for _, c := range found {
		for i := range counts {
			if counts[i].Severity == c.Severity {
				counts[i].Count += c.Count
			}
		}
	}
	return counts, nil
}

// CountBySource counts the records raised in a range, half-open, where the zero time does not limit.
// The source with the most records comes first; equal ones are by name. There are at most [MaxSources].
func (h *Service) CountBySource(ctx context.Context, from, to time.Time) ([]SourceCount, error) {
	if err := checkRange(from, to); err != nil {
		return nil, err
	}
	if h.statistics == nil {
		return nil, ErrNoStatistics
	}
	counts, err := h.statistics.CountBySource(ctx, from, to)
	if err != nil {
		return nil, err
	}
	counts = slices.Clone(counts)
	slices.SortFunc(counts, compareSources)
	if counts == nil {
		counts = []SourceCount{}
	}
	return counts, nil
}

func compareSources(a, b SourceCount) int {
	return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Source, b.Source))
}
