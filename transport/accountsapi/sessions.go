package accountsapi

import (
	"context"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/accountsapi/internal/gen"
	"github.com/otkit/otkit/transport/internal/restapi"
	"github.com/otkit/otkit/transport/problem"
)

const (
	defaultPageSize = 50
	maxPageSize     = 500
)

var (
	// errNoAccount refuses what concerns the own account of a caller that has none.
	errNoAccount = fault.New(fault.Conflict, "OUTSIDE_SESSION", "the token is of another issuer: it has no account and no session here")
	errForbidden = fault.New(fault.Forbidden, "FORBIDDEN", "sessions of other accounts need the role Admin")
	errPageSize  = fault.New(fault.Invalid, "PAGE_SIZE_EXCEEDED", "page size is above its maximum")
)

// ChangePassword implements POST /api/v1/auth/password.
func (a *handlers) ChangePassword(ctx context.Context, r gen.ChangePasswordRequestObject) (gen.ChangePasswordResponseObject, error) {
	switch {
	case r.Body == nil || r.Body.CurrentPassword == "":
		return nil, restapi.Required("currentPassword")
	case r.Body.NewPassword == "":
		return nil, restapi.Required("newPassword")
	}
	caller := a.caller(ctx)
	if caller.SessionID == "" {
		return nil, errNoAccount
	}
	if err := a.accounts.ChangePassword(ctx, caller.SessionID, r.Body.CurrentPassword, r.Body.NewPassword, remoteOf(ctx)); err != nil {
		return nil, err
	}
	return gen.ChangePassword204Response{}, nil
}

// account returns the account whose sessions a call concerns: the one that it names, or the caller's own.
func (a *handlers) account(ctx context.Context, named string) (string, error) {
	caller := a.caller(ctx)
	switch {
	case named != "" && caller.Account != "" && accounts.FoldName(named) == accounts.FoldName(caller.Account):
		return caller.Account, nil
	case named != "" && !caller.Admin:
		return "", errForbidden
	case named != "":
		return named, nil
	case caller.Account == "":
		return "", errNoAccount
	}
	return caller.Account, nil
}

// ListSessions implements GET /api/v1/auth/sessions.
func (a *handlers) ListSessions(ctx context.Context, r gen.ListSessionsRequestObject) (gen.ListSessionsResponseObject, error) {
	page, size := restapi.Or(r.Params.Page, 1), restapi.Or(r.Params.PageSize, defaultPageSize)
	if err := checkPage(page, size); err != nil {
		return nil, err
	}
	var account string
	var err error
	if !r.Params.All {
		account, err = a.account(ctx, r.Params.Account)
	} else if !a.caller(ctx).Admin {
		err = errForbidden
	}
	if err != nil {
		return nil, err
	}
	list, err := a.accounts.Sessions(ctx, account)
	if err != nil {
		return nil, err
	}
	first := min((page-1)*size, len(list))
	answer := gen.SessionPage{Items: []gen.Session{}, TotalCount: int64(len(list)), Page: page, PageSize: size}
	own := a.caller(ctx).SessionID
	for _, s := range list[first:min(first+size, len(list))] {
		answer.Items = append(answer.Items, gen.Session{ID: s.ID, Account: s.Account, Address: s.Address, CreatedAt: s.CreatedAt,
			RefreshedAt: s.RefreshedAt, ExpiresAt: s.ExpiresAt, Current: s.ID == own})
	}
	return gen.ListSessions200JSONResponse(answer), nil
}

func checkPage(page, size int) error {
	switch {
	case size > maxPageSize:
		return errPageSize.Invalid(fault.Field{Field: "pageSize", Message: "must be at most 500"})
	case size < 1:
		return problem.ErrInvalidRequest.Invalid(fault.Field{Field: "pageSize", Message: "must be at least 1"})
	case page < 1 || page > 1_000_000:
		return problem.ErrInvalidRequest.Invalid(fault.Field{Field: "page", Message: "must be 1 to 1000000"})
	}
	return nil
}

// EndSessions implements DELETE /api/v1/auth/sessions.
func (a *handlers) EndSessions(ctx context.Context, r gen.EndSessionsRequestObject) (gen.EndSessionsResponseObject, error) {
	account, err := a.account(ctx, r.Params.Account)
	if err != nil {
		return nil, err
	}
	if err := a.accounts.EndSessions(ctx, account, a.caller(ctx).SessionID); err != nil {
		return nil, err
	}
	return gen.EndSessions204Response{}, nil
}

// EndSession implements DELETE /api/v1/auth/sessions/{sessionId}.
func (a *handlers) EndSession(ctx context.Context, r gen.EndSessionRequestObject) (gen.EndSessionResponseObject, error) {
	caller := a.caller(ctx)
	account := caller.Account
	switch {
	case caller.Admin:
		account = ""
	case account == "":
		return nil, errNoAccount
	}
	if err := a.accounts.EndSession(ctx, account, r.SessionID); err != nil {
		return nil, err
	}
	return gen.EndSession204Response{}, nil
}
