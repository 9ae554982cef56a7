package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/otkit/otkit/openapi/client"
)

// connection is the engine that the flags name, and who calls it.
type connection struct {
	*client.Client
	sender *sender
	server string
}

// connect returns the connection of the command. It sends nothing.
func (c *cli) connect() (*connection, error) {
	if c.opened != nil {
		return c.opened, nil
	}
	store, err := openStore()
	if err != nil {
		return nil, err
	}
	server, err := c.chosenServer(store)
	if err != nil {
		return nil, err
	}
	sender, err := newSender(store, server, c.caFile)
	if err != nil {
		return nil, err
	}
	api, err := client.NewClient(server, client.WithHTTPClient(sender))
	if err != nil {
		return nil, err
	}
	c.opened = &connection{api, sender, server}
	return c.opened, nil
}

// chosenServer is that of the flag or the environment, else that of the last login.
func (c *cli) chosenServer(store *store) (string, error) {
	if c.server != "" {
		return serverURL(c.server)
	}
	saved, err := store.load()
	if err != nil {
		return "", err
	}
	return cmp.Or(saved.Current, "http://localhost:5001"), nil
}

// serverURL returns the address of an engine in the form in which sessions are kept.
func serverURL(text string) (string, error) {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", usagef("-server %q: http://HOST:PORT or https://HOST:PORT is expected", text)
	}
	return strings.ToLower(u.Scheme) + "://" + strings.ToLower(u.Host) + strings.TrimRight(u.EscapedPath(), "/"), nil
}

// send sends a request that the document does not have.
func (conn *connection) send(ctx context.Context, method, path string, query url.Values, header http.Header, body *upload) (*http.Response, error) {
	address := conn.server + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, method, address, nil)
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		r.Header[name] = values
	}
	if body != nil {
		if err := body.attach(r); err != nil {
			return nil, err
		}
	}
	return conn.sender.Do(r)
}

// apiError is an answer of the engine that is an error.
type apiError struct {
	status     int
	code       string // such as TAG_NOT_FOUND
	message    string
	retryAfter string
	policy     bool // a safety policy refuses a command
	server     string
	fixed      bool // the token of the environment was refused
}

func (e *apiError) Error() string {
	text := e.message
	if e.code != "" {
		text += " (" + e.code + ")"
	}
	switch {
	case e.fixed:
		text = fmt.Sprintf("%s does not accept the token in OTCTL_TOKEN: %s", e.server, text)
	case e.status == http.StatusUnauthorized:
		text = fmt.Sprintf(`not signed in to %s: %s; run "otctl login -server %[1]s"`, e.server, text)
	case e.code == "VERSION_CHANGED":
		text += "; nothing was done: look at it and try again"
	case e.retryAfter != "":
		text += "; try again after " + e.retryAfter + " s"
	}
	return text
}

// unsure reports whether the answer leaves it open that a change was carried out. What a proxy answers in place of the engine, without a
// code, tells nothing of a request that it has passed on.
func (e *apiError) unsure() bool {
	return e.status == http.StatusInternalServerError || e.status == http.StatusGatewayTimeout || e.status > 500 && e.code == ""
}

func (e *apiError) exitCode() int {
	switch {
	case e.policy, e.code == "READ_ONLY_TAG":
		return exitRefused
	case e.code == "OUTCOME_UNKNOWN", e.code == "WRITE_UNANSWERED", e.code == "DEVICES_UNANSWERED": // of an engine that the change was passed on to
		return exitUnknown
	}
	switch e.status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return exitForbidden
	case http.StatusNotFound:
		return exitNotFound
	case http.StatusBadRequest, http.StatusConflict, http.StatusPreconditionFailed, http.StatusRequestEntityTooLarge,
		http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity, http.StatusLocked:
		return exitRefused
	}
	return exitFailed
}

// maxError bounds what is read of an answer that is an error.
const maxError = 1 << 20

