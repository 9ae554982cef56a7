package server_test

import (
	"net/http"
	"net/http/cookiejar"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/audit"
	"github.com/otkit/otkit/engine"
)

const consolePath = "/console/session"

// consoleSession is what a page knows of its session.
type consoleSession struct {
	AccessToken, Username, Name string
	ExpiresIn                   int
	ExpiresAt                   time.Time
	Roles                       []string
}

// cookie returns that of a session, whose name has the port of the server.
func (p *platform) cookie(secret string) *http.Cookie {
	return &http.Cookie{Name: "otkit_console_" + p.url[strings.LastIndexByte(p.url, ':')+1:], Value: secret}
}

// console calls /console/session with a cookie, as a page of the server does.
func (p *platform) console(method, cookie string, body any) answer {
	p.t.Helper()
	r := p.request(p.t.Context(), nobody, method, consolePath, body)
	r.Header.Set("Origin", p.url)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if cookie != "" {
		r.AddCookie(p.cookie(cookie))
	}
	return p.do(r)
}

// signIn returns the cookie and the session of an account.
func (p *platform) signIn(name, secret string) (string, consoleSession) {
	p.t.Helper()
	a := p.console(http.MethodPost, "", map[string]any{"username": name, "password": secret})
	require.Equal(p.t, 200, a.status, "%s", a.body)
	cookies := (&http.Response{Header: a.header}).Cookies()
	require.Len(p.t, cookies, 1)
	var s consoleSession
	a.into(p.t, &s)
	return cookies[0].Value, s
}

func TestABrowserSignsInRenewsAndSignsOut(t *testing.T) {
	t.Parallel()
	p := start(t)
	a := p.console(http.MethodPost, "", map[string]any{"username": "OPERATOR", "password": password})
	require.Equal(t, 200, a.status, "%s", a.body)
	require.Equal(t, []string{"accessToken", "expiresAt", "expiresIn", "name", "roles", "username"}, keys(a.object(t)), "no secret is in the body")
	cookie := (&http.Response{Header: a.header}).Cookies()[0]
	require.True(t, cookie.HttpOnly)
	require.Equal(t, http.SameSiteStrictMode, cookie.SameSite)
	require.Equal(t, consolePath, cookie.Path)
	require.False(t, cookie.Secure, "the page came over plain HTTP")
	require.Positive(t, cookie.MaxAge)
	require.Equal(t, "no-store", a.header.Get("Cache-Control"))
	var s, renewed consoleSession
	a.into(t, &s)
	require.Equal(t, "operator", s.Username)
	require.Equal(t, []string{"Operator"}, s.Roles)
	require.Equal(t, 3600, s.ExpiresIn)

	a = p.console(http.MethodPut, cookie.Value, nil)
	require.Equal(t, 200, a.status)
	require.Empty(t, a.header.Values("Set-Cookie"), "it would replace that of a later sign-in")
	a.into(t, &renewed)
	require.Equal(t, s.Username, renewed.Username)
	require.NotEqual(t, s.AccessToken, renewed.AccessToken)
	for _, token := range []string{s.AccessToken, renewed.AccessToken} {
		require.Equal(t, 200, p.with(token, http.MethodGet, "/api/v1/drivers").status)
	}

	a = p.console(http.MethodDelete, cookie.Value, nil)
	require.Equal(t, 204, a.status)
	require.Negative(t, (&http.Response{Header: a.header}).Cookies()[0].MaxAge)
	for _, token := range []string{s.AccessToken, renewed.AccessToken} {
		requireProblem(t, p.with(token, http.MethodGet, "/api/v1/drivers"), 401, "UNAUTHORIZED")
	}
	requireProblem(t, p.console(http.MethodPut, cookie.Value, nil), 401, "UNAUTHORIZED")
	require.Equal(t, 204, p.console(http.MethodDelete, cookie.Value, nil).status, "the page is signed out already")
}

