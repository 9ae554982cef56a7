package main_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// page calls /console/session of the engine as a page in the browser of c does.
func (e *engine) page(t *testing.T, c *http.Client, method, body string) (status int, session struct{ AccessToken, Username string }) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, e.url+"/console/session", strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Origin", e.url)
	answer, err := c.Do(r)
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	if answer.StatusCode == http.StatusOK {
		require.NoError(t, json.Unmarshal(text, &session))
	}
	return answer.StatusCode, session
}

func TestTheConsoleIsAtTheOneAddressThatTheDemoPrints(t *testing.T) {
	t.Parallel()
	e := start(t, known, "-demo", "-data", t.TempDir())
	first, _, _ := strings.Cut(e.out.String(), "\n")
	address, found := strings.CutPrefix(first, "Console: ")
	require.True(t, found, first)
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		r, err := http.NewRequestWithContext(t.Context(), method, address, nil)
		require.NoError(t, err)
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		_ = answer.Body.Close()
		require.Equal(t, http.StatusOK, answer.StatusCode)
		require.Equal(t, "text/html; charset=utf-8", answer.Header.Get("Content-Type"))
		require.NotEmpty(t, answer.Header.Get("Content-Security-Policy"))
	}
	for _, unknown := range []string{"/tags", "/index.html", "/console"} {
		require.Equal(t, http.StatusNotFound, statusOf(t, e.url+unknown), unknown)
	}

	e = start(t, append([]string{"Console__Enabled=false"}, known...), "-data", t.TempDir())
	require.NotContains(t, e.out.String(), "Console:")
	require.Equal(t, http.StatusNotFound, statusOf(t, e.url+"/"))
}

func statusOf(t *testing.T, url string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	_ = answer.Body.Close()
	return answer.StatusCode
}

func TestABrowserSessionSurvivesKill9AndIsNotLogged(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	browser := &http.Client{Jar: jar}
	e := start(t, append([]string{"Log__Level=debug"}, known...), "-data", data)
	status, signedIn := e.page(t, browser, http.MethodPost, `{"username":"admin","password":"`+password+`"}`)
	require.Equal(t, http.StatusOK, status)
	e.kill() // right after the answer
	log := e.log.String()

	e = start(t, append([]string{"Log__Level=debug"}, known...), "-data", data, "-listen", e.addr)
	status, renewed := e.page(t, browser, http.MethodPut, "")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "admin", renewed.Username)
	require.Equal(t, http.StatusOK, e.with(signedIn.AccessToken).status())
	require.Equal(t, http.StatusOK, e.with(renewed.AccessToken).status())
	secret := jarCookies(t, jar, e.url)[0].Value
	status, _ = e.page(t, browser, http.MethodDelete, "")
	require.Equal(t, http.StatusNoContent, status)
	require.Equal(t, http.StatusUnauthorized, e.with(renewed.AccessToken).status())
	require.Empty(t, jarCookies(t, jar, e.url))
	e.stop()
	log += e.log.String()
	for _, none := range []string{secret, secret[strings.IndexByte(secret, '.')+1:], signedIn.AccessToken, renewed.AccessToken, password} {
		require.NotContains(t, log, none)
	}
	files, err := filepath.Glob(filepath.Join(data, "*"))
	require.NoError(t, err)
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil {
			require.NotContains(t, string(text), secret, f)
		}
	}
}

func jarCookies(t *testing.T, jar http.CookieJar, base string) []*http.Cookie {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/console/session", nil)
	require.NoError(t, err)
	return jar.Cookies(r.URL)
}
