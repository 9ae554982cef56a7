package auth

import "net/http"

// EngineOperations lists every operation of the engine, for REST and gRPC alike. It is the one
// place that says who may do what; see [Table].
func EngineOperations() []Operation {
	all := append(serverOperations(), authOperations()...)
	all = append(all, tagOperations()...)
	all = append(all, tagConfigOperations()...)
	all = append(all, alarmOperations()...)
	all = append(all, alertingOperations()...)
	return append(all, aasOperations()...)
}

func serverOperations() []Operation {
	return []Operation{
		{ID: "getHealth", Method: http.MethodGet, Path: "/health", Access: Open},
		{ID: "getReadiness", Method: http.MethodGet, Path: "/health/ready", Access: Open},
		{ID: "getLiveness", Method: http.MethodGet, Path: "/health/live", Access: Open},
		{ID: "getMetrics", Method: http.MethodGet, Path: "/metrics", Access: Viewer, OpenSurface: true},
		{ID: "getOpenAPI", Method: http.MethodGet, Path: "/openapi.yaml", Access: Open},
		{ID: "getDocs", Method: http.MethodGet, Path: "/docs", Access: Open},
		{ID: "getDocsFile", Method: http.MethodGet, Path: "/docs/*", Access: Open},
		{ID: "grpcHealth", Access: Open, GRPC: []string{
			"/grpc.health.v1.Health/Check",
			"/grpc.health.v1.Health/List",
			"/grpc.health.v1.Health/Watch",
		}},
		{ID: "grpcReflection", Access: Open, GRPC: []string{
			"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
			"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
		}},
	}
}

func authOperations() []Operation {
	return []Operation{
		{ID: "login", Method: http.MethodPost, Path: "/api/v1/auth/login", Access: Open},
		{ID: "refresh", Method: http.MethodPost, Path: "/api/v1/auth/refresh", Access: Open},
		{ID: "logout", Method: http.MethodPost, Path: "/api/v1/auth/logout", Access: AnyRole},
		{ID: "getKeys", Method: http.MethodGet, Path: "/.well-known/jwks.json", Access: Open},
	}
}

func tagOperations() []Operation {
	const api = "/platform.v1.PlatformApi/"
	return []Operation{
		{ID: "listTags", Method: http.MethodGet, Path: "/api/v1/tags", GRPC: []string{api + "GetTagList"}, Access: Viewer},
		{ID: "readTag", Method: http.MethodGet, Path: "/api/v1/tags/{tag_name}", GRPC: []string{api + "ReadTag"}, Access: Viewer},
		{ID: "readTags", Method: http.MethodPost, Path: "/api/v1/tags:batchRead", GRPC: []string{api + "ReadTags"}, Access: Viewer},
		{ID: "getTagHistory", Method: http.MethodGet, Path: "/api/v1/tags/{tag_name}/history", Access: Viewer},
		{ID: "getWrite", Method: http.MethodGet, Path: "/api/v1/tags/writes/{writeId}", GRPC: []string{api + "GetWrite"}, Access: Viewer},
		{ID: "streamTags", Method: http.MethodGet, Path: "/api/v1/tags/stream", GRPC: []string{
			api + "SubscribeTagChanges",
			api + "StreamTagChanges",
		}, Access: Viewer, QueryToken: true},
		{ID: "writeTag", Method: http.MethodPost, Path: "/api/v1/tags/{driver_id}/{address}/write", GRPC: []string{api + "WriteTag"}, Access: Admin},
		{ID: "writeTags", Method: http.MethodPost, Path: "/api/v1/tags:batchWrite", GRPC: []string{api + "WriteTags"}, Access: Admin},
		{ID: "listDrivers", Method: http.MethodGet, Path: "/api/v1/drivers", Access: Viewer},
	}
}

