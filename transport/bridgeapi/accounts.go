package bridgeapi

import (
	"context"
	"crypto/subtle"
	"time"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/bridgeapi/internal/gen"
	"github.com/otkit/otkit/transport/internal/restapi"
	"github.com/otkit/otkit/transport/problem"
)

var (
	errSetupDone = fault.New(fault.Conflict, "SETUP_DONE", "the first account exists already")
	errSetupCode = fault.New(fault.Forbidden, "SETUP_CODE", "from another machine the first account needs the set-up code, which the bridge prints when it starts")
	errNoSession = fault.New(fault.Conflict, "OUTSIDE_SESSION", "the token is of no account")
)

// Roles of a bridge and those of package accounts.
var (
	roleOf = map[gen.Role]accounts.Role{gen.Admin: accounts.Admin, gen.Viewer: accounts.Viewer}
	named  = map[accounts.Role]gen.Role{accounts.Admin: gen.Admin, accounts.Operator: gen.Viewer, accounts.Viewer: gen.Viewer}
)

func accountOf(a accounts.Account) gen.Account {
	return gen.Account{Username: a.Name, Role: named[a.Role], CreatedAt: a.CreatedAt}
}

// GetAuthState implements GET /api/bridge/auth/state.
func (h *handlers) GetAuthState(ctx context.Context, _ gen.GetAuthStateRequestObject) (gen.GetAuthStateResponseObject, error) {
	list, err := h.Accounts.List(ctx)
	if err != nil {
		return nil, err
	}
	first := len(list) == 0
	return gen.GetAuthState200JSONResponse{SetupRequired: first, SetupCodeRequired: first && !h.o.Caller(ctx).Local}, nil
}

