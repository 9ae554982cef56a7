package rest

import (
	"context"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/openapi/authapi"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/problem"
)

// Auth serves the authentication surface.
type Auth struct {
	Authority *auth.Authority
}

var _ authapi.StrictServerInterface = (*Auth)(nil)

// Login implements POST /api/v1/auth/login.
func (a *Auth) Login(ctx context.Context, r authapi.LoginRequestObject) (authapi.LoginResponseObject, error) {
	var missing []fault.Field
	if r.Body == nil || r.Body.Username == "" {
		missing = append(missing, fault.Field{Field: "username", Message: "is required"})
	}
	if r.Body == nil || r.Body.Password == "" {
		missing = append(missing, fault.Field{Field: "password", Message: "is required"})
	}
	if len(missing) > 0 {
		return nil, problem.ErrInvalidRequest.Invalid(missing...)
	}
	grant, err := a.Authority.Login(ctx, r.Body.Username, r.Body.Password, remoteOf(ctx))
	if err != nil {
		return nil, err
	}
	return authapi.Login200JSONResponse{TokensJSONResponse: tokens(grant)}, nil
}

// Refresh implements POST /api/v1/auth/refresh.
func (a *Auth) Refresh(ctx context.Context, r authapi.RefreshRequestObject) (authapi.RefreshResponseObject, error) {
	if r.Body == nil || r.Body.RefreshToken == "" {
		return nil, problem.ErrInvalidRequest.Invalid(fault.Field{Field: "refreshToken", Message: "is required"})
	}
	grant, err := a.Authority.Refresh(ctx, r.Body.RefreshToken)
	if err != nil {
		return nil, err
	}
	return authapi.Refresh200JSONResponse{TokensJSONResponse: tokens(grant)}, nil
}

// Logout implements POST /api/v1/auth/logout.
func (a *Auth) Logout(ctx context.Context, _ authapi.LogoutRequestObject) (authapi.LogoutResponseObject, error) {
	if err := a.Authority.Logout(ctx); err != nil {
		return nil, err
	}
	return authapi.Logout204Response{}, nil
}

func tokens(g auth.Grant) authapi.TokensJSONResponse {
	roles := make([]authapi.Role, len(g.Roles))
	for i, r := range g.Roles {
		roles[i] = authapi.Role(r)
	}
	return authapi.TokensJSONResponse{
		AccessToken: g.AccessToken, TokenType: authapi.Bearer, ExpiresIn: int(g.ExpiresIn.Seconds()),
		ExpiresAt: g.ExpiresAt, RefreshToken: g.RefreshToken, Roles: roles,
	}
}
