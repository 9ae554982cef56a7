// Package gen is generated from the operations of openapi/openapi.yaml with the tag predictive: run make generate.
package gen
