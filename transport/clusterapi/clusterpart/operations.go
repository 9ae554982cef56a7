package clusterpart

import (
	"net/http"

	"github.com/otkit/otkit/transport/auth"
)

// Operations are the operations of the part that shows the engines.
func Operations() []auth.Operation {
	const base = "/api/v1/engines"
	return []auth.Operation{
		{ID: "listEngines", Method: http.MethodGet, Path: base, Access: auth.Viewer, Gzip: true},
		{ID: "getEngineStatus", Method: http.MethodGet, Path: base + "/{id}", Access: auth.Viewer, Gzip: true},
		{ID: "drainEngine", Method: http.MethodPut, Path: base + "/{id}/drain", Access: auth.Admin},
		{ID: "undrainEngine", Method: http.MethodDelete, Path: base + "/{id}/drain", Access: auth.Admin},
	}
}
