package hubspart

import (
	"net/http"

	"github.com/otkit/otkit/transport/auth"
)

// hubMessage is why what clients send to hubs is not in the audit log.
const hubMessage = "carries messages of the hub's protocol; hubs have no operation that changes something"

// Operations are the operations of the part.
func Operations() []auth.Operation {
	return []auth.Operation{
		{ID: "alarmHub", Method: http.MethodGet, Path: "/hubs/alarms", Access: auth.Viewer, QueryToken: true, RawBody: true},
		{ID: "alarmHubSend", Method: http.MethodPost, Path: "/hubs/alarms", Access: auth.Viewer, QueryToken: true, RawBody: true, Unaudited: hubMessage},
		{ID: "alarmHubStop", Method: http.MethodDelete, Path: "/hubs/alarms", Access: auth.Viewer, QueryToken: true, RawBody: true, Unaudited: hubMessage},
		{ID: "alarmHubNegotiate", Method: http.MethodPost, Path: "/hubs/alarms/negotiate", Access: auth.Viewer, QueryToken: true, RawBody: true, Unaudited: hubMessage},
		{ID: "demoHub", Method: http.MethodGet, Path: "/hubs/demo", Access: auth.Viewer, QueryToken: true, RawBody: true},
		{ID: "demoHubSend", Method: http.MethodPost, Path: "/hubs/demo", Access: auth.Viewer, QueryToken: true, RawBody: true, Unaudited: hubMessage},
		{ID: "demoHubStop", Method: http.MethodDelete, Path: "/hubs/demo", Access: auth.Viewer, QueryToken: true, RawBody: true, Unaudited: hubMessage},
		{ID: "demoHubNegotiate", Method: http.MethodPost, Path: "/hubs/demo/negotiate", Access: auth.Viewer, QueryToken: true, RawBody: true, Unaudited: hubMessage},
		{ID: "consoleHub", Method: http.MethodGet, Path: "/hubs/console", Access: auth.Viewer, QueryToken: true, RawBody: true},
		{ID: "consoleHubSend", Method: http.MethodPost, Path: "/hubs/console", Access: auth.Viewer, QueryToken: true, RawBody: true, Unaudited: hubMessage},
		{ID: "consoleHubStop", Method: http.MethodDelete, Path: "/hubs/console", Access: auth.Viewer, QueryToken: true, RawBody: true, Unaudited: hubMessage},
		{ID: "consoleHubNegotiate", Method: http.MethodPost, Path: "/hubs/console/negotiate", Access: auth.Viewer, QueryToken: true, RawBody: true, Unaudited: hubMessage},
	}
}
