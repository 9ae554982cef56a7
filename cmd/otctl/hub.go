package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/otkit/otkit/openapi/client"
)

const (
	consoleHub   = "/hubs/console"
	hubSeparator = "\x1e" // ends each message of the hub's protocol
)

// Types of messages of a hub (the SignalR protocol in JSON).
const (
	hubInvocation = 1
	hubCompletion = 3
	hubClose      = 7
)

// hubMessage is what a hub sends.
type hubMessage struct {
	Type      int               `json:"type"` // 0 for the answer to the handshake
	Target    string            `json:"target"`
	Arguments []json.RawMessage `json:"arguments"`
	Result    json.RawMessage   `json:"result"`
	Error     string            `json:"error"`
}

// openHub connects to the hub of consoles by server-sent events, which need nothing that the REST API does not, and invokes a method. Its
// answer comes in the stream.
func (conn *connection) openHub(ctx context.Context, method string, args ...any) (*http.Response, error) {
	negotiated, _, err := get[struct{ ConnectionToken string }](conn.send(ctx, http.MethodPost, consoleHub+"/negotiate", url.Values{"negotiateVersion": {"1"}}, nil, nil))
	if err != nil {
		return nil, err
	}
	query := url.Values{"id": {negotiated.ConnectionToken}}
	answer, err := conn.send(ctx, http.MethodGet, consoleHub, query, http.Header{"Accept": {"text/event-stream"}}, nil)
	if err := check(answer, err); err != nil {
		return nil, err
	}
	asked, err := json.Marshal(map[string]any{"type": hubInvocation, "invocationId": "1", "target": method, "arguments": args})
	if err == nil {
		err = conn.sendToHub(ctx, query, `{"protocol":"json","version":1}`, string(asked))
	}
	if err != nil {
		return nil, errors.Join(err, answer.Body.Close())
	}
	return answer, nil
}

func (conn *connection) sendToHub(ctx context.Context, query url.Values, messages ...string) error {
	text := strings.Join(messages, hubSeparator) + hubSeparator
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, conn.server+consoleHub+"?"+query.Encode(), strings.NewReader(text))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "text/plain;charset=UTF-8")
	_, err = receive(conn.sender.Do(r))
	return err
}

// hubMessages hands over the messages of an event. One that closes the connection is an error.
func hubMessages(data []byte, each func(hubMessage) error) error {
	for one := range bytes.SplitSeq(bytes.TrimSpace(data), []byte(hubSeparator)) {
		if len(one) == 0 {
			continue
		}
		var m hubMessage
		if err := json.Unmarshal(one, &m); err != nil {
			return fmt.Errorf("a message of the hub is not valid: %w", err)
		}
		switch {
		case m.Type == hubClose:
			return fmt.Errorf("the engine ended the stream: %w", cmp.Or(optional(m.Error), io.EOF))
		case m.Type == 0 && m.Error != "":
			return errors.New(m.Error)
		}
		if err := each(m); err != nil {
			return err
		}
	}
	return nil
}

// optional returns an error with a text, nil if it is empty.
func optional(text string) error {
	if text == "" {
		return nil
	}
	return errors.New(text)
}

// transition is what happened to an alarm.
type transition struct {
	Position string            `json:"position"` // empty while it cannot be stored; it comes again when it is
	Kind     string            `json:"kind"`
	At       string            `json:"at"`
	By       string            `json:"by"`
	Comment  string            `json:"comment"`
	Code     int64             `json:"code"`
	Until    string            `json:"until,omitempty"`
	Alarm    *client.AlarmInfo `json:"alarm"` // nil for a condition that never had an alarm
}
