package bridgeapi

import (
	"context"
	"encoding/json"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/audit"
	"github.com/otkit/otkit/transport/bridgeapi/internal/gen"
	"github.com/otkit/otkit/transport/internal/restapi"
)

// ListAudit implements GET /api/bridge/audit.
func (h *handlers) ListAudit(ctx context.Context, r gen.ListAuditRequestObject) (gen.ListAuditResponseObject, error) {
	p := r.Params
	page, size := restapi.Or(p.Page, 1), restapi.Or(p.PageSize, 50)
	if err := checkPage(page, size); err != nil {
		return nil, err
	}
	records, total, err := h.Audit.List(ctx, audit.Query{From: p.Start, To: p.End, Actor: p.Actor, Action: p.Action,
		Outcome: audit.Outcome(p.Outcome), Before: p.Before, Offset: (page - 1) * size, Limit: size, Count: true})
	if err != nil {
		return nil, err
	}
	answer := gen.ListAudit200JSONResponse{Items: make([]gen.AuditRecord, len(records)), TotalCount: total, Page: page, PageSize: size}
	for i, one := range records {
		answer.Items[i] = recordOf(one)
	}
	return answer, nil
}

// VerifyAudit implements GET /api/bridge/audit/verification.
func (h *handlers) VerifyAudit(ctx context.Context, _ gen.VerifyAuditRequestObject) (gen.VerifyAuditResponseObject, error) {
	report, err := h.Audit.Verify(ctx)
	if err != nil {
		return nil, err
	}
	return gen.VerifyAudit200JSONResponse{Intact: report.Intact(), Problem: report.Problem, ProblemSeq: report.Seq, Entries: report.Entries,
		Anchor: gen.AuditLink{Seq: report.Anchor.Seq, Hash: report.Anchor.Hash.String()},
		Head:   gen.AuditLink{Seq: report.Head.Seq, Hash: report.Head.Hash.String()}}, nil
}

func recordOf(r audit.Record) gen.AuditRecord {
	return gen.AuditRecord{ID: r.ID, Time: r.Time, EndedAt: r.EndedAt, Actor: r.Actor, Principal: r.Principal, Role: roleName(r.Role), Session: r.Session,
		Address: r.Address, Via: r.Via, Action: r.Action, Objects: append([]string{}, r.Objects...), Before: raw(r.Before), After: raw(r.After),
		Outcome: gen.AuditOutcome(r.Outcome), Code: r.Code, Detail: r.Detail, Hash: r.Hash.String()}
}

// roleName returns a role as the bridge's accounts have it.
func roleName(role string) string {
	if name, ok := named[accounts.Role(role)]; ok {
		return string(name)
	}
	return role
}

// raw returns stored JSON as it is; what is not JSON, because somebody changed it, as a string.
func raw(text string) json.RawMessage {
	if text == "" || json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	quoted, _ := json.Marshal(text) // cannot fail for a string
	return quoted
}
