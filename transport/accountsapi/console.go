package accountsapi

import (
	"context"
	"net/http"
	"strings"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/accountsapi/internal/gen"
)

const (
	consolePath   = "/console/session"
	consoleCookie = "otkit_console"
	// consoleCookieAge is longer than browsers keep a cookie, in seconds: the engine decides how long a session lasts.
	consoleCookieAge = 400 * 24 * 60 * 60
)

var errForeign = fault.New(fault.Forbidden, "FORBIDDEN", "the request comes from a page of another origin")

// ownOrigin refuses what a page of another origin sends to the sessions of browsers, whatever origins else may call:
// nothing but the cookie says who calls.
func ownOrigin(next gen.StrictHandlerFunc, _ string) gen.StrictHandlerFunc {
	protection := http.NewCrossOriginProtection()
	return func(ctx context.Context, w http.ResponseWriter, r *http.Request, request any) (any, error) {
		if strings.HasPrefix(r.URL.Path, consolePath) && protection.Check(r) != nil {
			return nil, errForeign
		}
		return next(ctx, w, r, request)
	}
}

// OpenConsoleSession implements POST /console/session.
func (a *handlers) OpenConsoleSession(ctx context.Context, r gen.OpenConsoleSessionRequestObject) (gen.OpenConsoleSessionResponseObject, error) {
	if err := checkLogin(r.Body); err != nil {
		return nil, err
	}
	grant, err := a.authority.SignIn(ctx, r.Body.Username, r.Body.Password, remoteOf(ctx))
	if err != nil {
		return nil, err
	}
	if r.Params.OtkitConsole != "" { // the cookie is replaced: its session would only lie open
		if err := a.authority.SignOut(ctx, r.Params.OtkitConsole, remoteOf(ctx)); err != nil {
			return nil, err
		}
	}
	return gen.OpenConsoleSession200JSONResponse{
		Body:    consoleSession(grant),
		Headers: gen.OpenConsoleSession200ResponseHeaders{SetCookie: cookie(ctx, grant.RefreshToken, consoleCookieAge)},
	}, nil
}

// RenewConsoleSession implements PUT /console/session. It sets no cookie: one that is late would replace that of a later
// sign-in.
func (a *handlers) RenewConsoleSession(ctx context.Context, r gen.RenewConsoleSessionRequestObject) (gen.RenewConsoleSessionResponseObject, error) {
	if r.Params.OtkitConsole == "" {
		return nil, accounts.ErrBrowserSession
	}
	grant, err := a.authority.Renew(ctx, r.Params.OtkitConsole)
	if err != nil {
		return nil, err
	}
	return gen.RenewConsoleSession200JSONResponse(consoleSession(grant)), nil
}

// EndConsoleSession implements DELETE /console/session.
func (a *handlers) EndConsoleSession(ctx context.Context, r gen.EndConsoleSessionRequestObject) (gen.EndConsoleSessionResponseObject, error) {
	if r.Params.OtkitConsole != "" {
		if err := a.authority.SignOut(ctx, r.Params.OtkitConsole, remoteOf(ctx)); err != nil {
			return nil, err
		}
	}
	return gen.EndConsoleSession204Response{Headers: gen.EndConsoleSession204ResponseHeaders{SetCookie: cookie(ctx, "", -1)}}, nil
}

func consoleSession(g Grant) gen.ConsoleSession {
	return gen.ConsoleSession{AccessToken: g.AccessToken, ExpiresIn: int(g.ExpiresIn.Seconds()), ExpiresAt: g.ExpiresAt,
		Roles: rolesOf(g), Username: g.Account, Name: g.Account}
}

// cookie returns the header that sets the cookie of a session, or removes it if maxAge is negative.
func cookie(ctx context.Context, secret string, maxAge int) string {
	secure, _ := ctx.Value(secureKey{}).(bool)
	c := http.Cookie{Name: consoleCookie, Value: secret, Path: consolePath, MaxAge: maxAge, HttpOnly: true, Secure: secure, SameSite: http.SameSiteStrictMode}
	return c.String()
}
