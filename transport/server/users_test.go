package server_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/audit"
)

// changeUser changes an account as an Admin. etag may be empty.
func (p *platform) changeUser(name, etag string, body map[string]any) answer {
	p.t.Helper()
	r := p.request(p.t.Context(), accounts.Admin, http.MethodPut, "/api/v1/users/"+name, body)
	if etag != "" {
		r.Header.Set("If-Match", etag)
	}
	return p.do(r)
}

func TestUsersAreManaged(t *testing.T) {
	t.Parallel()
	p := start(t)
	const ann = "another long secret"
	a := p.call(accounts.Admin, http.MethodPost, "/api/v1/users", map[string]any{"username": "Ann", "password": ann, "roles": []string{"Viewer"}})
	require.Equal(t, 201, a.status, "%s", a.body)
	user := a.object(t)
	require.Equal(t, []string{"createdAt", "enabled", "origin", "roles", "username"}, keys(user))
	require.Equal(t, "store", user["origin"])
	require.Equal(t, true, user["enabled"])
	requireProblem(t, p.call(accounts.Admin, http.MethodPost, "/api/v1/users", map[string]any{"username": "ANN", "password": ann, "roles": []string{"Viewer"}}), 409, "ACCOUNT_EXISTS")

	cookie, s := p.signIn("ann", ann)
	got := p.call(accounts.Admin, http.MethodGet, "/api/v1/users/ann", nil)
	require.Equal(t, a.header.Get("ETag"), got.header.Get("ETag"), "signing in does not change an account")
	require.NotEmpty(t, got.object(t)["lastSignIn"])
	require.Equal(t, 200, p.with(s.AccessToken, http.MethodGet, "/api/v1/drivers").status)

	// Another role ends the sessions.
	changed := p.changeUser("ann", got.header.Get("ETag"), map[string]any{"roles": []string{"Operator"}})
	require.Equal(t, 200, changed.status, "%s", changed.body)
	require.NotEqual(t, got.header.Get("ETag"), changed.header.Get("ETag"))
	requireProblem(t, p.changeUser("ann", got.header.Get("ETag"), map[string]any{"enabled": false}), 412, "VERSION_CHANGED")
	require.Equal(t, 401, p.console(http.MethodPut, cookie, nil).status)
	require.Equal(t, 401, p.with(s.AccessToken, http.MethodGet, "/api/v1/drivers").status)

	// So does disabling, and nobody gets in.
	cookie, s = p.signIn("ann", ann)
	require.Equal(t, []string{"Operator"}, s.Roles)
	var g grant
	p.login("ann", ann).into(t, &g)
	disabled := p.changeUser("ann", "", map[string]any{"enabled": false})
	require.Equal(t, 200, disabled.status)
	require.Equal(t, false, disabled.object(t)["enabled"])
	require.Equal(t, []any{"Operator"}, disabled.object(t)["roles"], "what is absent stays")
	require.Equal(t, 401, p.console(http.MethodPut, cookie, nil).status)
	require.Equal(t, 401, p.refresh(g.RefreshToken).status)
	require.Equal(t, 401, p.with(g.AccessToken, http.MethodGet, "/api/v1/drivers").status)
	require.Equal(t, string(p.login("nobody", ann).body), string(p.login("ann", ann).body), "it does not show")
	require.Equal(t, 200, p.changeUser("ann", "", map[string]any{"enabled": true}).status)
	require.Equal(t, 401, p.console(http.MethodPut, cookie, nil).status, "what has ended stays so")

	// A new password ends the sessions too.
	cookie, _ = p.signIn("ann", ann)
	require.Equal(t, 200, p.changeUser("ann", "", map[string]any{"password": "yet another secret"}).status)
	require.Equal(t, 401, p.console(http.MethodPut, cookie, nil).status)
	require.Equal(t, 401, p.login("ann", ann).status)
	require.Equal(t, 200, p.login("ann", "yet another secret").status)

	page := p.call(accounts.Admin, http.MethodGet, "/api/v1/users?pageSize=2&page=1", nil).object(t)
	require.Equal(t, []string{"items", "page", "pageSize", "totalCount"}, keys(page))
	require.Len(t, page["items"], 2)
	require.Equal(t, "4", jsonText(t, page["totalCount"]))
	require.Equal(t, 204, p.call(accounts.Admin, http.MethodDelete, "/api/v1/users/ANN", nil).status)
	requireProblem(t, p.call(accounts.Admin, http.MethodGet, "/api/v1/users/ann", nil), 404, "ACCOUNT_NOT_FOUND")
	requireProblem(t, p.changeUser("ann", "", map[string]any{"enabled": true}), 404, "ACCOUNT_NOT_FOUND")

	records, _, err := p.Audit().List(t.Context(), audit.Query{Actor: "admin", Limit: 100})
	require.NoError(t, err)
	seen := map[string]int{}
	for _, r := range records {
		seen[r.Action]++
		require.NotContains(t, r.After+r.Before+r.Detail, "secret")
	}
	require.Equal(t, 2, seen["createUser"])
	require.Positive(t, seen["replaceUser"])
	require.Equal(t, 1, seen["deleteUser"])
}

