// Package gen is generated from the operations of openapi/openapi.yaml with the tag engines: run make generate.
package gen
