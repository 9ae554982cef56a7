package alerting

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/fault"
)

// Limits of a page of records.
const (
	DefaultPageSize = 50
	MaxPageSize     = 100
)

// History reads the records of alerts. Safe for concurrent use.
type History struct{ store HistoryStore }

// NewHistory makes the service over a store.
func NewHistory(store HistoryStore) (*History, error) {
	if store == nil {
		return nil, errors.New("alerting: a history needs a store")
	}
	return &History{store}, nil
}

// RecordPage is one page of records.
type RecordPage struct {
	Records    []Record // without annotations
	TotalCount int64
	Page       int
	PageSize   int
	TotalPages int64 // zero when there are no records
}

// List gives a page of the records that a filter chooses, the newest first. Pages count from 1; a page
// after the last one is empty. A page below 1 or a size out of 1..[MaxPageSize] is
// [ErrInvalidRequest] or [ErrPageSizeExceeded], a filter whose From is not before its To
// [ErrInvalidTimeRange].
func (h *History) List(ctx context.Context, f RecordFilter, page, pageSize int) (RecordPage, error) {
	switch {
	case page < 1:
		return RecordPage{}, ErrInvalidRequest.Invalid(fault.Field{Field: "page", Message: "must be at least 1"})
	case pageSize < 1:
		return RecordPage{}, ErrInvalidRequest.Invalid(fault.Field{Field: "pageSize", Message: "must be at least 1"})
	case pageSize > MaxPageSize:
		return RecordPage{}, ErrPageSizeExceeded.Invalid(fault.Field{Field: "pageSize", Message: fmt.Sprintf("must be at most %d", MaxPageSize)})
	}
	if err := checkRange(f.From, f.To); err != nil {
		return RecordPage{}, err
	}
	offset := (min(page, maxOffset/pageSize) - 1) * pageSize // as empty as the page asked for
	records, total, err := h.store.Records(ctx, f, offset, pageSize)
	if err != nil {
		return RecordPage{}, err
	}
	if records == nil {
		records = []Record{}
	}
	size := int64(pageSize)
	return RecordPage{Records: records, TotalCount: total, Page: page, PageSize: pageSize, TotalPages: (total + size - 1) / size}, nil
}

// maxOffset keeps the product of page and size a number that every store can take.
const maxOffset = 1 << 31

func checkRange(from, to time.Time) error {
	if !from.IsZero() && !to.IsZero() && !from.Before(to) {
		return ErrInvalidTimeRange
	}
	return nil
}

// Get gives a record with its annotations. An id that is unknown or no GUID is [ErrRecordNotFound].
func (h *History) Get(ctx context.Context, id string) (Record, error) {
	guid, ok := canonicalID(id)
	if !ok {
		return Record{}, ErrRecordNotFound.On("id", id)
	}
	return h.store.Record(ctx, guid)
}

// CountBySeverity counts the records raised in a range, half-open, where the zero time does not limit.
// Every severity has a row, the gravest first.
func (h *History) CountBySeverity(ctx context.Context, from, to time.Time) ([]SeverityCount, error) {
	if err := checkRange(from, to); err != nil {
		return nil, err
	}
	found, err := h.store.CountBySeverity(ctx, from, to)
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
// The source with the most records comes first; equal ones are by name.
func (h *History) CountBySource(ctx context.Context, from, to time.Time) ([]SourceCount, error) {
	if err := checkRange(from, to); err != nil {
		return nil, err
	}
	counts, err := h.store.CountBySource(ctx, from, to)
	if err != nil {
		return nil, err
	}
	counts = slices.Clone(counts)
	slices.SortFunc(counts, func(a, b SourceCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Source, b.Source))
	})
	if counts == nil {
		counts = []SourceCount{}
	}
	return counts, nil
}