func tagConfigOperations() []Operation {
	const base = "/api/v1.0/config/tags"
	return []Operation{
		{ID: "getTagConfig", Method: http.MethodGet, Path: base, Access: Viewer, OpenSurface: true},
		{ID: "exportTagConfig", Method: http.MethodGet, Path: base + "/export", Access: Viewer, OpenSurface: true},
		{ID: "bulkTagConfig", Method: http.MethodPost, Path: base + "/bulk", Access: Admin, OpenSurface: true},
		{ID: "importTagConfig", Method: http.MethodPost, Path: base + "/import", Access: Admin, OpenSurface: true},
	}
}

func alarmOperations() []Operation {
	const (
		a     = "/api/v1/alarms"
		b     = "/api/v1.0/alarms"
		rules = "/api/v1/alarm-rules"
		api   = "/platform.v1.PlatformApi/"
	)
	return []Operation{
		{ID: "listAlarms", Method: http.MethodGet, Path: a, GRPC: []string{api + "GetAlarms", api + "SubscribeAlarms"}, Access: Viewer},
		{ID: "getAlarmHistory", Method: http.MethodGet, Path: a + "/history", GRPC: []string{api + "GetAlarmHistory"}, Access: Viewer},
		{ID: "acknowledgeAlarm", Method: http.MethodPost, Path: a + "/{alarm_id}/acknowledge", GRPC: []string{api + "AcknowledgeAlarm"}, Access: Operator},
		{ID: "listAlarmEvents", Method: http.MethodGet, Path: a + "/{alarm_id}/events", Access: Viewer},
		{ID: "getAlarmTrendV1", Method: http.MethodGet, Path: a + "/trend", Access: Viewer},
		{ID: "addAlarmResolutionV1", Method: http.MethodPost, Path: a + "/{code}/resolution", Access: Operator},
		{ID: "listAlarmResolutionsV1", Method: http.MethodGet, Path: a + "/{code}/resolutions", Access: Viewer},
		{ID: "getActiveAlarms", Method: http.MethodGet, Path: b + "/active", Access: Viewer},
		{ID: "getRecentAlarms", Method: http.MethodGet, Path: b + "/history", Access: Viewer},
		{ID: "acknowledgeAlarmCode", Method: http.MethodPost, Path: b + "/{code}/acknowledge", Access: Operator},
		{ID: "getAlarmTrend", Method: http.MethodGet, Path: b + "/trend", Access: Viewer},
		{ID: "addAlarmResolution", Method: http.MethodPost, Path: b + "/{code}/resolution", Access: Operator},
		{ID: "listAlarmResolutions", Method: http.MethodGet, Path: b + "/{code}/resolutions", Access: Viewer},
		{ID: "listWithheldAlarms", Method: http.MethodGet, Path: a + "/withheld", Access: Viewer},
		{ID: "shelveAlarm", Method: http.MethodPost, Path: a + "/{code}/shelve", Access: Operator},
		{ID: "unshelveAlarm", Method: http.MethodPost, Path: a + "/{code}/unshelve", Access: Operator},
		{ID: "suppressAlarm", Method: http.MethodPost, Path: a + "/{code}/suppress", Access: Admin},
		{ID: "unsuppressAlarm", Method: http.MethodPost, Path: a + "/{code}/unsuppress", Access: Admin},
		{ID: "takeAlarmOutOfService", Method: http.MethodPost, Path: a + "/{code}/out-of-service", Access: Admin},
		{ID: "putAlarmInService", Method: http.MethodPost, Path: a + "/{code}/in-service", Access: Admin},
		{ID: "resetAlarm", Method: http.MethodPost, Path: a + "/{code}/reset", Access: Operator},
		{ID: "getAlarmAnalytics", Method: http.MethodGet, Path: a + "/analytics", Access: Viewer},
		{ID: "listAlarmRules", Method: http.MethodGet, Path: rules, Access: Viewer},
		{ID: "addAlarmRule", Method: http.MethodPost, Path: rules, Access: Admin},
		{ID: "getAlarmRule", Method: http.MethodGet, Path: rules + "/{id}", Access: Viewer},
		{ID: "replaceAlarmRule", Method: http.MethodPut, Path: rules + "/{id}", Access: Admin},
		{ID: "removeAlarmRule", Method: http.MethodDelete, Path: rules + "/{id}", Access: Admin},
		{ID: "alarmHub", Method: http.MethodGet, Path: "/hubs/alarms", Access: Viewer, QueryToken: true},
		{ID: "alarmHubSend", Method: http.MethodPost, Path: "/hubs/alarms", Access: Viewer, QueryToken: true},
		{ID: "alarmHubStop", Method: http.MethodDelete, Path: "/hubs/alarms", Access: Viewer, QueryToken: true},
		{ID: "alarmHubNegotiate", Method: http.MethodPost, Path: "/hubs/alarms/negotiate", Access: Viewer, QueryToken: true},
		{ID: "demoHub", Method: http.MethodGet, Path: "/hubs/demo", Access: Viewer, QueryToken: true},
		{ID: "demoHubSend", Method: http.MethodPost, Path: "/hubs/demo", Access: Viewer, QueryToken: true},
		{ID: "demoHubStop", Method: http.MethodDelete, Path: "/hubs/demo", Access: Viewer, QueryToken: true},
		{ID: "demoHubNegotiate", Method: http.MethodPost, Path: "/hubs/demo/negotiate", Access: Viewer, QueryToken: true},
	}
}

