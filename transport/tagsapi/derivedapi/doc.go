// Package derivedapi is the REST API of derived tags: /api/v1/derived-tags.
package derivedapi
