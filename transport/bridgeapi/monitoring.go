package bridgeapi

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/bridgeapi/internal/gen"
	"github.com/otkit/otkit/transport/internal/restapi"
)

var errPageSize = fault.New(fault.Invalid, "PAGE_SIZE_EXCEEDED", "page size is above its maximum")

// maxPageSize is the most items of a page.
const maxPageSize = 500

// GetMonitoring implements GET /api/bridge/monitoring/status.
func (h *handlers) GetMonitoring(ctx context.Context, _ gen.GetMonitoringRequestObject) (gen.GetMonitoringResponseObject, error) {
	buffer, err := h.buffer(ctx)
	if err != nil {
		return nil, err
	}
	s, l := h.Host.Status(), h.Host.Link()
	return gen.GetMonitoring200JSONResponse{BridgeID: s.BridgeID, Name: h.o.Name, Location: h.o.Location, TenantID: h.o.TenantID,
		Status: gen.MonitoringStatus(s.Status), BoundEngineID: orNull(s.BoundEngineID), Version: s.Version,
		StartedAt: h.started.UTC(), UptimeSeconds: int64(h.o.Now().Sub(h.started) / time.Second), Driver: h.driver(),
		Link: gen.LinkState{EngineURL: l.EngineURL, IsConnected: l.Connected, Since: l.Since.UTC(), DiscoveryMethod: l.DiscoveryMethod,
			LastError: l.LastError},
		Buffer: buffer}, nil
}

func (h *handlers) driver() gen.DriverState {
	out := gen.DriverState{DriverID: h.DriverID, DriverType: h.DriverType, State: string(tags.DriverStopped)}
	all := h.Tags.Drivers()
	if i := slices.IndexFunc(all, func(d tags.DriverStatus) bool { return d.ID == h.DriverID }); i >= 0 {
		d := all[i]
		out.State, out.Tags, out.SamplesPerSecond = string(d.State), d.Tags, d.SamplesPerSec
		out.LastError, out.LastErrorAt = d.LastError, d.LastErrorAt.UTC()
	}
	if h.Passive != nil {
		out.LastDataAt = h.Passive.LastData().UTC()
	}
	return out
}

// GetBuffer implements GET /api/bridge/monitoring/buffer.
func (h *handlers) GetBuffer(ctx context.Context, _ gen.GetBufferRequestObject) (gen.GetBufferResponseObject, error) {
	b, err := h.buffer(ctx)
	if err != nil {
		return nil, err
	}
	return gen.GetBuffer200JSONResponse(b), nil
}

func (h *handlers) buffer(ctx context.Context) (gen.BufferState, error) {
	s, err := h.Host.Stats(ctx)
	if err != nil {
		return gen.BufferState{}, err
	}
	out := gen.BufferState{Enabled: h.o.BufferEnabled, Count: int64(s.Entries) + int64(s.Pending), Bytes: s.Bytes, OldestAt: s.Oldest.UTC(),
		Dropped: int64(s.Dropped + s.Expired + s.MemoryDropped), MaxBytes: s.MaxBytes, TTLHours: h.o.BufferTTL.Hours(), Problem: s.BufferError}
	if !s.Oldest.IsZero() {
		out.LagSeconds = max(0, h.o.Now().Sub(s.Oldest).Seconds()) // the clock may have been set back
	}
	return out, nil
}

// escaped keeps the signs of a LIKE pattern from having a meaning.
var escaped = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// ListTags implements GET /api/bridge/monitoring/tags.
func (h *handlers) ListTags(_ context.Context, r gen.ListTagsRequestObject) (gen.ListTagsResponseObject, error) {
	page, size := restapi.Or(r.Params.Page, 1), restapi.Or(r.Params.PageSize, 50)
	if err := checkPage(page, size); err != nil {
		return nil, err
	}
	q := tags.ListQuery{Driver: h.DriverID, Page: page, PageSize: size}
	if r.Params.Search != "" {
		q.Pattern = escaped.Replace(h.DriverID+".") + "%" + escaped.Replace(r.Params.Search) + "%"
	}
	list, total, err := h.Tags.List(q)
	if err != nil {
		return nil, err
	}
	out := gen.ListTags200JSONResponse{Items: make([]gen.BridgeTag, len(list)), TotalCount: int64(total), Page: page, PageSize: size}
	for i, s := range list {
		t := s.Tag
		out.Items[i] = gen.BridgeTag{Name: strings.TrimPrefix(t.Name, h.DriverID+"."), Address: t.Address, DataType: gen.BridgeTagDataType(t.DataType),
			AccessMode: gen.BridgeTagAccessMode(accessOf(t)), Unit: t.Unit, Quality: gen.Quality(s.Sample.Quality.String()),
			Reason: s.Sample.Reason.String(), CurrentValue: s.Sample.Value, Timestamp: s.Sample.SourceTime.UTC()}
	}
	return out, nil
}

func accessOf(t *tags.Tag) tags.AccessMode {
	if t.Access == "" {
		return tags.ReadOnly
	}
	return t.Access
}

func checkPage(page, size int) error {
	switch {
	case size > maxPageSize:
		return errPageSize.Invalid(fault.Field{Field: "pageSize", Message: "must be at most 500"})
	case size < 1:
		return tags.ErrInvalidRequest.Invalid(fault.Field{Field: "pageSize", Message: "must be at least 1"})
	case page < 1 || page > 10_000_000:
		return tags.ErrInvalidRequest.Invalid(fault.Field{Field: "page", Message: "must be 1 to 10000000"})
	}
	return nil
}