func alertingOperations() []Operation {
	const (
		silence = "/api/v1.0/alert-silence"
		history = "/api/v1.0/alert-history"
		source  = "/api/v1.0/alertsource"
		channel = "/api/v1/alerting"
	)
	return []Operation{
		{ID: "listSilences", Method: http.MethodGet, Path: silence, Access: Viewer, OpenSurface: true},
		{ID: "listActiveSilences", Method: http.MethodGet, Path: silence + "/active", Access: Viewer, OpenSurface: true},
		{ID: "addSilence", Method: http.MethodPost, Path: silence, Access: Operator, OpenSurface: true},
		{ID: "removeSilence", Method: http.MethodDelete, Path: silence + "/{id}", Access: Operator, OpenSurface: true},
		{ID: "listAlertHistory", Method: http.MethodGet, Path: history, Access: Viewer, OpenSurface: true},
		{ID: "getAlertRecord", Method: http.MethodGet, Path: history + "/{id}", Access: Viewer, OpenSurface: true},
		{ID: "getSeverityStats", Method: http.MethodGet, Path: history + "/stats/severity", Access: Viewer, OpenSurface: true},
		{ID: "getSourceStats", Method: http.MethodGet, Path: history + "/stats/source", Access: Viewer, OpenSurface: true},
		{ID: "postAlertWebhook", Method: http.MethodPost, Path: source + "/webhook", Access: Operator, OpenSurface: true},
		{ID: "getWebhookHealth", Method: http.MethodGet, Path: source + "/health", Access: Viewer, OpenSurface: true},
		// These and the channels' last errors show addresses and phone numbers.
		{ID: "listDeadLetters", Method: http.MethodGet, Path: channel + "/deadletters", Access: Operator},
		{ID: "discardDeadLetters", Method: http.MethodDelete, Path: channel + "/deadletters", Access: Admin},
		{ID: "discardDeadLetter", Method: http.MethodDelete, Path: channel + "/deadletters/{id}", Access: Admin},
		{ID: "retryDeadLetters", Method: http.MethodPost, Path: channel + "/deadletters/retry", Access: Admin},
		{ID: "retryDeadLetter", Method: http.MethodPost, Path: channel + "/deadletters/{id}/retry", Access: Admin},
		{ID: "listChannels", Method: http.MethodGet, Path: channel + "/channels", Access: Operator},
		{ID: "testChannel", Method: http.MethodPost, Path: channel + "/channels/{name}/test", Access: Admin},
	}
}
