package bridgehost_test

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/bridgehost"
)

const setupPath = "/api/bridge/auth/setup"

func credentials(name, password string) map[string]string {
	return map[string]string{"username": name, "password": password}
}

func TestTheFirstAccountIsMadeOnce(t *testing.T) {
	r := start(t)
	state := r.call("GET", "/api/bridge/auth/state", "", nil).is(200)
	require.Equal(t, true, state.get("setupRequired"))
	require.Equal(t, false, state.get("setupCodeRequired"))

	r.bad("POST", setupPath, "", `{"username":"ann"}`).problem(400, "INVALID_REQUEST")
	r.bad("POST", setupPath, "", `{"password":"x"}`).problem(400, "INVALID_REQUEST")
	r.call("POST", setupPath, "", credentials("ann", "short")).problem(400, "INVALID_ACCOUNT")
	r.call("POST", setupPath, "", credentials("no/name", adminPassword)).problem(400, "INVALID_ACCOUNT")

	made := r.call("POST", setupPath, "", credentials("ann", adminPassword)).is(201)
	require.Equal(t, "ann", made.get("username"))
	require.Equal(t, "admin", made.get("role"))
	require.NotContains(t, string(made.body), adminPassword)
	r.call("POST", setupPath, "", credentials("bob", adminPassword)).problem(409, "SETUP_DONE")
	require.Equal(t, false, r.call("GET", "/api/bridge/auth/state", "", nil).get("setupRequired"))
	r.login("ann", adminPassword)
}

func TestOfManyWhoSetUpTogetherOneSucceeds(t *testing.T) {
	r := start(t)
	var made, refused atomic.Int32
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			switch r.call("POST", setupPath, "", credentials(string(rune('a'+i)), adminPassword)).status {
			case 201:
				made.Add(1)
			case 409:
				refused.Add(1)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1, made.Load())
	require.EqualValues(t, 7, refused.Load())
}

func TestFromAnotherMachineTheFirstAccountNeedsTheCode(t *testing.T) {
	r := start(t)
	setup := func(code string) *http.Request {
		body := credentials("ann", adminPassword)
		body["setupCode"] = code
		return r.request("POST", setupPath, "", body)
	}
	require.Equal(t, true, r.from("192.0.2.7", r.request("GET", "/api/bridge/auth/state", "", nil)).get("setupCodeRequired"))
	r.from("192.0.2.7", setup("")).problem(403, "SETUP_CODE")
	r.from("192.0.2.7", setup("AAAAAAAAAAAAAAAA")).problem(403, "SETUP_CODE")
	behindProxy := setup("")
	behindProxy.Header.Set("X-Forwarded-For", "127.0.0.1")
	r.from("127.0.0.1", behindProxy).problem(403, "SETUP_CODE")
	r.from("192.0.2.7", setup(r.SetupCode())).is(201)
}

func TestAPageOfAStrangerCannotSetUp(t *testing.T) {
	r := start(t)
	req := r.request("POST", setupPath, "", credentials("ann", adminPassword))
	req.Header.Set("Origin", "http://evil.example")
	r.do(req).is(403)
	rebound := r.request("POST", setupPath, "", credentials("ann", adminPassword))
	rebound.Host = "evil.example"
	rebound.Header.Set("Origin", "http://evil.example")
	r.do(rebound).problem(421, "MISDIRECTED_REQUEST")
	own := r.request("POST", setupPath, "", credentials("ann", adminPassword))
	own.Header.Set("Origin", r.url)
	r.do(own).is(201)
}

func TestAPageOfACORSOriginMaySetUp(t *testing.T) {
	r := start(t, func(o *bridgehost.Options) { o.Server.CORSOrigins = []string{"http://hmi.example"} })
	req := r.request("POST", setupPath, "", credentials("ann", adminPassword))
	req.Header.Set("Origin", "http://evil.example")
	r.do(req).is(403)
	req = r.request("POST", setupPath, "", credentials("ann", adminPassword))
	req.Header.Set("Origin", "http://hmi.example")
	r.do(req).is(201)
}

func TestWhoGuessesTheCodeIsSlowed(t *testing.T) {
	r := start(t)
	for range 100 {
		if a := r.from("192.0.2.7", r.request("POST", setupPath, "", credentials("ann", adminPassword))); a.status == 429 {
			require.NotEmpty(t, a.header.Get("Retry-After"))
			return
		}
	}
	t.Fatal("a hundred tries were taken")
}

