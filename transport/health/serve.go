package health

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	grpchealth "google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// Handler answers /health: all checks. 200 when the report is Healthy or Degraded, else 503.
func (r *Registry) Handler() http.Handler { return r.handler(false) }

// ReadyHandler answers /health/ready: the checks for readiness.
func (r *Registry) ReadyHandler() http.Handler { return r.handler(true) }

// LiveHandler answers /health/live: the process runs and can answer. It runs no check, as a fault of
// something else is not cured by a restart.
func (r *Registry) LiveHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		r.write(w, Report{Status: Healthy, Results: map[string]Result{}}, nil)
	})
}

func (r *Registry) handler(onlyReady bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.write(w, r.Run(req.Context(), onlyReady), r.members)
	})
}

func (r *Registry) write(w http.ResponseWriter, report Report, members func() map[string]any) {
	body, err := json.Marshal(report) // names in order, as of every map
	if err != nil {
		// A check put something into Data that JSON has no form for; its status still counts.
		r.log.Error("health report cannot be written", "error", err)
		for name, result := range report.Results {
			result.Data = map[string]any{}
			report.Results[name] = result
		}
		body, _ = json.Marshal(report) // cannot fail: strings only
	}
	if members != nil {
		if more, err := json.Marshal(members()); err != nil {
			r.log.Error("further members of the health report cannot be written", "error", err)
		} else if len(more) > len("{}") && more[0] == '{' {
			body = append(append(body[:len(body)-1], ','), more[1:]...)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if report.Status == Unhealthy {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_, _ = w.Write(body) // a prober that has gone needs no answer
}

// Sync keeps the gRPC health service in step with readiness: immediately and then at the given interval
// (0 is DefaultTimeout), for the server as a whole and each named service. It returns when ctx ends, after setting all
// to NOT_SERVING for good, so that clients turn away before the server drains.
func (r *Registry) Sync(ctx context.Context, server *grpchealth.Server, every time.Duration, services ...string) {
	services = append([]string{""}, services...)
	if every <= 0 {
		every = DefaultTimeout
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	defer server.Shutdown()
	for {
		status := grpc_health_v1.HealthCheckResponse_SERVING
		if r.Run(ctx, true).Status == Unhealthy {
			status = grpc_health_v1.HealthCheckResponse_NOT_SERVING
		}
		if ctx.Err() == nil {
			for _, service := range services {
				server.SetServingStatus(service, status)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
