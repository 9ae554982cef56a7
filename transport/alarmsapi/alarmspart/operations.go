package alarmspart

import (
	"net/http"

	"github.com/otkit/otkit/transport/auth"
)

// Operations are the operations of the part.
func Operations() []auth.Operation {
	const (
		a     = "/api/v1/alarms"
		b     = "/api/v1.0/alarms"
		rules = "/api/v1/alarm-rules"
		api   = "/platform.v1.PlatformApi/"
	)
	return []auth.Operation{
		{ID: "listAlarms", Method: http.MethodGet, Path: a, GRPC: []string{api + "GetAlarms", api + "SubscribeAlarms"}, Access: auth.Viewer, Gzip: true},
		{ID: "getAlarmHistory", Method: http.MethodGet, Path: a + "/history", GRPC: []string{api + "GetAlarmHistory"}, Access: auth.Viewer, Gzip: true},
		{ID: "acknowledgeAlarm", Method: http.MethodPost, Path: a + "/{alarm_id}/acknowledge", GRPC: []string{api + "AcknowledgeAlarm"}, Access: auth.Operator, AuditOptional: true},
		{ID: "acknowledgeAlarms", Method: http.MethodPost, Path: a + ":acknowledge", GRPC: []string{api + "AcknowledgeAlarms"}, Access: auth.Operator, AuditOptional: true},
		{ID: "commentAlarm", Method: http.MethodPost, Path: a + "/{alarm_id}/comment", Access: auth.Operator},
		{ID: "getAlarmCounts", Method: http.MethodGet, Path: a + "/counts", Access: auth.Viewer},
		{ID: "listAlarmEvents", Method: http.MethodGet, Path: a + "/{alarm_id}/events", Access: auth.Viewer, Gzip: true},
		{ID: "getAlarmTrendV1", Method: http.MethodGet, Path: a + "/trend", Access: auth.Viewer, Gzip: true},
		{ID: "addAlarmResolutionV1", Method: http.MethodPost, Path: a + "/{code}/resolution", Access: auth.Operator},
		{ID: "listAlarmResolutionsV1", Method: http.MethodGet, Path: a + "/{code}/resolutions", Access: auth.Viewer, Gzip: true},
		{ID: "getActiveAlarms", Method: http.MethodGet, Path: b + "/active", Access: auth.Viewer, Gzip: true},
		{ID: "getRecentAlarms", Method: http.MethodGet, Path: b + "/history", Access: auth.Viewer, Gzip: true},
		{ID: "acknowledgeAlarmCode", Method: http.MethodPost, Path: b + "/{code}/acknowledge", Access: auth.Operator, AuditOptional: true},
		{ID: "getAlarmTrend", Method: http.MethodGet, Path: b + "/trend", Access: auth.Viewer, Gzip: true},
		{ID: "addAlarmResolution", Method: http.MethodPost, Path: b + "/{code}/resolution", Access: auth.Operator},
		{ID: "listAlarmResolutions", Method: http.MethodGet, Path: b + "/{code}/resolutions", Access: auth.Viewer, Gzip: true},
		{ID: "listSuppressedAlarms", Method: http.MethodGet, Path: a + "/suppressed", Access: auth.Viewer, Gzip: true},
		{ID: "shelveAlarm", Method: http.MethodPost, Path: a + "/{code}/shelve", Access: auth.Operator},
		{ID: "unshelveAlarm", Method: http.MethodPost, Path: a + "/{code}/unshelve", Access: auth.Operator},
		{ID: "suppressAlarm", Method: http.MethodPost, Path: a + "/{code}/suppress", Access: auth.Admin},
		{ID: "unsuppressAlarm", Method: http.MethodPost, Path: a + "/{code}/unsuppress", Access: auth.Admin},
		{ID: "takeAlarmOutOfService", Method: http.MethodPost, Path: a + "/{code}/out-of-service", Access: auth.Admin},
		{ID: "putAlarmInService", Method: http.MethodPost, Path: a + "/{code}/in-service", Access: auth.Admin},
		{ID: "resetAlarm", Method: http.MethodPost, Path: a + "/{code}/reset", Access: auth.Operator},
		{ID: "getAlarmAnalytics", Method: http.MethodGet, Path: a + "/analytics", Access: auth.Viewer, Gzip: true},
		{ID: "listAlarmRules", Method: http.MethodGet, Path: rules, Access: auth.Viewer, Gzip: true},
		{ID: "addAlarmRule", Method: http.MethodPost, Path: rules, Access: auth.Admin},
		{ID: "getAlarmRule", Method: http.MethodGet, Path: rules + "/{id}", Access: auth.Viewer},
		{ID: "replaceAlarmRule", Method: http.MethodPut, Path: rules + "/{id}", Access: auth.Admin},
		{ID: "removeAlarmRule", Method: http.MethodDelete, Path: rules + "/{id}", Access: auth.Admin},
	}
}
