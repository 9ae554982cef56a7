package signalr

import (
	"encoding/json"
	"errors"
	"slices"
)

// separator ends every message of the JSON hub protocol, and the handshake of any.
const separator = 0x1E

// protocol is the encoding of messages. A handshake is always in JSON, and chooses it.
type protocol uint8

const (
	jsonProtocol protocol = iota
	messagePack
)

// protocolNames are the names in a handshake.
var protocolNames = [...]string{jsonProtocol: "json", messagePack: "messagepack"}

func (p protocol) String() string { return protocolNames[p] }

// encode returns a message of the hub's own, of which every value can be encoded.
func (p protocol) encode(m ownMessage) []byte {
	if p == messagePack {
		return packed(m.array())
	}
	return encodeOwn(m)
}

// parse reads one message, without its separator or length.
func (p protocol) parse(record []byte) (message, error) {
	if p == messagePack {
		return parsePacked(record)
	}
	return parseMessage(record)
}

// Types of messages that are sent or understood. All others are ignored, as the protocol requires.
const (
	typeInvocation       = 1
	typeStreamInvocation = 4
	typeCompletion       = 3
	typePing             = 6
	typeClose            = 7
)

// message is what a client may send, as far as it matters here.
type message struct {
	Type         *int            `json:"type"`
	InvocationID *string         `json:"invocationId"`
	Target       string          `json:"target"`
	Arguments    json.RawMessage `json:"arguments"` // an array
	wrong        error           // why Arguments cannot be had
}

// ownMessage is a struct for JSON, with the array for MessagePack.
type ownMessage interface{ array() []any }

type invocation struct {
	Type      int    `json:"type"`
	Target    string `json:"target"`
	Arguments []any  `json:"arguments"`
}

type completion struct {
	Type         int             `json:"type"`
	InvocationID string          `json:"invocationId"`
	Error        string          `json:"error,omitempty"`
	Result       json.RawMessage `json:"result,omitempty"`
}

func (m completion) array() []any {
	const withError, void, withResult = 1, 2, 3
	switch {
	case m.Error != "":
		return []any{m.Type, noHeaders, m.InvocationID, withError, m.Error}
	case m.Result == nil:
		return []any{m.Type, noHeaders, m.InvocationID, void}
	}
	var result any
	decodeNumbers(m.Result, &result)
	return []any{m.Type, noHeaders, m.InvocationID, withResult, withNumbers(result)}
}

type bare struct {
	Type int `json:"type"`
}

func (m bare) array() []any { return []any{m.Type} }

type closing struct {
	Type           int    `json:"type"`
	Error          string `json:"error,omitempty"`
	AllowReconnect bool   `json:"allowReconnect,omitempty"`
}

func (m closing) array() []any {
	if m.Error == "" {
		return []any{m.Type, nil, m.AllowReconnect}
	}
	return []any{m.Type, m.Error, m.AllowReconnect}
}

type handshakeRequest struct {
	Protocol string `json:"protocol"`
	Version  *int   `json:"version"`
}

type handshakeResponse struct {
	Error string `json:"error,omitempty"`
}

// encode returns a message with its separator.
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

// parseMessage parses one message without its separator.
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

// parseHandshake parses the first message of a client on a transport. wrong describes the error, "" for none. A client that
// negotiated version 0 may send 0 as the version of the protocol, although the only version is 1.
func parseHandshake(record []byte, t transport) (p protocol, version int, wrong string) {
	var r handshakeRequest
	if err := json.Unmarshal(record, &r); err != nil {
		return 0, 0, "The handshake is not valid."
	}
	at := slices.Index(protocolNames[:], r.Protocol)
	if at < 0 {
		return 0, 0, "The protocol is not supported, only 'json' and 'messagepack' are."
	}
	p = protocol(at)
	switch {
	case r.Version == nil || *r.Version != 0 && *r.Version != 1:
		return 0, 0, "The version of the '" + r.Protocol + "' protocol is not supported, only 1 is."
	case p == messagePack && t == serverSentEvents:
		return 0, 0, "The 'messagepack' protocol is not supported with server-sent events, which are text; 'json' is."
	}
	return p, *r.Version, ""
}
