// Package openapi has the OpenAPI documents of the engine and of the bridge host. The packages below it are generated from
// them: a client of each.
package openapi
