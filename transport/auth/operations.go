package auth

import "net/http"

// EngineOperations lists every operation of the engine, for REST and gRPC alike. It is the one
// place that says who may do what; see [Table].
func EngineOperations() []Operation {
	all := append(serverOperations(), authOperations()...)
	all = append(all, tagOperations()...)
	return append(all, tagConfigOperations()...)
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
