package clusterapi

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/otkit/otkit/cluster"
	"github.com/otkit/otkit/transport/clusterapi/internal/gen"
)

// maxListed bounds the lists of work that is not done.
const maxListed = 200

// handlers implements the generated server.
type handlers struct{ plant Plant }

var _ gen.StrictServerInterface = (*handlers)(nil)

// ListEngines implements GET /api/v1/engines.
func (h *handlers) ListEngines(ctx context.Context, _ gen.ListEnginesRequestObject) (gen.ListEnginesResponseObject, error) {
	report := h.plant.Report(ctx)
	answer := gen.EngineList{
		Unassigned: make([]gen.UnassignedWork, 0), UnassignedCount: len(report.Unassigned),
		Engines: make([]gen.EngineStatus, 0, len(report.Engines)), Database: gen.DatabaseStatus{Up: report.Database == nil},
	}
	slices.SortFunc(report.Engines, func(a, b Engine) int {
		return cmp.Or(cmp.Compare(nameOf(&a), nameOf(&b)), cmp.Compare(a.Engine, b.Engine))
	})
	for _, w := range report.Unassigned[:min(len(report.Unassigned), maxListed)] {
		answer.Unassigned = append(answer.Unassigned, unassigned(&w, report.Engines))
	}
	for i := range report.Engines {
		answer.Engines = append(answer.Engines, statusOf(&report.Engines[i]))
	}
	if b := report.Bus; b != nil {
		answer.Bus = gen.BusStatus{Kind: b.Kind, Up: b.Up, Since: b.Since.UTC(), Error: b.Err, LostMessages: int64(b.Lost)}
	}
	if report.Database != nil {
		answer.Database.Error = report.Database.Error()
	}
	return gen.ListEngines200JSONResponse(answer), nil
}

// GetEngineStatus implements GET /api/v1/engines/{id}.
func (h *handlers) GetEngineStatus(ctx context.Context, r gen.GetEngineStatusRequestObject) (gen.GetEngineStatusResponseObject, error) {
	engines := h.plant.Report(ctx).Engines
	i := slices.IndexFunc(engines, func(e Engine) bool { return e.Engine == r.ID })
	if i < 0 {
		return nil, cluster.ErrEngineNotFound.On("engineId", r.ID)
	}
	status := statusOf(&engines[i])
	status.Works = make([]gen.EngineWork, 0, len(engines[i].Leases))
	for _, l := range engines[i].Leases {
		kind, id := split(l.Work)
		status.Works = append(status.Works, gen.EngineWork{Kind: kind, ID: id, Epoch: int64(l.Epoch)})
	}
	return gen.GetEngineStatus200JSONResponse(status), nil
}

// DrainEngine implements PUT /api/v1/engines/{id}/drain.
func (h *handlers) DrainEngine(ctx context.Context, r gen.DrainEngineRequestObject) (gen.DrainEngineResponseObject, error) {
	return gen.DrainEngine204Response{}, h.plant.Drain(ctx, r.ID, true)
}

// UndrainEngine implements DELETE /api/v1/engines/{id}/drain.
func (h *handlers) UndrainEngine(ctx context.Context, r gen.UndrainEngineRequestObject) (gen.UndrainEngineResponseObject, error) {
	return gen.UndrainEngine204Response{}, h.plant.Drain(ctx, r.ID, false)
}

func nameOf(e *Engine) string { return cmp.Or(e.Name, e.Engine) }

// split returns the kind and the id of a work.
func split(work string) (kind, id string) {
	kind, id, _ = strings.Cut(work, "/")
	return kind, id
}

func statusOf(e *Engine) gen.EngineStatus {
	s := gen.EngineStatus{ID: e.Engine, Name: nameOf(e), Self: e.Self, Host: e.Host, URL: e.URL, Version: e.Version, StartedAt: e.Since.UTC(), Draining: e.Draining,
		Labels: e.Labels, Owned: map[string]int{}, Unable: make([]gen.UnableWork, 0), UnableCount: len(e.Unable), LagMs: milliseconds(e.Lag)}
	for _, l := range e.Leases {
		kind, _ := split(l.Work)
		s.Owned[kind]++
	}
	names := slices.Sorted(maps.Keys(e.Unable))
	for _, work := range names[:min(len(names), maxListed)] {
		kind, id := split(work)
		s.Unable = append(s.Unable, gen.UnableWork{Kind: kind, ID: id, Reason: e.Unable[work]})
	}
	if e.ValueLag != nil {
		lag := milliseconds(*e.ValueLag)
		s.ValueLagMs = &lag
	}
	return s
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// unassigned returns work that no engine does, with why each of the engines cannot.
func unassigned(w *Unassigned, engines []Engine) gen.UnassignedWork {
	kind, id := split(w.Name)
	out := gen.UnassignedWork{Kind: kind, ID: id, Since: w.Since.UTC(), Requires: w.Requires, Reasons: make([]gen.EngineReason, 0, len(engines))}
	for i := range engines {
		if reason := w.Hindrance(&engines[i].Session); reason != "" {
			out.Reasons = append(out.Reasons, gen.EngineReason{EngineID: engines[i].Engine, EngineName: nameOf(&engines[i]), Reason: reason})
		}
	}
	return out
}
