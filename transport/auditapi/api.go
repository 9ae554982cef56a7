package auditapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/otkit/otkit/audit"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/auditapi/internal/gen"
	"github.com/otkit/otkit/transport/internal/restapi"
)

// Options are the options of [New]. The zero value works.
type Options struct {
	// Body wraps every handler, behind the guard. Default: none.
	Body func(http.Handler) http.Handler
}

// API is the REST API of the audit log.
type API struct {
	handlers *handlers
	body     func(http.Handler) http.Handler
}

// handlers implements the generated server.
type handlers struct{ log *audit.Log }

var _ gen.StrictServerInterface = (*handlers)(nil)

// New returns the API over a log.
func New(log *audit.Log, o Options) (*API, error) {
	if log == nil {
		return nil, errors.New("auditapi: log is required")
	}
	if o.Body == nil {
		o.Body = restapi.Unchanged
	}
	return &API{handlers: &handlers{log}, body: o.Body}, nil
}

const exportPath = "/api/v1/audit/export"

// Mount registers the routes.
func (a *API) Mount(r chi.Router) {
	server := gen.NewStrictHandlerWithOptions(a.handlers, nil,
		gen.StrictHTTPServerOptions{RequestErrorHandlerFunc: restapi.DecodeError, ResponseErrorHandlerFunc: restapi.Error})
	gen.HandlerWithOptions(server, gen.ChiServerOptions{BaseRouter: r, ErrorHandlerFunc: restapi.ParameterError,
		Middlewares: []gen.MiddlewareFunc{a.body}})
	r.Method(http.MethodGet, exportPath, a.body(http.HandlerFunc(a.handlers.export)))
}

// ListAudit implements GET /api/v1/audit.
func (h *handlers) ListAudit(ctx context.Context, r gen.ListAuditRequestObject) (gen.ListAuditResponseObject, error) {
	p := r.Params
	page, size := restapi.Or(p.Page, 1), restapi.Or(p.PageSize, 50)
	if page < 1 || page > 10_000_000 {
		return nil, audit.ErrInvalidQuery.Invalid(fault.Field{Field: "page", Message: "must be 1 to 10000000"})
	}
	if size < 1 {
		return nil, audit.ErrInvalidQuery.Invalid(fault.Field{Field: "pageSize", Message: "must be at least 1"})
	}
	q := audit.Query{From: p.Start, To: p.End, Actor: p.Actor, Action: p.Action, Object: p.Object, Outcome: audit.Outcome(p.Outcome),
		Before: p.Before, Offset: (page - 1) * size, Limit: size, Count: true}
	records, total, err := h.log.List(ctx, q)
	if err != nil {
		return nil, err
	}
	answer := gen.AuditPage{Items: make([]gen.AuditRecord, len(records)), TotalCount: total, Page: page, PageSize: size}
	for i, one := range records {
		answer.Items[i] = recordOf(one)
	}
	return gen.ListAudit200JSONResponse(answer), nil
}

// GetAuditRecord implements GET /api/v1/audit/{id}.
func (h *handlers) GetAuditRecord(ctx context.Context, r gen.GetAuditRecordRequestObject) (gen.GetAuditRecordResponseObject, error) {
	id, err := strconv.ParseInt(r.ID, 10, 64)
	if err != nil {
		return nil, audit.ErrRecordNotFound
	}
	one, err := h.log.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	return gen.GetAuditRecord200JSONResponse(recordOf(one)), nil
}

// VerifyAudit implements GET /api/v1/audit/verification.
func (h *handlers) VerifyAudit(ctx context.Context, r gen.VerifyAuditRequestObject) (gen.VerifyAuditResponseObject, error) {
	var known []audit.Link
	if p := r.Params; p.Seq != 0 || p.Hash != "" {
		hash, ok := audit.ParseHash(strings.ToLower(p.Hash))
		switch {
		case p.Seq < 1:
			return nil, audit.ErrInvalidQuery.Invalid(fault.Field{Field: "seq", Message: "must be at least 1, together with hash"})
		case !ok:
			return nil, audit.ErrInvalidQuery.Invalid(fault.Field{Field: "hash", Message: "must be 64 hexadecimal digits, together with seq"})
		}
		known = append(known, audit.Link{Seq: p.Seq, Hash: hash})
	}
	report, err := h.log.Verify(ctx, known...)
	if err != nil {
		return nil, err
	}
	return gen.VerifyAudit200JSONResponse{Intact: report.Intact(), Problem: report.Problem, ProblemSeq: report.Seq, Entries: report.Entries,
		Anchor: gen.AuditLink{Seq: report.Anchor.Seq, Hash: report.Anchor.Hash.String()},
		Head:   gen.AuditLink{Seq: report.Head.Seq, Hash: report.Head.Hash.String()}}, nil
}

func recordOf(r audit.Record) gen.AuditRecord {
	objects := r.Objects
	if objects == nil {
		objects = []string{}
	}
	return gen.AuditRecord{ID: r.ID, Time: r.Time, EndedAt: r.EndedAt, Actor: r.Actor, Principal: r.Principal, Role: r.Role, Session: r.Session,
		Address: r.Address, Via: r.Via, Action: r.Action, Objects: objects, Before: raw(r.Before), After: raw(r.After),
		Outcome: gen.AuditOutcome(r.Outcome), Code: r.Code, Detail: r.Detail, Hash: r.Hash.String()}
}

// raw returns stored JSON as it is; what is not JSON, because somebody changed it, as a string.
func raw(text string) json.RawMessage {
	if text == "" || json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	quoted, _ := json.Marshal(text) // cannot fail for a string
	return quoted
}
