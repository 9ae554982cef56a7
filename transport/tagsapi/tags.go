package tagsapi

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/history"
	"github.com/otkit/otkit/transport/internal/restapi"
	"github.com/otkit/otkit/transport/tagsapi/internal/gen"
)

var _ gen.StrictServerInterface = (*handlers)(nil)

// paging distinguishes a page or size that is absent, and so takes its default, from one that is 0, and so
// is refused.
func paging(page, size *int) (int, int, error) {
	p, s := 1, tags.DefaultPageSize
	var bad []fault.Field
	if page != nil {
		if p = *page; p < 1 {
			bad = append(bad, fault.Field{Field: "page", Message: "must be at least 1"})
		}
	}
	if size != nil {
		if s = *size; s < 1 {
			bad = append(bad, fault.Field{Field: "pageSize", Message: "must be at least 1"})
		}
	}
	if len(bad) > 0 {
		return 0, 0, tags.ErrInvalidRequest.Invalid(bad...)
	}
	return p, s, nil
}

// ReadTag implements GET /api/v1/tags/{tag_name}.
func (t *handlers) ReadTag(_ context.Context, r gen.ReadTagRequestObject) (gen.ReadTagResponseObject, error) {
	s, err := t.engine.Read(r.TagName)
	if err != nil {
		return nil, err
	}
	return tagAnswer{s}, nil
}

// ReadTags implements POST /api/v1/tags:batchRead.
func (t *handlers) ReadTags(_ context.Context, r gen.ReadTagsRequestObject) (gen.ReadTagsResponseObject, error) {
	if r.Body == nil || r.Body.TagNames == nil {
		return nil, restapi.Required("tagNames")
	}
	found, errs, err := t.engine.ReadMany(r.Body.TagNames)
	if err != nil {
		return nil, err
	}
	return batchAnswer{tags: found, errors: batchErrors(errs)}, nil
}

// WriteTag implements POST /api/v1/tags/{driver_id}/{address}/write.
func (t *handlers) WriteTag(ctx context.Context, r gen.WriteTagRequestObject) (gen.WriteTagResponseObject, error) {
	if r.Body == nil || r.Body.Value == nil {
		return nil, restapi.Required("value")
	}
	wait, err := waiting(r.Params.Wait)
	if err != nil {
		return nil, err
	}
	name, err := t.engine.Resolve(r.DriverID, r.Address)
	if err != nil {
		return nil, err
	}
	if err := checkID(r.Body.WriteID); err != nil {
		return nil, err
	}
	w, err := t.engine.Write(ctx, tags.WriteRequest{Tag: name, Text: *r.Body.Value, Confirm: r.Body.Confirm, By: t.caller(ctx), ID: r.Body.WriteID, New: r.Body.WriteID != ""})
	if err != nil {
		return nil, err
	}
	answer := gen.WriteTag200JSONResponse{Success: true, Message: "Write to " + name + " is queued", WriteID: w.ID}
	if wait > 0 {
		// The write is queued, whatever becomes of the question for its outcome.
		if w, err := t.await(ctx, w.ID, wait); err == nil {
			answer.Write = new(writeOf(w))
		}
	}
	return answer, nil
}

// checkID returns an error unless a client may choose an id for a write; "" is none.
func checkID(id string) error {
	if parsed, err := uuid.Parse(id); id != "" && (err != nil || parsed.String() != id) {
		return tags.ErrInvalidRequest.Invalid(fault.Field{Field: "writeId", Message: "must be a UUID in lower case"})
	}
	return nil
}

const maxWait = 30 // seconds

func waiting(seconds int) (time.Duration, error) {
	if seconds < 0 || seconds > maxWait {
		return 0, tags.ErrInvalidRequest.Invalid(fault.Field{Field: "wait", Message: fmt.Sprintf("must be 0 to %d", maxWait)})
	}
	return time.Duration(seconds) * time.Second, nil
}

// WriteTags implements POST /api/v1/tags:batchWrite.
func (t *handlers) WriteTags(ctx context.Context, r gen.WriteTagsRequestObject) (gen.WriteTagsResponseObject, error) {
	if r.Body == nil || r.Body.Writes == nil {
		return nil, restapi.Required("writes")
	}
	items := r.Body.Writes
	if len(items) > tags.MaxBatch {
		return nil, tags.ErrBatchSizeExceeded
	}
	for i, item := range items {
		if item.TagName == "" {
			return nil, restapi.Required(fmt.Sprintf("writes[%d].tagName", i))
		}
	}
	by := t.caller(ctx)
	requests := make([]tags.WriteRequest, 0, len(items))
	errs := make([]error, 0, len(items))
	for _, item := range items {
		var v tags.Value
		err := v.UnmarshalJSON(item.Value)
		if err == nil && v.IsZero() {
			err = tags.ErrInvalidValue.Because("value is required")
		}
		if err != nil {
			errs = append(errs, aboutTag(err, item.TagName))
			continue
		}
		requests = append(requests, tags.WriteRequest{Tag: item.TagName, Value: v, Confirm: item.Confirm, By: by})
	}
	writes, refused, err := t.engine.WriteMany(ctx, requests)
	if err != nil {
		return nil, err
	}
	answer := gen.WriteTags200JSONResponse{Writes: []gen.QueuedWrite{}}
	for i, err := range refused {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		answer.SuccessCount++
		answer.Writes = append(answer.Writes, gen.QueuedWrite{TagName: writes[i].Tag, WriteID: writes[i].ID})
	}
	answer.Errors = batchErrors(errs)
	return answer, nil
}

