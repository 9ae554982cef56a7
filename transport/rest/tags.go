package rest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/openapi/tagsapi"
	"github.com/otkit/otkit/tags"
)

// Tags serves the tag surface.
type Tags struct {
	Engine  *tags.Engine
	History tags.HistoryStore                // nil when no history is kept
	Caller  func(ctx context.Context) string // who calls, for the log of writes
	Live    func(ctx context.Context) (context.Context, context.CancelFunc)
	Now     func() time.Time
}

var _ tagsapi.StrictServerInterface = (*Tags)(nil)

// ListTags implements GET /api/v1/tags.
func (t *Tags) ListTags(_ context.Context, r tagsapi.ListTagsRequestObject) (tagsapi.ListTagsResponseObject, error) {
	page, size, err := paging(r.Params.Page, r.Params.PageSize)
	if err != nil {
		return nil, err
	}
	list, total, err := t.Engine.List(tags.ListQuery{Driver: r.Params.DriverFilter, Pattern: r.Params.NamePattern, Page: page, Size: size})
	if err != nil {
		return nil, err
	}
	return tagsapi.ListTags200JSONResponse{Tags: tagsOf(list), TotalCount: total}, nil
}

// paging tells a page or size that is absent, and so takes its default, from one that is 0, and so
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
func (t *Tags) ReadTag(_ context.Context, r tagsapi.ReadTagRequestObject) (tagsapi.ReadTagResponseObject, error) {
	s, err := t.Engine.Read(r.TagName)
	if err != nil {
		return nil, err
	}
	return tagsapi.ReadTag200JSONResponse{Tag: tagOf(s)}, nil
}

// ReadTags implements POST /api/v1/tags:batchRead.
func (t *Tags) ReadTags(_ context.Context, r tagsapi.ReadTagsRequestObject) (tagsapi.ReadTagsResponseObject, error) {
	if r.Body == nil || r.Body.TagNames == nil {
		return nil, required("tagNames")
	}
	found, errs, err := t.Engine.ReadMany(r.Body.TagNames)
	if err != nil {
		return nil, err
	}
	return tagsapi.ReadTags200JSONResponse{Tags: tagsOf(found), Errors: batchErrors(errs)}, nil
}

// required is the error for a member that is missing.
func required(field string) error {
	return tags.ErrInvalidRequest.Invalid(fault.Field{Field: field, Message: "is required"})
}

// WriteTag implements POST /api/v1/tags/{driver_id}/{address}/write.
func (t *Tags) WriteTag(ctx context.Context, r tagsapi.WriteTagRequestObject) (tagsapi.WriteTagResponseObject, error) {
	if r.Body == nil || r.Body.Value == nil {
		return nil, required("value")
	}
	name, err := t.Engine.Resolve(r.DriverID, r.Address)
	if err != nil {
		return nil, err
	}
	w, err := t.Engine.Write(ctx, tags.WriteRequest{Tag: name, Text: *r.Body.Value, Confirm: r.Body.Confirm, By: t.Caller(ctx)})
	if err != nil {
		return nil, err
	}
	return tagsapi.WriteTag200JSONResponse{Success: true, Message: "Write to " + name + " is queued", WriteID: w.ID}, nil
}

