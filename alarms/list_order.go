package alarms

import (
	"context"

	"github.com/otkit/otkit/fault"
)

// ListOrder is the order of a list.
type ListOrder string

// The orders of lists.
const (
	OrderNewest   ListOrder = "newest"   // newest first
	OrderPriority ListOrder = "priority" // unacknowledged first, then the most severe, then the newest
)

// check returns an ErrInvalidRequest for an order that there is not.
func (o ListOrder) check() error {
	switch o {
	case "", OrderNewest, OrderPriority:
		return nil
	}
	return ErrInvalidRequest.Invalid(fault.Field{Field: "sort", Message: "must be newest or priority"})
}

// byPriority returns a page of what a query selects in the order of priority. It puts the page together from lists that are in the
// order of time, one for each rank, and passes over those before the page by their counts.
func (s *Service) byPriority(ctx context.Context, q Query) (Page, error) {
	whole := Page{Occurrences: []Occurrence{}}
	skip, room := q.Offset, q.Limit
	for rank := range 8 {
		severity := Critical - Severity(rank%4)
		one := q
		one.Unacknowledged, one.Acknowledged = rank < 4, rank >= 4
		if q.Unacknowledged && one.Acknowledged || !q.Severities.Has(severity) {
			continue
		}
		one.Severities, one.Offset, one.Limit = SetOf(severity), skip, room
		page, err := s.occurrences(ctx, one, false)
		if err != nil {
			return Page{}, err
		}
		whole.Occurrences = append(whole.Occurrences, page.Occurrences...)
		whole.Total += page.Total
		skip, room = max(0, skip-page.Total), room-len(page.Occurrences)
	}
	return whole, nil
}
