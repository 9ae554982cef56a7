package discoverypart

import (
	"net/http"

	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/bridgelink"
)

// Operations are the operations of the part.
func Operations() []auth.Operation {
	const base = "/api/discovery/"
	return append([]auth.Operation{
		{ID: "scanBridges", Method: http.MethodGet, Path: base + "scan", Access: auth.Viewer},
		{ID: "bindBridge", Method: http.MethodPost, Path: base + "bind", Access: auth.Admin},
		{ID: "unbindBridge", Method: http.MethodDelete, Path: base + "unbind/{bridgeId}", Access: auth.Admin},
		{ID: "listBindings", Method: http.MethodGet, Path: base + "bindings", Access: auth.Viewer}, // plain: its schema has bindingToken
	}, bridgelink.Operations()...)
}