// WriteTags implements POST /api/v1/tags:batchWrite.
func (t *Tags) WriteTags(ctx context.Context, r tagsapi.WriteTagsRequestObject) (tagsapi.WriteTagsResponseObject, error) {
	if r.Body == nil || r.Body.Writes == nil {
		return nil, required("writes")
	}
	items := r.Body.Writes
	if len(items) > tags.MaxBatch {
		return nil, tags.ErrBatchSizeExceeded
	}
	for i, item := range items {
		if item.TagName == "" {
			return nil, required(fmt.Sprintf("writes[%d].tagName", i))
		}
	}
	by := t.Caller(ctx)
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
	writes, refused, err := t.Engine.WriteMany(ctx, requests)
	if err != nil {
		return nil, err
	}
	answer := tagsapi.WriteTags200JSONResponse{Writes: []tagsapi.QueuedWrite{}}
	for i, err := range refused {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		answer.SuccessCount++
		answer.Writes = append(answer.Writes, tagsapi.QueuedWrite{TagName: writes[i].Tag, WriteID: writes[i].ID})
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
func (t *Tags) GetWrite(ctx context.Context, r tagsapi.GetWriteRequestObject) (tagsapi.GetWriteResponseObject, error) {
	w, err := t.Engine.Outcome(ctx, r.WriteID)
	if err != nil {
		return nil, err
	}
	return tagsapi.GetWrite200JSONResponse{
		WriteID: w.ID, TagName: w.Tag, Value: w.Value, State: tagsapi.WriteState(w.State), Error: w.Error,
		RequestedBy: w.By, QueuedAt: w.QueuedAt.UTC(), CompletedAt: w.CompletedAt.UTC(),
	}, nil
}

// GetTagHistory implements GET /api/v1/tags/{tag_name}/history.
func (t *Tags) GetTagHistory(ctx context.Context, r tagsapi.GetTagHistoryRequestObject) (tagsapi.GetTagHistoryResponseObject, error) {
	limit := tags.DefaultPlotPoints
	if r.Params.MaxPoints != nil {
		if limit = *r.Params.MaxPoints; limit > tags.MaxPlotPoints {
			return nil, tags.ErrInvalidRequest.Invalid(fault.Field{Field: "maxPoints", Message: "must be at most 100000"})
		}
	}
	start, end := r.Params.Start, r.Params.End
	if end.IsZero() {
		end = t.Now()
	}
	if start.IsZero() {
		start = end.Add(-24 * time.Hour)
	}
	if !start.Before(end) {
		return nil, tags.ErrInvalidTimeRange
	}
	if _, err := t.Engine.Read(r.TagName); err != nil {
		return nil, err
	}
	answer := tagsapi.GetTagHistory200JSONResponse{TagName: r.TagName, Points: []tagsapi.HistoryPoint{}}
	if t.History == nil {
		return answer, nil
	}
	// What lies in the future is given, if a device's clock is ahead, but no part of the plot is kept free for it.
	until := end
	if now := t.Now(); now.After(start) && now.Before(end) {
		until = now
	}
	points, err := tags.Downsample(t.History.Range(ctx, r.TagName, start, end), start, until, limit)
	if err != nil {
		return nil, err
	}
	for _, p := range points {
		answer.Points = append(answer.Points, tagsapi.HistoryPoint{Timestamp: p.Time.UTC(), Value: p.Value, Quality: tagsapi.Quality(p.Quality.String())})
	}
	return answer, nil
}

// ListDrivers implements GET /api/v1/drivers.
func (t *Tags) ListDrivers(context.Context, tagsapi.ListDriversRequestObject) (tagsapi.ListDriversResponseObject, error) {
	answer := tagsapi.ListDrivers200JSONResponse{}
	for _, d := range t.Engine.Drivers() {
		answer = append(answer, tagsapi.DriverStatus{
			DriverID: d.ID, Type: d.Type, State: tagsapi.DriverStatusState(d.State), LastError: d.LastError,
			LastErrorAt: d.LastErrorAt.UTC(), ConnectedSince: d.ConnectedSince.UTC(), TagCount: d.Tags,
			Reads: int64(d.Reads), ReadErrors: int64(d.ReadErrors), Samples: int64(d.Samples), Changes: int64(d.Changes),
			Writes: int64(d.Writes), WriteErrors: int64(d.WriteErrors), Connects: int64(d.Connects),
			QueuedWrites: d.QueuedWrites, SamplesPerSecond: d.SamplesPerSec,
			RoundTripMs: float64(d.RoundTrip.Microseconds()) / 1000,
		})
	}
	return answer, nil
}

func tagsOf(list []tags.Snapshot) []tagsapi.Tag {
	out := make([]tagsapi.Tag, len(list))
	for i := range list {
		out[i] = tagOf(list[i])
	}
	return out
}

func tagOf(s tags.Snapshot) tagsapi.Tag {
	return tagsapi.Tag{
		Name: s.Tag.Name, Driver: s.Tag.Driver, Address: s.Tag.Address, DataType: tagsapi.DataType(s.Tag.DataType),
		AccessMode: tagsapi.AccessMode(s.Tag.Access), LastUpdated: s.Sample.SourceTime.UTC(),
		ReceivedAt: s.Sample.ServerTime.UTC(), CurrentValue: s.Sample.Value,
		Quality: tagsapi.Quality(s.Sample.Quality.String()), QualityReason: s.Sample.Reason.String(),
		Unit: s.Tag.Unit, Description: s.Tag.Description, MinValue: s.Tag.Min, MaxValue: s.Tag.Max,
	}
}

// batchErrors turns errors of single items into the items of an answer. An error without a code is
// told as internal, without its text.
func batchErrors(errs []error) []tagsapi.BatchError {
	out := make([]tagsapi.BatchError, 0, len(errs))
	for _, err := range errs {
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind == fault.Internal {
			f = fault.New(fault.Internal, "INTERNAL_ERROR", "the item could not be handled")
		}
		metadata := f.Metadata
		if metadata == nil {
			metadata = map[string]string{}
		}
		out = append(out, tagsapi.BatchError{Code: f.Code, Message: f.Message, Metadata: metadata})
	}
	return out
}