// check returns the error that an answer is, having closed it.
func check(r *http.Response, err error) error {
	if err != nil {
		return err
	}
	if r.StatusCode < 300 {
		return nil
	}
	defer r.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(r.Body, maxError)) // the status tells enough
	e := &apiError{status: r.StatusCode, message: http.StatusText(r.StatusCode), retryAfter: r.Header.Get("Retry-After")}
	if r.Request != nil {
		e.server = r.Request.URL.Scheme + "://" + r.Request.URL.Host
		token := os.Getenv("OTCTL_TOKEN")
		e.fixed = token != "" && r.StatusCode == http.StatusUnauthorized && r.Request.Header.Get("Authorization") == "Bearer "+token
	}
	var p struct {
		client.CommandRefusal
		ErrorCode string `json:"errorCode"`
		Messages  []struct {
			Code, Text string
		} `json:"messages"`
	}
	if json.Unmarshal(text, &p) != nil { // a proxy, perhaps
		e.message = fmt.Sprintf("%s %s answered %s", r.Request.Method, r.Request.URL.Path, r.Status)
		return e
	}
	e.code = cmp.Or(p.Code, p.ErrorCode)
	e.message = cmp.Or(p.Detail, p.Message, p.Title, e.message)
	if p.Reason != "" {
		e.message, e.policy = cmp.Or(p.Message, e.message)+": "+p.Reason, true
	}
	for _, m := range p.Messages {
		e.message, e.code = cmp.Or(m.Text, e.message), cmp.Or(e.code, m.Code)
	}
	for _, f := range p.Errors {
		e.message += "; " + f.Field + ": " + f.Message
	}
	if holder := p.Metadata["boundEngineId"]; holder != "" {
		e.message += "; bound to " + holder
	}
	return e
}

// receive reads an answer.
func receive(r *http.Response, err error) ([]byte, error) {
	if err := check(r, err); err != nil {
		return nil, err
	}
	defer r.Body.Close()
	return io.ReadAll(r.Body)
}

// get reads an answer and decodes it.
func get[T any](r *http.Response, err error) (v T, raw []byte, _ error) {
	if raw, err = receive(r, err); err != nil {
		return v, nil, err
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, nil, fmt.Errorf("the answer to %s %s is not what the API has: %w", r.Request.Method, r.Request.URL.Path, err)
	}
	return v, raw, nil
}

// change is get for a call that changes something: without an answer it is not known whether it did.
func change[T any](r *http.Response, err error) (v T, raw []byte, _ error) {
	v, raw, err = get[T](r, err)
	return v, raw, unsure(err)
}

// unsure gives the error of a call that changes something its exit code.
func unsure(err error) error {
	var (
		refused *apiError
		known   *failure
	)
	switch {
	case err == nil, errors.Is(err, errNotSent), errors.As(err, &known):
		return err
	case errors.As(err, &refused) && !refused.unsure():
		return err
	}
	return failf(exitUnknown, "no answer, so it may have been carried out: %w", err)
}

// pages reads all pages of a list, or the first items up to a limit, as one document of the same form.
func pages[T any](ctx context.Context, member string, size, limit int, ask func(page, size int) (*http.Response, error)) (items []T, raw []byte, err error) {
	var (
		parts []json.RawMessage
		total json.RawMessage
	)
	for page := 1; ; page++ {
		list, _, err := get[map[string]json.RawMessage](ask(page, size))
		if err != nil {
			return nil, nil, err
		}
		var some []json.RawMessage
		if err := json.Unmarshal(list[member], &some); err != nil {
			return nil, nil, err
		}
		parts, total = append(parts, some...), list["totalCount"]
		if limit > 0 && len(parts) >= limit {
			parts = parts[:limit]
			break
		}
		if len(some) < size || ctx.Err() != nil {
			break
		}
	}
	for _, part := range parts {
		var one T
		if err := json.Unmarshal(part, &one); err != nil {
			return nil, nil, err
		}
		items = append(items, one)
	}
	if parts == nil {
		parts = []json.RawMessage{}
	}
	raw, err = json.Marshal(map[string]any{member: parts, "totalCount": total})
	return items, raw, err
}
