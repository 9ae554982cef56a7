package audit

import (
	"strconv"

	"github.com/otkit/otkit/fault"
)

// maxFilter is the longest filter in bytes.
const maxFilter = 1024

func (q Query) checked() (Query, error) {
	var bad []fault.Field
	for _, f := range []struct{ name, value string }{{"actor", q.Actor}, {"action", q.Action}, {"object", q.Object}} {
		if len(f.value) > maxFilter {
			bad = append(bad, fault.Field{Field: f.name, Message: "must have at most " + strconv.Itoa(maxFilter) + " bytes"})
		}
	}
	if q.Outcome != "" && !q.Outcome.Valid() {
		bad = append(bad, fault.Field{Field: "outcome", Message: "must be pending, succeeded, failed, refused or unknown"})
	}
	if q.Limit == 0 {
		q.Limit = 50
	}
	if q.Limit > MaxPage {
		return q, ErrPageSizeExceeded.Invalid(fault.Field{Field: "pageSize", Message: "must be at most " + strconv.Itoa(MaxPage)})
	}
	if q.Limit < 0 {
		bad = append(bad, fault.Field{Field: "pageSize", Message: "must be at least 1"})
	}
	if q.Offset < 0 {
		bad = append(bad, fault.Field{Field: "page", Message: "must be at least 1"})
	}
	switch {
	case len(bad) > 0:
		return q, ErrInvalidQuery.Invalid(bad...)
	case !q.From.IsZero() && !q.To.IsZero() && !q.From.Before(q.To):
		return q, ErrInvalidTimeRange
	}
	return q, nil
}
