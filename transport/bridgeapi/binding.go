package bridgeapi

import (
	"context"
	"math"

	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/bridgeapi/internal/gen"
	"github.com/otkit/otkit/transport/problem"
)

var errForbidden = fault.New(fault.Forbidden, "FORBIDDEN", "this is for the engine that the bridge is bound to, and for local accounts of the needed role")

// GetStatus implements GET /api/bridge/status.
func (h *handlers) GetStatus(ctx context.Context, _ gen.GetStatusRequestObject) (gen.GetStatusResponseObject, error) {
	s := h.Host.Status()
	answer := gen.GetStatus200JSONResponse{BridgeID: s.BridgeID, Status: gen.BridgeStatusStatus(s.Status), BoundEngineID: orNull(s.BoundEngineID),
		DriverType: s.DriverType, DriverID: s.DriverID, Version: s.Version}
	if s.Status == link.StatusBound {
		if stats, err := h.Host.Stats(ctx); err == nil { // a bridge whose buffer fails has a status, too
			b := stats.Buffer(h.o.Now())
			answer.Buffer = gen.WaitingEntries{Waiting: int64(min(b.Waiting, math.MaxInt64)), Bytes: b.Bytes, MaxBytes: b.MaxBytes,
				Dropped: int64(min(b.Dropped, math.MaxInt64)), OldestSeconds: b.OldestSeconds}
		}
	}
	return answer, nil
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// GetManifest implements GET /api/bridge/manifest.
func (h *handlers) GetManifest(ctx context.Context, _ gen.GetManifestRequestObject) (gen.GetManifestResponseObject, error) {
	if c := h.o.Caller(ctx); h.Host.Status().Status != link.StatusFree && !c.Engine && !c.Viewer && !c.Admin {
		return nil, errForbidden
	}
	m, err := h.Host.Manifest(ctx)
	if err != nil {
		return nil, err
	}
	m.BindingToken = ""
	return gen.GetManifest200JSONResponse(manifestOf(m)), nil
}

// Bind implements POST /api/bridge/bind.
func (h *handlers) Bind(ctx context.Context, r gen.BindRequestObject) (gen.BindResponseObject, error) {
	var missing []fault.Field
	if r.Body == nil || r.Body.EngineID == "" {
		missing = append(missing, fault.Field{Field: "engineId", Message: "is required"})
	}
	if r.Body == nil || r.Body.EngineURL == "" {
		missing = append(missing, fault.Field{Field: "engineUrl", Message: "is required"})
	}
	if len(missing) > 0 {
		return nil, problem.ErrInvalidRequest.Invalid(missing...)
	}
	m, err := h.Host.Bind(ctx, link.BindRequest{EngineID: r.Body.EngineID, EngineURL: r.Body.EngineURL, EnginePins: r.Body.EnginePins, EngineURLs: r.Body.EngineUrls}, r.Params.XBindSecret)
	if err != nil {
		return nil, err
	}
	return gen.Bind200JSONResponse(manifestOf(m)), nil
}

// Unbind implements DELETE /api/bridge/bind.
func (h *handlers) Unbind(ctx context.Context, _ gen.UnbindRequestObject) (gen.UnbindResponseObject, error) {
	if c := h.o.Caller(ctx); !c.Engine && !c.Admin {
		return nil, errForbidden
	}
	if err := h.Host.Release(ctx); err != nil {
		return nil, err
	}
	return gen.Unbind204Response{}, nil
}

func manifestOf(m link.Manifest) gen.Manifest {
	out := gen.Manifest{BridgeID: m.BridgeID, DriverType: m.DriverType, DriverID: m.DriverID, Tags: make([]gen.ManifestTag, len(m.Tags)),
		AvailableSubmodels: append([]string{}, m.AvailableSubmodels...), ActiveSubmodels: append([]string{}, m.ActiveSubmodels...),
		BindingToken: m.BindingToken}
	if s := m.Shell; s != nil {
		out.Shell = gen.ManifestShell{ID: s.ID, IDShort: s.IDShort, AssetKind: s.AssetKind, GlobalAssetID: s.GlobalAssetID,
			EquipmentCategory: s.EquipmentCategory, Nameplate: plateOf(s.Nameplate)}
	}
	for i, t := range m.Tags {
		out.Tags[i] = gen.ManifestTag{Name: t.Name, Address: t.Address, DataType: t.DataType, Length: t.Length, ScanInterval: t.ScanInterval,
			Unit: t.Unit, Description: t.Description, Access: t.Access, Min: t.Min, Max: t.Max}
	}
	return out
}