func aboutTag(err error, name string) error {
	if f, ok := fault.From(err); ok {
		return f.With("tagName", name)
	}
	return err
}

// GetWrite implements GET /api/v1/tags/writes/{writeId}.
func (t *handlers) GetWrite(ctx context.Context, r gen.GetWriteRequestObject) (gen.GetWriteResponseObject, error) {
	wait, err := waiting(r.Params.Wait)
	if err != nil {
		return nil, err
	}
	read := t.engine.GetWrite
	if wait > 0 {
		read = func(ctx context.Context, id string) (tags.Write, error) { return t.await(ctx, id, wait) }
	}
	w, err := read(ctx, r.WriteID)
	if err != nil {
		return nil, err
	}
	return gen.GetWrite200JSONResponse(writeOf(w)), nil
}

func writeOf(w tags.Write) gen.Write {
	return gen.Write{
		WriteID: w.ID, TagName: w.Tag, DriverID: w.Driver, Address: w.Address, Value: w.Value, State: gen.WriteState(w.State), Error: w.Error,
		RequestedBy: w.By, QueuedAt: w.QueuedAt.UTC(), CompletedAt: w.CompletedAt.UTC(),
	}
}

// GetTagHistory implements GET /api/v1/tags/{tag_name}/history.
func (t *handlers) GetTagHistory(ctx context.Context, r gen.GetTagHistoryRequestObject) (gen.GetTagHistoryResponseObject, error) {
	limit := history.DefaultPlotPoints
	if r.Params.MaxPoints != nil {
		if limit = *r.Params.MaxPoints; limit > history.MaxPlotPoints {
			return nil, tags.ErrInvalidRequest.Invalid(fault.Field{Field: "maxPoints", Message: "must be at most 100000"})
		}
	}
	start, end := r.Params.Start, r.Params.End
	if end.IsZero() {
		end = t.now()
	}
	if start.IsZero() {
		start = end.Add(-24 * time.Hour)
	}
	if !start.Before(end) {
		return nil, tags.ErrInvalidTimeRange
	}
	_, unknown := t.engine.Read(r.TagName)
	if unknown != nil && (t.history == nil || !errors.Is(unknown, tags.ErrTagNotFound)) {
		return nil, unknown
	}
	answer := gen.GetTagHistory200JSONResponse{TagName: r.TagName, Points: []gen.HistoryPoint{}}
	if t.history == nil {
		return answer, nil
	}
	// What lies in the future is given, if a device's clock is ahead, but no part of the plot is kept free for it.
	until := end
	if now := t.now(); now.After(start) && now.Before(end) {
		until = now
	}
	points, err := history.Downsample(t.history.Range(ctx, r.TagName, start, end), start, until, limit)
	if err != nil {
		return nil, err
	}
	if unknown != nil && len(points) == 0 {
		if err := t.recorded(ctx, r.TagName, unknown); err != nil {
			return nil, err
		}
	}
	for _, p := range points {
		answer.Points = append(answer.Points, gen.HistoryPoint{Timestamp: p.Time.UTC(), Value: p.Value, Quality: gen.Quality(p.Quality.String())})
	}
	return answer, nil
}

// recorded returns nil if the history has samples of a tag that is not defined now, such as one of a bridge that was unbound, and unknown if
// it has none.
func (t *handlers) recorded(ctx context.Context, name string, unknown error) error {
	for _, err := range t.history.Range(ctx, name, time.UnixMicro(0), t.now().AddDate(1, 0, 0)) { // times further ahead are not stored
		return err
	}
	return unknown
}

// batchErrors turns errors of single items into the items of an answer. An error without a code is
// told as internal, without its text.
func batchErrors(errs []error) []gen.BatchError {
	out := make([]gen.BatchError, 0, len(errs))
	for _, err := range errs {
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind == fault.Internal {
			f = fault.New(fault.Internal, "INTERNAL_ERROR", "the item could not be handled")
		}
		metadata := f.Metadata
		if metadata == nil {
			metadata = map[string]string{}
		}
		out = append(out, gen.BatchError{Code: f.Code, Message: f.Message, Metadata: metadata})
	}
	return out
}
