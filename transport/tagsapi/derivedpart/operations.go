package derivedpart

import (
	"net/http"

	"github.com/otkit/otkit/transport/auth"
)

// Operations are the operations of the part.
func Operations() []auth.Operation {
	const (
		list = "/api/v1/derived-tags"
		one  = list + "/{id}"
	)
	return []auth.Operation{
		{ID: "listDerivedTags", Method: http.MethodGet, Path: list, Access: auth.Viewer},
		{ID: "addDerivedTag", Method: http.MethodPost, Path: list, Access: auth.Admin},
		{ID: "tryDerivedTag", Method: http.MethodPost, Path: list + "/try", Access: auth.Admin, Unaudited: "reads only"},
		{ID: "getDerivedTag", Method: http.MethodGet, Path: one, Access: auth.Viewer},
		{ID: "replaceDerivedTag", Method: http.MethodPut, Path: one, Access: auth.Admin},
		{ID: "removeDerivedTag", Method: http.MethodDelete, Path: one, Access: auth.Admin},
	}
}