// Browsers send cookies to all ports of a host.
func TestEnginesOfOneHostKeepTheirBrowserSessionsApart(t *testing.T) {
	t.Parallel()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	browser := &http.Client{Jar: jar}
	engines := []*platform{start(t), start(t)}
	call := func(p *platform, method string, body any) int {
		r := p.request(t.Context(), nobody, method, consolePath, body)
		r.Header.Set("Origin", p.url)
		a, err := browser.Do(r)
		require.NoError(t, err)
		require.NoError(t, a.Body.Close())
		return a.StatusCode
	}
	for _, p := range engines {
		require.Equal(t, 200, call(p, http.MethodPost, map[string]any{"username": "viewer", "password": password}))
	}
	for _, p := range engines {
		require.Equal(t, 200, call(p, http.MethodPut, nil))
	}
	require.Equal(t, 204, call(engines[0], http.MethodDelete, nil))
	require.Equal(t, 401, call(engines[0], http.MethodPut, nil))
	require.Equal(t, 200, call(engines[1], http.MethodPut, nil))
}

// A proxy has the default port, which browsers leave out.
func TestTheNameOfTheCookieHasThePortOfThePage(t *testing.T) {
	t.Parallel()
	p := start(t)
	for host, name := range map[string]string{"127.0.0.1:8443": "otkit_console_8443", "[::1]:5001": "otkit_console_5001", "127.0.0.1": "otkit_console", "[::1]": "otkit_console", "127.0.0.1:": "otkit_console"} {
		r := p.request(t.Context(), nobody, http.MethodPost, consolePath, map[string]any{"username": "viewer", "password": password})
		r.Host = host
		a := p.do(r)
		require.Equal(t, 200, a.status, "%s", a.body)
		require.Equal(t, name, (&http.Response{Header: a.header}).Cookies()[0].Name, host)
	}
}

func TestTabsRenewSimultaneously(t *testing.T) {
	t.Parallel()
	p := start(t)
	cookie, _ := p.signIn("viewer", password)
	answers := make([]answer, 20)
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() { answers[i] = p.console(http.MethodPut, cookie, nil) })
	}
	wg.Wait()
	for _, a := range answers {
		require.Equal(t, 200, a.status, "%s", a.body)
		var s consoleSession
		a.into(t, &s)
		require.Equal(t, 200, p.with(s.AccessToken, http.MethodGet, "/api/v1/drivers").status)
	}
}

func TestARenewedBrowserSessionLastsOn(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	now := time.Now()
	memory := accounts.NewMemory()
	service, err := accounts.New(memory, memory, accounts.Options{Hash: accounts.HashParams{MemoryKiB: 8, Passes: 1}, Now: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}})
	require.NoError(t, err)
	require.NoError(t, service.Add(t.Context(), "ann", password, accounts.Viewer))
	login, err := service.SignIn(t.Context(), "ann", password, "192.0.2.1:1")
	require.NoError(t, err)
	for range 10 { // each time it has lasted for six of seven days
		mu.Lock()
		now = now.Add(6 * 24 * time.Hour)
		mu.Unlock()
		_, err := service.Renew(t.Context(), login.RefreshToken)
		require.NoError(t, err)
	}
	mu.Lock()
	now = now.Add(8 * 24 * time.Hour)
	mu.Unlock()
	_, err = service.Renew(t.Context(), login.RefreshToken)
	require.ErrorIs(t, err, accounts.ErrBrowserSession)
}

func TestTheCookieOpensNothingElse(t *testing.T) {
	t.Parallel()
	p := start(t)
	cookie, s := p.signIn("admin", password)
	for path, method := range map[string]string{"/api/v1/drivers": http.MethodGet, "/api/v1/auth/sessions": http.MethodGet, "/api/v1/auth/logout": http.MethodPost} {
		r := p.request(t.Context(), nobody, method, path, nil)
		r.AddCookie(p.cookie(cookie))
		requireProblem(t, p.do(r), 401, "UNAUTHORIZED")
		requireProblem(t, p.with(cookie, method, path), 401, "UNAUTHORIZED")
	}
	// Nor does a refresh token open the console.
	var g grant
	p.login("viewer", password).into(t, &g)
	other := "A"
	if cookie[40:41] == other {
		other = "B"
	}
	for _, none := range []string{g.RefreshToken, s.AccessToken, "", "made.up", cookie + "x", cookie[:40] + other + cookie[41:]} {
		requireProblem(t, p.console(http.MethodPut, none, nil), 401, "UNAUTHORIZED")
		require.Equal(t, 204, p.console(http.MethodDelete, none, nil).status)
	}
	require.Equal(t, 200, p.refresh(g.RefreshToken).status, "a guess ends no session")
	require.Equal(t, 200, p.console(http.MethodPut, cookie, nil).status)
	requireProblem(t, p.refresh(cookie), 401, "INVALID_REFRESH_TOKEN")
}

