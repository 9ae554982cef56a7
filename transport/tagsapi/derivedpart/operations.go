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

		templates = "/api/v1/tag-templates"
		template  = templates + "/{id}"
		instance  = template + "/instances/{instanceId}"
	)
	return []auth.Operation{
		{ID: "listDerivedTags", Method: http.MethodGet, Path: list, Access: auth.Viewer, Gzip: true},
		{ID: "addDerivedTag", Method: http.MethodPost, Path: list, Access: auth.Admin},
		{ID: "tryDerivedTag", Method: http.MethodPost, Path: list + "/try", Access: auth.Admin, Unaudited: "reads only"},
		{ID: "getDerivedTag", Method: http.MethodGet, Path: one, Access: auth.Viewer},
		{ID: "replaceDerivedTag", Method: http.MethodPut, Path: one, Access: auth.Admin},
		{ID: "removeDerivedTag", Method: http.MethodDelete, Path: one, Access: auth.Admin},
		{ID: "listTagTemplates", Method: http.MethodGet, Path: templates, Access: auth.Viewer, Gzip: true},
		{ID: "addTagTemplate", Method: http.MethodPost, Path: templates, Access: auth.Admin},
		{ID: "getTagTemplate", Method: http.MethodGet, Path: template, Access: auth.Viewer},
		{ID: "replaceTagTemplate", Method: http.MethodPut, Path: template, Access: auth.Admin},
		{ID: "removeTagTemplate", Method: http.MethodDelete, Path: template, Access: auth.Admin},
		{ID: "listTagTemplateInstances", Method: http.MethodGet, Path: template + "/instances", Access: auth.Viewer, Gzip: true},
		{ID: "getTagTemplateInstance", Method: http.MethodGet, Path: instance, Access: auth.Viewer},
		{ID: "putTagTemplateInstance", Method: http.MethodPut, Path: instance, Access: auth.Admin},
		{ID: "removeTagTemplateInstance", Method: http.MethodDelete, Path: instance, Access: auth.Admin},
	}
}
