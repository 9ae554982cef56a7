package problem

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/fault"
)

func answer(err error, family Family) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", "/", nil)
	w := httptest.NewRecorder()
	Write(w, r.WithContext(WithTrace(r.Context(), "", slog.New(slog.DiscardHandler))), err, family)
	return w
}

func TestHeaders(t *testing.T) {
	require.Equal(t, "Bearer", answer(fault.New(fault.Unauthenticated, "UNAUTHORIZED", "no token"), AAS).Header().Get("WWW-Authenticate"))

	for _, kind := range []fault.Kind{fault.TooMany, fault.Unavailable} {
		err := fault.New(kind, "X", "later")
		require.Empty(t, answer(err, Problem).Header().Values("Retry-After"))
		require.Equal(t, "7", answer(err.With("retryAfter", "7"), Problem).Header().Get("Retry-After"))
	}
	require.Empty(t, answer(fault.New(fault.Invalid, "X", "no").With("retryAfter", "7"), Problem).Header().Get("Retry-After"))

	w := httptest.NewRecorder()
	w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
	w.Header().Set("Content-Length", "3")
	Write(w, httptest.NewRequest("GET", "/", nil), fault.New(fault.Unauthenticated, "", "expired"), Problem)
	require.Equal(t, `Bearer error="invalid_token"`, w.Header().Get("WWW-Authenticate"))
	require.Empty(t, w.Header().Get("Content-Length"))
}

func TestBodies(t *testing.T) {
	err := ErrInvalidRequest.On("shell", "<urn:a&b>").Invalid(
		fault.Field{Field: "idShort", Message: "is required"}, fault.Field{Field: "id", Message: "is empty"},
	).Wrap(errors.New("SECRET"))

	require.JSONEq(t, `{"type":"about:blank","title":"Bad Request","status":400,
		"detail":"request is not valid: <urn:a&b>","code":"INVALID_REQUEST","metadata":{"shell":"<urn:a&b>"},
		"errors":[{"field":"idShort","message":"is required"},{"field":"id","message":"is empty"}]}`,
		answer(err, Problem).Body.String())
	require.JSONEq(t, `{"errorCode":"INVALID_REQUEST",
		"message":"request is not valid: <urn:a&b>: idShort is required; id is empty"}`, answer(err, AAS).Body.String())
}

func TestResult(t *testing.T) {
	messages := func(err error) []Message {
		w := answer(err, Result)
		require.Equal(t, "application/json", w.Header().Get("Content-Type"))
		var body struct{ Messages []Message }
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &body))
		for _, m := range body.Messages {
			require.Len(t, m.CorrelationID, 32)
			_, err := time.Parse(time.RFC3339, m.Timestamp)
			require.NoError(t, err)
			require.True(t, strings.HasSuffix(m.Timestamp, "Z"))
		}
		return body.Messages
	}
	wrong := messages(ErrInvalidRequest.Invalid(fault.Field{Field: "id", Message: "is empty"}, fault.Field{Field: "idShort", Message: "is required"}))
	require.Len(t, wrong, 2)
	require.Equal(t, "INVALID_REQUEST", wrong[0].Code)
	require.Equal(t, "Error", wrong[0].MessageType)
	require.Equal(t, "request is not valid: id is empty", wrong[0].Text)
	long := messages(fault.New(fault.AlreadyExists, "CONCEPT_DESCRIPTION_ALREADY_EXISTS", "there is one"))
	require.Equal(t, "ALREADY_EXISTS", long[0].Code, "a code has at most 32 characters")
	inner := messages(errors.New("SECRET"))
	require.Equal(t, []string{"INTERNAL_ERROR", "Exception", "internal error"}, []string{inner[0].Code, inner[0].MessageType, inner[0].Text})

	r := httptest.NewRequest("GET", "/", nil)
	ctx := WithTrace(r.Context(), NewTraceID(), slog.New(slog.DiscardHandler))
	part := Messages(ctx, errors.New("SECRET"), time.Now())
	require.Equal(t, TraceID(ctx), part[0].CorrelationID)
	require.NotContains(t, part[0].Text, "SECRET")
}

func TestFamilyOf(t *testing.T) {
	for path, want := range map[string]Family{
		"/api/v3.1": Result, "/api/v3.0/shells": Result, "/api/v3.1/submodels/x": Result, "/api/v3.10/shells": Problem, "/api/v3/shells": Problem,
		"/api/v1/aas": AAS, "/api/v1/aas/urn:a": AAS, "/api/v1/aas-registry/search": AAS, "/api/v1/submodels/x": AAS,
		"/api/v1/concept-descriptions": AAS, "/api/v1/aasx": Problem, "/api/v1/tags": Problem, "/": Problem, "": Problem,
		"/api/v1/submodels-x": Problem,
	} {
		require.Equal(t, want, FamilyOf(path), path)
	}
}

func TestTraceIDIsMadeWithoutMiddleware(t *testing.T) {
	var body struct{ TraceID string }
	require.NoError(t, json.Unmarshal(answer(errors.New("x"), Problem).Body.Bytes(), &body))
	require.Regexp(t, "^[0-9a-f]{32}$", body.TraceID)
}

func TestSubject(t *testing.T) {
	require.Empty(t, Subject(t.Context()))
	SetSubject(t.Context(), "nobody") // no scope: nothing happens
	ctx := WithTrace(t.Context(), "id", nil)
	require.Empty(t, Subject(ctx))
	SetSubject(ctx, "alice")
	require.Equal(t, "alice", Subject(ctx))
	require.Equal(t, "id", TraceID(ctx))
}

func TestThatThereIsNoModelYetIsAWarning(t *testing.T) {
	for level, err := range map[string]error{
		"WARN":  fault.New(fault.Unavailable, "MODEL_NOT_AVAILABLE", "no usable model"),
		"ERROR": errors.New("a defect"),
	} {
		var log bytes.Buffer
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		w := httptest.NewRecorder()
		Write(w, r.WithContext(WithTrace(r.Context(), "", slog.New(slog.NewTextHandler(&log, nil)))), err, Problem)
		require.Equal(t, http.StatusInternalServerError, w.Code)
		require.Contains(t, log.String(), "level="+level)
	}
}
