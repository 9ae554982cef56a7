package openapi

import _ "embed"

// Document is openapi.yaml, of the engine.
//
//go:embed openapi.yaml
var Document []byte

// Bridge is bridge.yaml, of the bridge host.
//
//go:embed bridge.yaml
var Bridge []byte