// Setup implements POST /api/bridge/auth/setup.
func (h *handlers) Setup(ctx context.Context, r gen.SetupRequestObject) (gen.SetupResponseObject, error) {
	switch {
	case r.Body == nil || r.Body.Username == "":
		return nil, restapi.Required("username")
	case r.Body.Password == "":
		return nil, restapi.Required("password")
	}
	select { // one after the other: the second one finds the account of the first
	case <-h.setup:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { h.setup <- struct{}{} }()
	list, err := h.Accounts.List(ctx)
	switch {
	case err != nil:
		return nil, err
	case len(list) > 0:
		return nil, errSetupDone
	case !h.o.Caller(ctx).Local && !h.isSetupCode(r.Body.SetupCode):
		return nil, errSetupCode
	}
	if err := h.Accounts.Add(ctx, r.Body.Username, r.Body.Password, accounts.Admin); err != nil {
		return nil, err
	}
	return gen.Setup201JSONResponse{Username: r.Body.Username, Role: gen.Admin, CreatedAt: h.o.Now().UTC().Truncate(time.Microsecond)}, nil
}

func (h *handlers) isSetupCode(code string) bool {
	return h.o.SetupCode != "" && subtle.ConstantTimeCompare([]byte(code), []byte(h.o.SetupCode)) == 1
}

// Login implements POST /api/bridge/auth/login.
func (h *handlers) Login(ctx context.Context, r gen.LoginRequestObject) (gen.LoginResponseObject, error) {
	var missing []fault.Field
	if r.Body == nil || r.Body.Username == "" {
		missing = append(missing, fault.Field{Field: "username", Message: restapi.IsRequired})
	}
	if r.Body == nil || r.Body.Password == "" {
		missing = append(missing, fault.Field{Field: "password", Message: restapi.IsRequired})
	}
	if len(missing) > 0 {
		return nil, problem.ErrInvalidRequest.Invalid(missing...)
	}
	grant, err := h.Authority.Login(ctx, r.Body.Username, r.Body.Password, remoteOf(ctx))
	if err != nil {
		return nil, err
	}
	return gen.Login200JSONResponse(tokens(grant)), nil
}

// Refresh implements POST /api/bridge/auth/refresh.
func (h *handlers) Refresh(ctx context.Context, r gen.RefreshRequestObject) (gen.RefreshResponseObject, error) {
	if r.Body == nil || r.Body.RefreshToken == "" {
		return nil, restapi.Required("refreshToken")
	}
	grant, err := h.Authority.Refresh(ctx, r.Body.RefreshToken)
	if err != nil {
		return nil, err
	}
	return gen.Refresh200JSONResponse(tokens(grant)), nil
}

// Logout implements POST /api/bridge/auth/logout.
func (h *handlers) Logout(ctx context.Context, _ gen.LogoutRequestObject) (gen.LogoutResponseObject, error) {
	if h.o.Caller(ctx).Engine {
		return nil, errNoSession
	}
	if err := h.Authority.Logout(ctx); err != nil {
		return nil, err
	}
	return gen.Logout204Response{}, nil
}

func tokens(g Grant) gen.Tokens {
	roles := make([]gen.Role, len(g.Roles))
	for i, r := range g.Roles {
		roles[i] = named[accounts.Role(r)]
	}
	return gen.Tokens{AccessToken: g.AccessToken, TokenType: gen.Bearer, ExpiresIn: int(g.ExpiresIn.Seconds()), ExpiresAt: g.ExpiresAt,
		RefreshToken: g.RefreshToken, Roles: roles}
}

// ChangePassword implements POST /api/bridge/auth/password.
func (h *handlers) ChangePassword(ctx context.Context, r gen.ChangePasswordRequestObject) (gen.ChangePasswordResponseObject, error) {
	switch {
	case r.Body == nil || r.Body.CurrentPassword == "":
		return nil, restapi.Required("currentPassword")
	case r.Body.NewPassword == "":
		return nil, restapi.Required("newPassword")
	}
	session := h.o.Caller(ctx).SessionID
	if session == "" {
		return nil, errNoSession
	}
	if err := h.Accounts.ChangePassword(ctx, session, r.Body.CurrentPassword, r.Body.NewPassword, remoteOf(ctx)); err != nil {
		return nil, err
	}
	return gen.ChangePassword204Response{}, nil
}

// ListAccounts implements GET /api/bridge/auth/accounts.
func (h *handlers) ListAccounts(ctx context.Context, _ gen.ListAccountsRequestObject) (gen.ListAccountsResponseObject, error) {
	list, err := h.Accounts.List(ctx)
	if err != nil {
		return nil, err
	}
	out := make(gen.ListAccounts200JSONResponse, len(list))
	for i, a := range list {
		out[i] = accountOf(a)
	}
	return out, nil
}

// AddAccount implements POST /api/bridge/auth/accounts.
func (h *handlers) AddAccount(ctx context.Context, r gen.AddAccountRequestObject) (gen.AddAccountResponseObject, error) {
	switch {
	case r.Body == nil || r.Body.Username == "":
		return nil, restapi.Required("username")
	case r.Body.Password == "":
		return nil, restapi.Required("password")
	case !r.Body.Role.Valid():
		return nil, problem.ErrInvalidRequest.Invalid(fault.Field{Field: "role", Message: "must be admin or viewer"})
	}
	if err := h.Accounts.Add(ctx, r.Body.Username, r.Body.Password, roleOf[r.Body.Role]); err != nil {
		return nil, err
	}
	return gen.AddAccount201JSONResponse{Username: r.Body.Username, Role: r.Body.Role, CreatedAt: h.o.Now().UTC().Truncate(time.Microsecond)}, nil
}

// RemoveAccount implements DELETE /api/bridge/auth/accounts/{name}.
func (h *handlers) RemoveAccount(ctx context.Context, r gen.RemoveAccountRequestObject) (gen.RemoveAccountResponseObject, error) {
	if err := h.Accounts.Delete(ctx, r.Name, nil); err != nil { // atomic: two admins cannot remove each other in the same moment
		return nil, err
	}
	return gen.RemoveAccount204Response{}, nil
}
