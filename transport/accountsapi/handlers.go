package accountsapi

import (
	"context"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/accountsapi/internal/gen"
	"github.com/otkit/otkit/transport/problem"
)

// handlers implements the generated server.
type handlers struct {
	authority Authority
	accounts  Accounts
	caller    func(context.Context) Caller
}

var _ gen.StrictServerInterface = (*handlers)(nil)

// Login implements POST /api/v1/auth/login.
func (a *handlers) Login(ctx context.Context, r gen.LoginRequestObject) (gen.LoginResponseObject, error) {
	if err := checkLogin(r.Body); err != nil {
		return nil, err
	}
	grant, err := a.authority.Login(ctx, r.Body.Username, r.Body.Password, remoteOf(ctx))
	if err != nil {
		return nil, err
	}
	return gen.Login200JSONResponse{TokensJSONResponse: tokens(grant)}, nil
}

// checkLogin returns an error that names what is missing in the body of a login.
func checkLogin(body *gen.LoginRequest) error {
	var missing []fault.Field
	if body == nil || body.Username == "" {
		missing = append(missing, fault.Field{Field: "username", Message: "is required"})
	}
	if body == nil || body.Password == "" {
		missing = append(missing, fault.Field{Field: "password", Message: "is required"})
	}
	if len(missing) > 0 {
		return problem.ErrInvalidRequest.Invalid(missing...)
	}
	return nil
}

// Refresh implements POST /api/v1/auth/refresh.
func (a *handlers) Refresh(ctx context.Context, r gen.RefreshRequestObject) (gen.RefreshResponseObject, error) {
	if r.Body == nil || r.Body.RefreshToken == "" {
		return nil, problem.ErrInvalidRequest.Invalid(fault.Field{Field: "refreshToken", Message: "is required"})
	}
	grant, err := a.authority.Refresh(ctx, r.Body.RefreshToken)
	if err != nil {
		return nil, err
	}
	return gen.Refresh200JSONResponse{TokensJSONResponse: tokens(grant)}, nil
}

// Logout implements POST /api/v1/auth/logout.
func (a *handlers) Logout(ctx context.Context, _ gen.LogoutRequestObject) (gen.LogoutResponseObject, error) {
	if err := a.authority.Logout(ctx); err != nil {
		return nil, err
	}
	return gen.Logout204Response{}, nil
}

func tokens(g Grant) gen.TokensJSONResponse {
	return gen.TokensJSONResponse{
		AccessToken: g.AccessToken, TokenType: gen.Bearer, ExpiresIn: int(g.ExpiresIn.Seconds()),
		ExpiresAt: g.ExpiresAt, RefreshToken: g.RefreshToken, Roles: rolesOf(g),
	}
}

func rolesOf(g Grant) []gen.Role {
	roles := make([]gen.Role, len(g.Roles))
	for i, r := range g.Roles {
		roles[i] = gen.Role(r)
	}
	return roles
}
