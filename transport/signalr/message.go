package signalr

import (
	"encoding/json"
	"errors"
)

// separator ends every message of the JSON hub protocol.
const separator = 0x1E

// Types of messages that are sent or understood. All others are read over, as the protocol asks.
const (
	typeInvocation       = 1
	typeStreamInvocation = 4
	typeCompletion       = 3
	typePing             = 6
	typeClose            = 7
)

// message is what a client may send, as far as it matters here.
type message struct {
	Type         *int    `json:"type"`
	InvocationID *string `json:"invocationId"`
}

type invocation struct {
	Type      int    `json:"type"`
	Target    string `json:"target"`
	Arguments []any  `json:"arguments"`
}

type completion struct {
	Type         int    `json:"type"`
	InvocationID string `json:"invocationId"`
	Error        string `json:"error"`
}

type bare struct {
	Type int `json:"type"`
}

type closing struct {
	Type           int    `json:"type"`
	Error          string `json:"error,omitempty"`
	AllowReconnect bool   `json:"allowReconnect,omitempty"`
}

type handshakeRequest struct {
	Protocol string `json:"protocol"`
	Version  int    `json:"version"`
}

type handshakeResponse struct {
	Error string `json:"error,omitempty"`
}

// encode makes a message with its separator.
func encode(m any) ([]byte, error) {
	data, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	return append(data, separator), nil
}

// encodeOwn is for messages of which every value can be encoded.
func encodeOwn(m any) []byte {
	data, _ := encode(m)
	return data
}

// parseMessage reads one message without its separator.
func parseMessage(record []byte) (message, error) {
	var m message
	if err := json.Unmarshal(record, &m); err != nil {
		return m, err
	}
	if m.Type == nil {
		return m, errors.New("type is missing")
	}
	return m, nil
}

// checkHandshake tells what is wrong with the first message of a client; "" when nothing is.
func checkHandshake(record []byte) string {
	var r handshakeRequest
	switch err := json.Unmarshal(record, &r); {
	case err != nil:
		return "The handshake is not valid."
	case r.Protocol != "json":
		return "The protocol is not supported, only 'json' is."
	case r.Version != 1:
		return "The version of the 'json' protocol is not supported, only 1 is."
	}
	return ""
}
