// Package shared has the types of the OpenAPI document that several domains use, generated once.
//
// To add one, name it in overlay.yaml and in SHARED of the Makefile, and run make generate.
package shared
