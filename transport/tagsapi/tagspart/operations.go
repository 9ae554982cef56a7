package tagspart

import (
	"net/http"

	"github.com/otkit/otkit/transport/auth"
)

// Operations are the operations of the part.
func Operations() []auth.Operation {
	const api = "/platform.v1.PlatformApi/"
	return append([]auth.Operation{
		{ID: "listTags", Method: http.MethodGet, Path: "/api/v1/tags", GRPC: []string{api + "GetTagList"}, Access: auth.Viewer, Gzip: true},
		{ID: "readTag", Method: http.MethodGet, Path: "/api/v1/tags/{tag_name}", GRPC: []string{api + "ReadTag"}, Access: auth.Viewer},
		{ID: "readTags", Method: http.MethodPost, Path: "/api/v1/tags:batchRead", GRPC: []string{api + "ReadTags"}, Access: auth.Viewer, Unaudited: "reads only", Gzip: true},
		{ID: "getTagHistory", Method: http.MethodGet, Path: "/api/v1/tags/{tag_name}/history", Access: auth.Viewer, Gzip: true},
		{ID: "getHistoryAggregates", Method: http.MethodGet, Path: "/api/v1/history/aggregates", Access: auth.Viewer, Gzip: true},
		{ID: "exportHistory", Method: http.MethodGet, Path: "/api/v1/history/export", Access: auth.Viewer, Gzip: true},
		{ID: "listWrites", Method: http.MethodGet, Path: "/api/v1/tags/writes", GRPC: []string{api + "ListWrites"}, Access: auth.Viewer, Gzip: true},
		{ID: "getWrite", Method: http.MethodGet, Path: "/api/v1/tags/writes/{writeId}", GRPC: []string{api + "GetWrite"}, Access: auth.Viewer},
		{ID: "streamTags", Method: http.MethodGet, Path: "/api/v1/tags/stream", GRPC: []string{
			api + "SubscribeTagChanges",
			api + "StreamTagChanges",
		}, Access: auth.Viewer, QueryToken: true, Stream: true, Gzip: true},
		{ID: "writeTag", Method: http.MethodPost, Path: "/api/v1/tags/{driver_id}/{address}/write", GRPC: []string{api + "WriteTag"}, Access: auth.Admin},
		{ID: "writeTags", Method: http.MethodPost, Path: "/api/v1/tags:batchWrite", GRPC: []string{api + "WriteTags"}, Access: auth.Admin},
	}, append(driverOperations(), configOperations()...)...)
}

// driverOperations are those of drivers.
func driverOperations() []auth.Operation {
	const base = "/api/v1/drivers"
	return []auth.Operation{
		{ID: "listDriverTypes", Method: http.MethodGet, Path: "/api/v1/driver-types", Access: auth.Viewer, Gzip: true},
		{ID: "listDrivers", Method: http.MethodGet, Path: base, Access: auth.Viewer, Gzip: true},
		{ID: "createDriver", Method: http.MethodPost, Path: base, Access: auth.Admin},
		{ID: "getDriver", Method: http.MethodGet, Path: base + "/{id}", Access: auth.Viewer},
		{ID: "replaceDriver", Method: http.MethodPut, Path: base + "/{id}", Access: auth.Admin},
		{ID: "deleteDriver", Method: http.MethodDelete, Path: base + "/{id}", Access: auth.Admin},
		{ID: "testDriverDefinition", Method: http.MethodPost, Path: base + "/test", Access: auth.Admin},
		{ID: "testDriver", Method: http.MethodPost, Path: base + "/{id}/test", Access: auth.Admin},
		{ID: "browseDriver", Method: http.MethodPost, Path: base + "/{id}/browse", Access: auth.Admin, Gzip: true},
	}
}

// configOperations are those of the tag configuration.
func configOperations() []auth.Operation {
	const base = "/api/v1.0/config/tags"
	return []auth.Operation{
		{ID: "getTagConfig", Method: http.MethodGet, Path: base, Access: auth.Viewer, OpenSurface: true, Gzip: true},
		{ID: "exportTagConfig", Method: http.MethodGet, Path: base + "/export", Access: auth.Viewer, OpenSurface: true, Gzip: true},
		{ID: "bulkTagConfig", Method: http.MethodPost, Path: base + "/bulk", Access: auth.Admin, OpenSurface: true},
		{ID: "importTagConfig", Method: http.MethodPost, Path: base + "/import", Access: auth.Admin, OpenSurface: true, RawBody: true, Gzip: true},
		{ID: "getTagImport", Method: http.MethodGet, Path: base + "/imports/{importId}", Access: auth.Viewer, OpenSurface: true},
		{ID: "cancelTagImport", Method: http.MethodDelete, Path: base + "/imports/{importId}", Access: auth.Admin, OpenSurface: true},
		{ID: "removeTagConfig", Method: http.MethodPost, Path: base + "/remove", Access: auth.Admin},
		{ID: "getTagConfigItem", Method: http.MethodGet, Path: base + "/{tagId}", Access: auth.Viewer, OpenSurface: true},
		{ID: "putTagConfigItem", Method: http.MethodPut, Path: base + "/{tagId}", Access: auth.Admin},
		{ID: "removeTagConfigItem", Method: http.MethodDelete, Path: base + "/{tagId}", Access: auth.Admin},
	}
}
