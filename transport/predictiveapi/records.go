package predictiveapi

import (
	"context"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/predictive/recordcsv"
	"github.com/otkit/otkit/transport/internal/restapi"
	"github.com/otkit/otkit/transport/predictiveapi/internal/gen"
)

var (
	errPageSize  = fault.New(fault.Invalid, "PAGE_SIZE_EXCEEDED", "limit is above its maximum")
	errTimeRange = fault.New(fault.Invalid, "INVALID_TIME_RANGE", "start must be before end")
)

const (
	maxPage   = 1000
	maxOffset = 10_000_000
)

// queryOf returns the query of a list.
func queryOf(equipment, component string, from, to time.Time, offset int, limit *int) (predictive.RecordQuery, error) {
	q := predictive.RecordQuery{EquipmentID: equipment, Component: component, From: from, To: to, Offset: offset, Limit: restapi.Or(limit, 100), Count: true}
	var bad []fault.Field
	for _, p := range [...]struct{ name, value string }{{"equipmentId", equipment}, {"component", component}} {
		if !utf8.ValidString(p.value) || strings.ContainsRune(p.value, 0) {
			bad = append(bad, fault.Field{Field: p.name, Message: "must be UTF-8 without zero bytes"})
		}
	}
	if offset < 0 || offset > maxOffset {
		bad = append(bad, fault.Field{Field: "offset", Message: "must be 0 to 10000000"})
	}
	if q.Limit < 1 {
		bad = append(bad, fault.Field{Field: "limit", Message: "must be 1 to 1000"})
	}
	switch {
	case len(bad) > 0:
		return q, predictive.ErrInvalidRequest.Invalid(bad...)
	case q.Limit > maxPage:
		return q, errPageSize.Invalid(fault.Field{Field: "limit", Message: "must be 1 to 1000"})
	case !from.IsZero() && !to.IsZero() && !from.Before(to):
		return q, errTimeRange
	}
	return q, nil
}

// ListFailures implements GET .../failures.
func (h *handlers) ListFailures(ctx context.Context, r gen.ListFailuresRequestObject) (gen.ListFailuresResponseObject, error) {
	p := r.Params
	q, err := queryOf(p.EquipmentID, p.Component, p.Start, p.End, p.Offset, p.Limit)
	if err != nil {
		return nil, err
	}
	if wantsCSV(ctx) {
		return h.download(ctx, "failures.csv", func(ctx context.Context, w io.Writer) error {
			return recordcsv.WriteFailures(w, recordcsv.Failures(ctx, h.failures.store, q))
		}), nil
	}
	page, err := h.failures.store.Failures(ctx, q)
	if err != nil {
		return nil, err
	}
	answer := gen.ListFailures200JSONResponse{Items: make([]gen.Failure, len(page.Items)), TotalCount: page.Total, Offset: q.Offset, Limit: q.Limit}
	for i, f := range page.Items {
		answer.Items[i] = failureOf(f)
	}
	return answer, nil
}

// AddFailures implements POST .../failures.
func (h *handlers) AddFailures(ctx context.Context, r gen.AddFailuresRequestObject) (gen.AddFailuresResponseObject, error) {
	var one *predictive.Failure
	if b := r.JSONBody; b != nil {
		one = &predictive.Failure{ID: b.ID, EquipmentID: b.EquipmentID, Component: b.Component, Code: b.Code, Source: predictive.SourceManual, Note: b.Note,
			Start: stored(b.Start), Noticed: stored(b.Noticed), End: stored(b.End)}
	}
	done, warning, err := h.failures.post(ctx, one, r.Body)
	switch {
	case err != nil:
		return nil, err
	case r.Body != nil:
		return gen.AddFailures200JSONResponse(done), nil
	}
	answer := failureOf(*one)
	answer.Warning = warning
	return gen.AddFailures201JSONResponse(answer), nil
}

// DeleteFailure implements DELETE .../failures/{id}.
func (h *handlers) DeleteFailure(ctx context.Context, r gen.DeleteFailureRequestObject) (gen.DeleteFailureResponseObject, error) {
	if err := h.failures.store.DeleteFailure(ctx, r.ID); err != nil {
		return nil, err
	}
	return gen.DeleteFailure204Response{}, nil
}

// ListReplacements implements GET .../replacements.
func (h *handlers) ListReplacements(ctx context.Context, r gen.ListReplacementsRequestObject) (gen.ListReplacementsResponseObject, error) {
	p := r.Params
	q, err := queryOf(p.EquipmentID, p.Component, p.Start, p.End, p.Offset, p.Limit)
	if err != nil {
		return nil, err
	}
	if wantsCSV(ctx) {
		return h.download(ctx, "replacements.csv", func(ctx context.Context, w io.Writer) error {
			return recordcsv.WriteReplacements(w, recordcsv.Replacements(ctx, h.replacements.store, q))
		}), nil
	}
	page, err := h.replacements.store.Replacements(ctx, q)
	if err != nil {
		return nil, err
	}
	answer := gen.ListReplacements200JSONResponse{Items: make([]gen.Replacement, len(page.Items)), TotalCount: page.Total, Offset: q.Offset, Limit: q.Limit}
	for i, r := range page.Items {
		answer.Items[i] = replacementOf(r)
	}
	return answer, nil
}

// AddReplacements implements POST .../replacements.
func (h *handlers) AddReplacements(ctx context.Context, r gen.AddReplacementsRequestObject) (gen.AddReplacementsResponseObject, error) {
	var one *predictive.Replacement
	if b := r.JSONBody; b != nil {
		one = &predictive.Replacement{ID: b.ID, EquipmentID: b.EquipmentID, Component: b.Component, At: stored(b.At), Reason: predictive.Reason(b.Reason),
			Source: predictive.SourceManual, Note: b.Note}
	}
	done, warning, err := h.replacements.post(ctx, one, r.Body)
	switch {
	case err != nil:
		return nil, err
	case r.Body != nil:
		return gen.AddReplacements200JSONResponse(done), nil
	}
	answer := replacementOf(*one)
	answer.Warning = warning
	return gen.AddReplacements201JSONResponse(answer), nil
}

// DeleteReplacement implements DELETE .../replacements/{id}.
func (h *handlers) DeleteReplacement(ctx context.Context, r gen.DeleteReplacementRequestObject) (gen.DeleteReplacementResponseObject, error) {
	if err := h.replacements.store.DeleteReplacement(ctx, r.ID); err != nil {
		return nil, err
	}
	return gen.DeleteReplacement204Response{}, nil
}

// stored returns a time as stores keep it.
func stored(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

func failureOf(f predictive.Failure) gen.Failure {
	return gen.Failure{ID: f.ID, EquipmentID: f.EquipmentID, Component: f.Component, Code: f.Code, Source: gen.RecordSource(f.Source), Note: f.Note,
		Start: f.Start.UTC(), Noticed: f.Noticed.UTC(), End: f.End.UTC()}
}

func replacementOf(r predictive.Replacement) gen.Replacement {
	return gen.Replacement{ID: r.ID, EquipmentID: r.EquipmentID, Component: r.Component, At: r.At.UTC(), Reason: gen.ReplacementReason(r.Reason),
		Source: gen.RecordSource(r.Source), Note: r.Note}
}
