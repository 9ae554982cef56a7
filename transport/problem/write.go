package problem

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/otkit/otkit/fault"
)

// Family is a form of error body.
type Family uint8

// The families of the service interface.
const (
	Problem Family = iota // problem details of RFC 9457, application/problem+json
	AAS                   // {errorCode, message}, application/json
	Result                // the Result object of IDTA-01002 part 2, application/json
)

// aasPaths are the surfaces whose error bodies are of the AAS family.
var aasPaths = [...]string{"/api/v1/aas", "/api/v1/aas-registry", "/api/v1/concept-descriptions", "/api/v1/submodels"}

// resultPaths are where the API of IDTA-01002 part 2 is served, or may be.
var resultPaths = [...]string{"/api/v3.0", "/api/v3.1", "/upload", "/shells", "/submodels", "/concept-descriptions",
	"/shell-descriptors", "/submodel-descriptors", "/bulk", "/lookup", "/packages", "/serialization", "/description",
	"/aas", "/submodel", "/query"}

// FamilyOf returns the family of the API that a URL path belongs to, for errors that are met
// before, or without, a handler.
func FamilyOf(path string) Family {
	for _, prefix := range resultPaths {
		if rest, ok := strings.CutPrefix(path, prefix); ok && (rest == "" || rest[0] == '/') {
			return Result
		}
	}
	for _, prefix := range aasPaths {
		if rest, ok := strings.CutPrefix(path, prefix); ok && (rest == "" || rest[0] == '/') {
			return AAS
		}
	}
	return Problem
}

// details is the body of RFC 9457 with otkit's extension members.
type details struct {
	Type     string            `json:"type"`
	Title    string            `json:"title"`
	Status   int               `json:"status"`
	Detail   string            `json:"detail"`
	Code     string            `json:"code"`
	Errors   []fault.Field     `json:"errors,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
	TraceID  string            `json:"traceId,omitempty"`
}

type aasError struct {
	ErrorCode string `json:"errorCode"`
	Message   string `json:"message"`
	TraceID   string `json:"traceId,omitempty"`
}

// Write answers a request with an error. Status 500 is logged with its cause under the trace id that
// the body carries, and the body has no text of an internal error. 401 gets WWW-Authenticate, 429 and
// 503 get Retry-After (in seconds) from the metadata retryAfter. A client that has gone is no failure:
// nothing is logged and no body is made. It must be called before anything else is written.
func Write(w http.ResponseWriter, r *http.Request, err error, family Family) {
	f, row := FaultOf(err), Lookup(err)
	h := w.Header()
	for _, name := range [...]string{"Content-Length", "Content-Encoding", "Etag", "Last-Modified"} {
		h.Del(name) // they spoke of the answer that is not given
	}
	if row.Status == StatusClientClosed {
		w.WriteHeader(row.Status)
		return
	}
	traceID := ""
	switch row.Status {
	case http.StatusInternalServerError:
		traceID = Report(r.Context(), err, slog.String("method", r.Method), slog.String("path", r.URL.Path),
			slog.String("subject", Subject(r.Context())))
	case http.StatusUnauthorized:
		if h.Get("WWW-Authenticate") == "" {
			h.Set("WWW-Authenticate", "Bearer")
		}
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		if after := f.Metadata["retryAfter"]; after != "" {
			h.Set("Retry-After", after)
		}
	}
	if family == Result && traceID == "" {
		traceID = TraceID(r.Context())
	}
	writeBody(w, f, row, family, traceID)
}

func writeBody(w http.ResponseWriter, f *fault.Error, row Row, family Family, traceID string) {
	var body any
	contentType := "application/problem+json"
	switch family {
	case AAS:
		contentType = "application/json"
		body = aasError{ErrorCode: row.Code, Message: Text(f), TraceID: traceID}
	case Result:
		contentType = "application/json"
		body = result{messagesOf(f, row, traceID, time.Now())}
	case Problem:
		d := details{Type: "about:blank", Title: http.StatusText(row.Status), Status: row.Status,
			Detail: text(f), Code: row.Code, TraceID: traceID}
		if f.Kind != fault.Internal {
			d.Errors, d.Metadata = f.Fields, f.Metadata
		}
		body = d
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(body); err != nil { // cannot be: strings and a map of strings
		buf.Reset()
	}
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(row.Status)
	_, _ = w.Write(buf.Bytes()) // the client may have gone; nothing can be answered then
}

// Text returns the text of an error for a body that has no member for fields.
func Text(f *fault.Error) string {
	if f.Kind == fault.Internal {
		return text(f)
	}
	plain := *f
	plain.Err = nil
	return plain.Error()
}
