// Package gen is generated from the operations of openapi/bridge.yaml: run make generate.
package gen