func TestUsersThatAreWrongAreRefused(t *testing.T) {
	t.Parallel()
	p := start(t)
	for field, body := range map[string]map[string]any{
		"username": {"username": "ann smith", "password": "another long secret", "roles": []string{"Viewer"}},
		"password": {"username": "ann", "password": "short", "roles": []string{"Viewer"}},
		"roles":    {"username": "ann", "password": "another long secret", "roles": []string{"Viewer", "Admin"}},
	} {
		problem := requireProblem(t, p.callWrong(accounts.Admin, http.MethodPost, "/api/v1/users", body), 400, "INVALID_ACCOUNT")
		require.Contains(t, jsonText(t, problem["errors"]), `"`+field+`"`)
	}
	requireProblem(t, p.callWrong(accounts.Admin, http.MethodPost, "/api/v1/users", map[string]any{"username": "ann", "password": "another long secret"}), 400, "INVALID_REQUEST")
	requireProblem(t, p.callWrong(accounts.Admin, http.MethodPut, "/api/v1/users/viewer", map[string]any{"roles": []string{"Boss"}}), 400, "INVALID_ACCOUNT")
	// An Admin needs a longer password.
	requireProblem(t, p.changeUser("viewer", "", map[string]any{"roles": []string{"Admin"}, "password": "tenletters"}), 400, "INVALID_ACCOUNT")
	for _, tag := range []string{"5", `W/"5"`, `"5"`} {
		status := p.changeUser("viewer", tag, map[string]any{"enabled": true}).status
		require.Equal(t, map[bool]int{true: 412, false: 400}[strings.Contains(tag, `"`)], status, tag)
	}
	// An empty one, such as the variable of a script that is not set, is not taken for none.
	for _, method := range []string{http.MethodPut, http.MethodDelete} {
		r := p.request(t.Context(), accounts.Admin, method, "/api/v1/users/viewer", map[string]any{"enabled": false})
		r.Header["If-Match"] = []string{""}
		requireProblem(t, p.do(r), 400, "INVALID_REQUEST")
	}
	require.Equal(t, true, p.call(accounts.Admin, http.MethodGet, "/api/v1/users/viewer", nil).object(t)["enabled"])
}

func TestTheLastAdminRemains(t *testing.T) {
	t.Parallel()
	p := start(t)
	for _, body := range []map[string]any{{"enabled": false}, {"roles": []string{"Operator"}}} {
		requireProblem(t, p.changeUser("admin", "", body), 409, "LAST_ADMIN")
	}
	requireProblem(t, p.call(accounts.Admin, http.MethodDelete, "/api/v1/users/admin", nil), 409, "LAST_ADMIN")

	// A disabled one does not count, and of two that remove each other one remains.
	require.Equal(t, 201, p.call(accounts.Admin, http.MethodPost, "/api/v1/users",
		map[string]any{"username": "chief", "password": password, "roles": []string{"Admin"}, "enabled": false}).status)
	requireProblem(t, p.call(accounts.Admin, http.MethodDelete, "/api/v1/users/admin", nil), 409, "LAST_ADMIN")
	require.Equal(t, 200, p.changeUser("chief", "", map[string]any{"enabled": true}).status)
	chief, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, p.url+"/api/v1/users/admin", nil)
	require.NoError(t, err)
	var g grant
	p.login("chief", password).into(t, &g)
	chief.Header.Set("Authorization", "Bearer "+g.AccessToken)
	admin := p.request(t.Context(), accounts.Admin, http.MethodDelete, "/api/v1/users/chief", nil)
	var wg sync.WaitGroup
	var first, second answer
	wg.Go(func() { first = p.do(chief) })
	wg.Go(func() { second = p.do(admin) })
	wg.Wait()
	require.NotEqual(t, first.status == 204, second.status == 204, "%d %d", first.status, second.status)
}