func TestPagesOfOtherOriginsDoNotReachBrowserSessions(t *testing.T) {
	t.Parallel()
	for name, origins := range map[string][]string{"no origins": nil, "that origin": {"https://hmi.example"}, "any origin": {"*"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, func(o *engine.Options) { o.Server.CORSOrigins = origins })
			cookie, _ := p.signIn("viewer", password)
			for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
				for _, site := range []string{"cross-site", "same-site", ""} { // "": a browser that does not send it
					r := p.request(t.Context(), nobody, method, consolePath, nil)
					if method == http.MethodPost {
						r = p.request(t.Context(), nobody, method, consolePath, map[string]any{"username": "viewer", "password": password})
					}
					r.Header.Set("Origin", "https://hmi.example")
					if site != "" {
						r.Header.Set("Sec-Fetch-Site", site)
					}
					r.AddCookie(p.cookie(cookie))
					requireProblem(t, p.do(r), 403, "FORBIDDEN")
				}
			}
			require.Equal(t, 200, p.console(http.MethodPut, cookie, nil).status)
		})
	}
}

func TestThePageThatCameByTLSThroughAProxyGetsASecureCookie(t *testing.T) {
	t.Parallel()
	p := start(t)
	r := p.request(t.Context(), nobody, http.MethodPost, consolePath, map[string]any{"username": "viewer", "password": password})
	r.Header.Set("Origin", "https"+strings.TrimPrefix(p.url, "http"))
	a := p.do(r)
	require.Equal(t, 200, a.status)
	require.True(t, (&http.Response{Header: a.header}).Cookies()[0].Secure)
}

func TestASecondSignInEndsTheSessionOfTheCookie(t *testing.T) {
	t.Parallel()
	p := start(t)
	cookie, _ := p.signIn("viewer", password)
	require.Equal(t, 401, p.console(http.MethodPost, cookie, map[string]any{"username": "operator", "password": "wrong"}).status)
	require.Equal(t, 200, p.console(http.MethodPut, cookie, nil).status)
	require.Equal(t, 200, p.console(http.MethodPost, cookie, map[string]any{"username": "operator", "password": password}).status)
	require.Equal(t, 401, p.console(http.MethodPut, cookie, nil).status)
}

func TestBrowserSignInsAreThrottledAndAudited(t *testing.T) {
	t.Parallel()
	p := start(t)
	cookie, _ := p.signIn("operator", password)
	require.Equal(t, 204, p.console(http.MethodDelete, cookie, nil).status)
	body := map[string]any{"username": "viewer", "password": "wrong"}
	requireProblem(t, p.console(http.MethodPost, "", body), 401, "INVALID_CREDENTIALS")
	var a answer
	for range 6 {
		a = p.console(http.MethodPost, "", body)
	}
	requireProblem(t, a, 429, "TOO_MANY_LOGINS")
	require.NotEmpty(t, a.header.Get("Retry-After"))
	require.Equal(t, 429, p.login("viewer", password).status, "both ways to sign in count together")
	requireProblem(t, p.callWrong(nobody, http.MethodPost, consolePath, map[string]any{"username": "viewer"}), 400, "INVALID_REQUEST")

	var actions []string
	require.Eventually(t, func() bool {
		records, _, err := p.Audit().List(t.Context(), audit.Query{Actor: "operator", Limit: 10})
		require.NoError(t, err)
		actions = nil
		for _, e := range records {
			actions = append(actions, e.Action)
		}
		return len(actions) == 2
	}, patience, time.Millisecond, "%v", actions)
	require.Equal(t, []string{"logout", "login"}, actions)
}

func TestAPasswordThatIsChangedEndsBrowserSessions(t *testing.T) {
	t.Parallel()
	p := start(t)
	own, s := p.signIn("viewer", password)
	other, _ := p.signIn("viewer", password)
	r := p.request(t.Context(), nobody, http.MethodPost, "/api/v1/auth/password", map[string]any{"currentPassword": password, "newPassword": "another long one"})
	r.Header.Set("Authorization", "Bearer "+s.AccessToken)
	require.Equal(t, 204, p.do(r).status)
	require.Equal(t, 200, p.console(http.MethodPut, own, nil).status)
	require.Equal(t, 401, p.console(http.MethodPut, other, nil).status)
}
