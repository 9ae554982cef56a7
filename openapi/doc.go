// Package openapi has the OpenAPI document of the engine. The packages below it are generated from
// it: one server package for each family of operations, and a client.
package openapi
