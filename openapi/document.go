package openapi

import _ "embed"

// Document is openapi.yaml.
//
//go:embed openapi.yaml
var Document []byte
