// Package derivedapi is the REST API of derived tags and templates: /api/v1/derived-tags and /api/v1/tag-templates.
package derivedapi
