package rules

import (
	"context"

	"github.com/otkit/otkit/alarms"
)

// Page returns a page of the rules by ID, and the number of all. If tag is not empty, only rules on that tag count.
// Pages count from 1 and have 1..500 rules. The errors are ErrPageSizeExceeded and ErrInvalidRequest.
func (r *Service) Page(ctx context.Context, tag string, page, size int) ([]Rule, int, error) {
	offset, limit, err := (&alarms.ListQuery{Page: page, PageSize: size}).Window()
	if err != nil {
		return nil, 0, err
	}
	q := Query{Tag: tag, Offset: offset, Limit: limit}
	if pager, ok := r.store.(Pager); ok {
		return pager.RulePage(ctx, q)
	}
	return rulePage(ctx, r.store, q)
}