func TestTheAccountOfTheSettingsNeedsNoSetup(t *testing.T) {
	r := start(t, func(o *bridgehost.Options) {
		o.Accounts.AdminUsername, o.Accounts.AdminPassword = "root", adminPassword
	})
	require.Empty(t, r.SetupCode())
	r.call("POST", setupPath, "", credentials("ann", adminPassword)).problem(409, "SETUP_DONE")
	r.login("root", adminPassword)
}

func TestTokens(t *testing.T) {
	r := start(t)
	r.admin()
	r.bad("POST", "/api/bridge/auth/login", "", `{}`).problem(400, "INVALID_REQUEST")
	r.call("POST", "/api/bridge/auth/login", "", credentials("ann", "wrong")).problem(401, "INVALID_CREDENTIALS")
	first := r.call("POST", "/api/bridge/auth/login", "", credentials("ann", adminPassword)).is(200)
	require.Equal(t, []any{"admin"}, first.get("roles"))
	second := r.call("POST", "/api/bridge/auth/refresh", "", map[string]string{"refreshToken": first.text("refreshToken")}).is(200)
	r.call("GET", "/api/bridge/license", second.text("accessToken"), nil).is(200)
	r.call("POST", "/api/bridge/auth/refresh", "", map[string]string{"refreshToken": first.text("refreshToken")}).problem(401, "INVALID_REFRESH_TOKEN")

	token := r.login("ann", adminPassword)
	r.call("POST", "/api/bridge/auth/logout", token, nil).is(204)
	r.call("GET", "/api/bridge/license", token, nil).problem(401, "UNAUTHORIZED")

	token = r.login("ann", adminPassword)
	r.call("POST", "/api/bridge/auth/password", token, map[string]string{"currentPassword": "wrong", "newPassword": "ein-anderes-Wort-99"}).is(400)
	r.call("POST", "/api/bridge/auth/password", token, map[string]string{"currentPassword": adminPassword, "newPassword": "ein-anderes-Wort-99"}).is(204)
	r.login("ann", "ein-anderes-Wort-99")
}

func TestRoles(t *testing.T) {
	r := start(t)
	admin, viewer := r.people()
	reads := []string{"/api/bridge/manifest", "/api/bridge/config/aas", "/api/bridge/config", "/api/bridge/monitoring/status", "/api/bridge/monitoring/tags",
		"/api/bridge/monitoring/buffer", "/api/bridge/audit", "/api/bridge/audit/verification", "/api/bridge/license"}
	r.bind()
	for _, path := range reads {
		r.call("GET", path, "", nil).is(401)
		r.call("GET", path, "no.such.token", nil).is(401)
		r.call("GET", path, viewer, nil).is(200)
		r.call("GET", path, admin, nil).is(200)
	}
	config := r.call("GET", "/api/bridge/config/aas", viewer, nil).is(200)
	for _, write := range []struct {
		method, path string
		body         any
	}{
		{"PUT", "/api/bridge/config/aas", config.object()},
		{"POST", "/api/bridge/license/activate", map[string]string{"licenseKey": "otkit1.e30.AAAA"}},
		{"POST", "/api/bridge/auth/accounts", map[string]string{"username": "eve", "password": viewerPassword, "role": "viewer"}},
		{"GET", "/api/bridge/auth/accounts", nil},
		{"DELETE", "/api/bridge/auth/accounts/ann", nil},
		{"DELETE", "/api/bridge/bind", nil},
	} {
		r.call(write.method, write.path, "", write.body).problem(401, "UNAUTHORIZED")
		r.call(write.method, write.path, viewer, write.body).problem(403, "FORBIDDEN")
	}
}

func TestAccountsComeAndGo(t *testing.T) {
	r := start(t)
	admin, viewer := r.people()
	r.call("POST", "/api/bridge/auth/accounts", admin, map[string]string{"username": "VIC", "password": viewerPassword, "role": "viewer"}).problem(409, "ACCOUNT_EXISTS")
	r.bad("POST", "/api/bridge/auth/accounts", admin, map[string]string{"username": "eve", "password": viewerPassword, "role": "boss"}).problem(400, "INVALID_REQUEST")
	list := r.call("GET", "/api/bridge/auth/accounts", admin, nil).is(200)
	require.Contains(t, string(list.body), `"vic"`)
	require.NotContains(t, string(list.body), "argon2")
	r.call("DELETE", "/api/bridge/auth/accounts/ANN", admin, nil).problem(409, "LAST_ADMIN")
	r.call("DELETE", "/api/bridge/auth/accounts/nobody", admin, nil).problem(404, "ACCOUNT_NOT_FOUND")
	r.call("DELETE", "/api/bridge/auth/accounts/vic", admin, nil).is(204)
	r.call("GET", "/api/bridge/license", viewer, nil).problem(401, "UNAUTHORIZED")
}
