// Package contract holds the requests and the answers of tests to an OpenAPI document.
package contract

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/transport/problem"
)

// Contract is an OpenAPI document as a judge of requests and answers.
type Contract struct {
	requests routers.Router
	answers  routers.Router // knows of no members but those in the document
	schemas  openapi3.Schemas
}

var registerFiles = sync.OnceFunc(func() {
	for _, file := range []string{"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "text/csv", "application/yaml",
		"application/asset-administration-shell-package"} {
		openapi3filter.RegisterBodyDecoder(file, openapi3filter.PlainBodyDecoder)
	}
})

// New reads a document.
func New(document []byte) (*Contract, error) {
	registerFiles()
	lenient, err := openapi3.NewLoader().LoadFromData(document)
	if err != nil {
		return nil, err
	}
	strict, err := openapi3.NewLoader().LoadFromData(document)
	if err != nil {
		return nil, err
	}
	if err := strict.Validate(context.Background()); err != nil {
		return nil, err
	}
	for _, s := range strict.Components.Schemas {
		if len(s.Value.Properties) > 0 && s.Value.AdditionalProperties.Has == nil {
			no := false
			s.Value.AdditionalProperties = openapi3.BoolSchema{Has: &no}
		}
	}
	c := &Contract{schemas: strict.Components.Schemas}
	if c.requests, err = gorillamux.NewRouter(lenient); err != nil {
		return nil, err
	}
	c.answers, err = gorillamux.NewRouter(strict)
	return c, err
}

// Schema returns a schema of the document by its name; nil if there is none.
func (c *Contract) Schema(name string) *openapi3.Schema {
	if s := c.schemas[name]; s != nil {
		return s.Value
	}
	return nil
}

type wrongOnPurpose struct{}

// Wrong marks a request that breaks the contract, so that only its answer is held to it.
func Wrong(ctx context.Context) context.Context {
	return context.WithValue(ctx, wrongOnPurpose{}, true)
}

// Judge returns a RoundTripper that holds every request and every answer to the contract.
func (c *Contract) Judge(t testing.TB, next http.RoundTripper) http.RoundTripper {
	return judge{c, t, next}
}

type judge struct {
	c    *Contract
	t    testing.TB
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (j judge) RoundTrip(r *http.Request) (*http.Response, error) {
	c := j.c
	var sent []byte
	var err error
	if r.Body != nil {
		if sent, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(sent))
	}
	if r.Context().Value(wrongOnPurpose{}) == nil {
		input := c.input(j.t, c.requests, r, sent)
		require.NotNil(j.t, input, "%s %s is not in the document", r.Method, r.URL)
		require.NoError(j.t, openapi3filter.ValidateRequest(r.Context(), input), "%s %s %s", r.Method, r.URL, sent)
	}
	resp, err := j.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return resp, nil
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	c.judgeAnswer(j.t, r, resp, body)
	return resp, nil
}

// judgeAnswer checks an answer; one that belongs to no operation must be a problem, or empty.
func (c *Contract) judgeAnswer(t testing.TB, r *http.Request, resp *http.Response, body []byte) {
	t.Helper()
	if r.Method == http.MethodHead {
		require.Empty(t, body)
		return
	}
	input := c.input(t, c.answers, r, nil)
	if input == nil {
		if resp.StatusCode == http.StatusNoContent || strings.HasPrefix(r.URL.Path, "/docs") || strings.HasPrefix(r.URL.Path, "/hubs/") && resp.StatusCode < 300 {
			return
		}
		switch problem.FamilyOf(r.URL.Path) {
		case problem.Result: // has a document of its own
		case problem.AAS:
			require.Equal(t, "application/json", resp.Header.Get("Content-Type"), "%s %s: %s", r.Method, r.URL, body)
			require.NoError(t, c.Schema("AASError").VisitJSON(value(t, body)), "%s", body)
		case problem.Problem:
			require.Equal(t, "application/problem+json", resp.Header.Get("Content-Type"), "%s %s: %s", r.Method, r.URL, body)
			require.NoError(t, c.Schema("Problem").VisitJSON(value(t, body)), "%s", body)
		}
		return
	}
	err := openapi3filter.ValidateResponse(r.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: resp.StatusCode, Header: resp.Header,
		Body: io.NopCloser(bytes.NewReader(body)), Options: input.Options,
	})
	require.NoError(t, err, "%s %s: %d %s", r.Method, r.URL, resp.StatusCode, body)
}

// input finds the operation of a request, nil for none.
func (c *Contract) input(t testing.TB, router routers.Router, r *http.Request, body []byte) *openapi3filter.RequestValidationInput {
	t.Helper()
	r = r.Clone(context.Background())
	r.Body = io.NopCloser(bytes.NewReader(body))
	if r.Method == http.MethodHead {
		r.Method = http.MethodGet
	}
	r.URL.RawPath = strings.NewReplacer("%3A", ":", "%3a", ":").Replace(r.URL.EscapedPath()) // the same path, RFC 3986
	route, params, err := router.FindRoute(r)
	if err != nil {
		return nil
	}
	return &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: route, Options: &openapi3filter.Options{
		AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true,
	}}
}

// value decodes JSON with its numbers as they are written.
func value(t testing.TB, body []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v any
	require.NoError(t, d.Decode(&v), "%s", body)
	return v
}
