package accountsapi

import (
	"context"
	"net"
	"net/http"
	"strconv"
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
	sent := sentCookie(ctx)
	grant, err := a.authority.SignIn(ctx, r.Body.Username, r.Body.Password, remoteOf(ctx))
	if err != nil {
		return nil, err
	}
	if sent.Value != "" { // the cookie is replaced: its session would only lie open
		if err := a.authority.SignOut(ctx, sent.Value, remoteOf(ctx)); err != nil {
			return nil, err
		}
	}
	return gen.OpenConsoleSession200JSONResponse{
		Body:    consoleSession(grant),
		Headers: gen.OpenConsoleSession200ResponseHeaders{SetCookie: setCookie(sent, grant.RefreshToken, consoleCookieAge)},
	}, nil
}

// RenewConsoleSession implements PUT /console/session. It sets no cookie: one that is late would replace that of a later
// sign-in.
func (a *handlers) RenewConsoleSession(ctx context.Context, _ gen.RenewConsoleSessionRequestObject) (gen.RenewConsoleSessionResponseObject, error) {
	sent := sentCookie(ctx)
	if sent.Value == "" {
		return nil, accounts.ErrBrowserSession
	}
	grant, err := a.authority.Renew(ctx, sent.Value)
	if err != nil {
		return nil, err
	}
	return gen.RenewConsoleSession200JSONResponse(consoleSession(grant)), nil
}

// EndConsoleSession implements DELETE /console/session.
func (a *handlers) EndConsoleSession(ctx context.Context, _ gen.EndConsoleSessionRequestObject) (gen.EndConsoleSessionResponseObject, error) {
	sent := sentCookie(ctx)
	if sent.Value != "" {
		if err := a.authority.SignOut(ctx, sent.Value, remoteOf(ctx)); err != nil {
			return nil, err
		}
	}
	return gen.EndConsoleSession204Response{Headers: gen.EndConsoleSession204ResponseHeaders{SetCookie: setCookie(sent, "", -1)}}, nil
}

func consoleSession(g Grant) gen.ConsoleSession {
	return gen.ConsoleSession{AccessToken: g.AccessToken, ExpiresIn: int(g.ExpiresIn.Seconds()), ExpiresAt: g.ExpiresAt,
		Roles: rolesOf(g), Username: g.Account, Name: g.Account}
}

// cookieOf returns the cookie of a request, with an empty value if it has none. It is secure if a browser reached the page that calls by
// TLS, also through a proxy. Browsers send a cookie to all ports of a host, so the port of the page's address is in its name: two engines of
// one host must not replace each other's sessions.
func cookieOf(r *http.Request) http.Cookie {
	c := http.Cookie{Name: consoleCookie, Secure: r.TLS != nil || strings.HasPrefix(r.Header.Get("Origin"), "https://")}
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		if n, err := strconv.ParseUint(port, 10, 16); err == nil {
			c.Name += "_" + strconv.FormatUint(n, 10)
		}
	}
	if sent, err := r.Cookie(c.Name); err == nil {
		c.Value = sent.Value
	}
	return c
}

func sentCookie(ctx context.Context) http.Cookie {
	c, _ := ctx.Value(cookieKey{}).(http.Cookie)
	return c
}

// setCookie returns the header that sets the cookie of a session, or removes it if maxAge is negative.
func setCookie(c http.Cookie, secret string, maxAge int) string {
	c.Value, c.Path, c.MaxAge, c.HttpOnly, c.SameSite = secret, consolePath, maxAge, true, http.SameSiteStrictMode
	return c.String()
}
