package tagsapi

import (
	"context"
	"strings"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/tagsapi/internal/gen"
)

// ListTags implements GET /api/v1/tags.
func (t *handlers) ListTags(_ context.Context, r gen.ListTagsRequestObject) (gen.ListTagsResponseObject, error) {
	q, err := listQuery(&r.Params)
	if err != nil {
		return nil, err
	}
	wanted, err := membersOf(r.Params.Fields)
	if err != nil {
		return nil, err
	}
	list, total, err := t.engine.List(q)
	if err != nil {
		return nil, err
	}
	return tagList{tags: list, total: total, wanted: wanted}, nil
}

func listQuery(p *gen.ListTagsParams) (q tags.ListQuery, err error) {
	q = tags.ListQuery{Driver: p.DriverFilter, Pattern: p.NamePattern, Text: p.Text}
	if q.Page, q.PageSize, err = paging(p.Page, p.PageSize); err != nil {
		return q, err
	}
	if p.DriverID != "" {
		if q.Driver != "" && q.Driver != p.DriverID {
			return q, invalid("driverId", "must be the same as driverFilter, or left out")
		}
		q.Driver = p.DriverID
	}
	for _, text := range p.Quality {
		quality, err := tags.ParseQuality(string(text))
		if err != nil {
			return q, invalid("quality", "must be of Good, Uncertain, Bad")
		}
		q.Qualities |= tags.Qualities(quality)
	}
	var known bool
	if q.Sort, q.Descending, known = sortBy(p.Sort); !known {
		return q, invalid("sort", "must be name, timestamp, quality or driver, with - in front for descending")
	}
	return q, nil
}

// ListWrites implements GET /api/v1/tags/writes.
func (t *handlers) ListWrites(ctx context.Context, r gen.ListWritesRequestObject) (gen.ListWritesResponseObject, error) {
	p := &r.Params
	q := tags.WriteListQuery{WriteFilter: tags.WriteFilter{Driver: p.DriverID, Tag: p.TagName, Address: p.Address, By: p.RequestedBy, Start: p.Start, End: p.End}}
	for _, state := range p.State {
		q.States = append(q.States, tags.WriteState(state))
	}
	var err error
	if q.Page, q.PageSize, err = paging(p.Page, p.PageSize); err != nil {
		return nil, err
	}
	page, err := t.engine.ListWrites(ctx, q)
	if err != nil {
		return nil, err
	}
	answer := gen.ListWrites200JSONResponse{Writes: make([]gen.Write, len(page.Writes)), TotalCount: page.Total}
	for i, w := range page.Writes {
		answer.Writes[i] = writeOf(w)
	}
	return answer, nil
}

func invalid(field, message string) error {
	return tags.ErrInvalidRequest.Invalid(fault.Field{Field: field, Message: message})
}

var sorts = map[string]tags.ListSort{"name": tags.SortNatural, "timestamp": tags.SortSourceTime, "quality": tags.SortQuality, "driver": tags.SortDriver}

func sortBy(text string) (by tags.ListSort, descending, known bool) {
	if text == "" {
		return tags.SortName, false, true
	}
	text, descending = strings.CutPrefix(text, "-")
	by, known = sorts[text]
	return by, descending, known
}
