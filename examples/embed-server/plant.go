package main

import (
	"encoding/json"
	"net/http"

	"google.golang.org/grpc"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/problem"
	"github.com/otkit/otkit/transport/server"
)

// plant has the program's own routes.
type plant struct {
	tags   *tags.Engine
	alarms *alarms.Service
}

// errNoFlow is answered with 503 and the code, as the server's own errors are.
var errNoFlow = fault.New(fault.Unavailable, "NO_FLOW", "the flow is not known")

// part returns what the engine serves of the plant, with its guard, limits, metrics and errors.
func (p *plant) part() server.Part {
	return server.Part{
		Name: "plant",
		// A route must be declared with who may call it; otherwise New returns an error.
		Operations: []auth.Operation{
			{ID: "getPlantFlow", Method: http.MethodGet, Path: "/plant/flow", Access: auth.Viewer, GRPC: []string{getFlowMethod}},
			{ID: "stopPlant", Method: http.MethodPost, Path: "/plant/stop", Access: auth.Operator},
		},
		Routes: func(r server.Router) error {
			r.Get("/plant/flow", p.flow)
			r.Post("/plant/stop", p.stop)
			return nil
		},
		GRPC: func(r grpc.ServiceRegistrar) error {
			r.RegisterService(&plantService, p)
			return nil
		},
	}
}

// readFlow returns the flow if its value can be trusted.
func (p *plant) readFlow() (tags.Snapshot, error) {
	flow, err := p.tags.Read("pump.flow")
	if err == nil && flow.Sample.Quality != tags.Good {
		err = errNoFlow
	}
	return flow, err
}

func (p *plant) flow(w http.ResponseWriter, r *http.Request) {
	flow, err := p.readFlow()
	if err != nil {
		problem.Write(w, r, err, problem.Problem)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"flow": flow.Sample.Value, "unit": flow.Tag.Unit})
}

func (p *plant) stop(w http.ResponseWriter, r *http.Request) {
	_, err := p.alarms.Raise(r.Context(), alarms.Alarm{Key: "plant:stopped", Source: "plant",
		Message: "stopped by " + auth.NameOf(r.Context()), Severity: alarms.Warning})
	if err != nil {
		problem.Write(w, r, err, problem.Problem)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
