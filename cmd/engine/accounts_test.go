package main_test

import (
	"bytes"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/openapi/client"
)

func TestAdminPasswordFromTheEnvironment(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	e := start(t, []string{"Auth__AdminUsername=chief", "Auth__AdminPassword=" + password}, "-data", data)
	require.NotContains(t, e.out.String(), "assword")
	require.Equal(t, http.StatusOK, e.login("chief", password).status())
	require.Equal(t, http.StatusUnauthorized, e.tryLogin("admin", "admin").StatusCode())
	e.stop()
	e = start(t, []string{"Auth__AdminUsername=chief", "Auth__AdminPassword=another long password"}, "-data", data)
	require.Equal(t, http.StatusOK, e.login("chief", password).status(), "the variable is for the first start")
}

func TestRandomPasswordIsPrintedOnceAndKeptNowhere(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	e := start(t, []string{"Log__Level=debug"}, "-data", data)
	first := e.firstPassword()
	require.GreaterOrEqual(t, len(first), 20)
	require.Equal(t, 1, bytes.Count([]byte(e.out.String()), []byte(first)))
	s := e.login("admin", first)
	e.stop()
	require.NotContains(t, e.log.String(), first)
	require.NotContains(t, e.log.String(), s.token)
	require.NotContains(t, e.log.String(), s.refresh)
	require.NoError(t, filepath.WalkDir(data, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		require.NotContains(t, string(text), first, path)
		require.NotContains(t, string(text), s.refresh, path)
		return err
	}))
}

func TestUsersBesideARunningEngine(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	e := start(t, known, "-demo", "-data", data)
	admin := e.admin()
	admin.good("sim.speed")

	run(t, nil, "ann's long password\n", "users", "add", "-data", data, "-role", "Operator", "ann").ok(t)
	ann := e.login("ann", "ann's long password")
	require.Equal(t, http.StatusOK, ann.status())
	value := "1"
	answer, err := ann.WriteTagWithResponse(t.Context(), "sim", "speed", nil, client.WriteRequest{Value: &value})
	require.NoError(t, err)
	require.Equal(t, http.StatusForbidden, answer.StatusCode(), "an Operator writes no tags")

	list := run(t, nil, "", "users", "list", "-data", data).ok(t)
	require.Regexp(t, `(?m)^admin +Admin +\d{4}-\d\d-\d\d$`, list.out)
	require.Regexp(t, `(?m)^ann +Operator `, list.out)

	// A changed password ends the sessions of the account, and the old one is worth nothing.
	run(t, nil, "ann's other password\r\n", "users", "passwd", "-data", data, "ann").ok(t)
	eventually(t, "the session outlives the password", func() bool { return ann.status() == http.StatusUnauthorized })
	require.Equal(t, http.StatusUnauthorized, e.tryLogin("ann", "ann's long password").StatusCode())
	ann = e.login("ann", "ann's other password")

	run(t, nil, "", "users", "remove", "-data", data, "ann").ok(t)
	eventually(t, "the token outlives the account", func() bool { return ann.status() == http.StatusUnauthorized })
	refresh, err := ann.RefreshWithResponse(t.Context(), client.RefreshRequest{RefreshToken: ann.refresh})
	require.NoError(t, err)
	require.Equal(t, http.StatusUnauthorized, refresh.StatusCode())
	require.Equal(t, http.StatusUnauthorized, e.tryLogin("ann", "ann's other password").StatusCode())
	require.Equal(t, http.StatusOK, admin.status())
}

// Without an Admin nobody could manage accounts over the API any more.
func TestTheLastAdminIsRemovedByForceOnly(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	run(t, nil, password, "users", "add", "-data", data, "-role", "Admin", "boss").ok(t)
	run(t, nil, password, "users", "add", "-data", data, "-role", "Operator", "olga").ok(t)
	run(t, nil, "", "users", "remove", "-data", data, "Boss").refused(t, "last enabled Admin", "-force")
	run(t, nil, password, "users", "add", "-data", data, "-role", "Admin", "chief").ok(t)
	run(t, nil, "", "users", "remove", "-data", data, "boss").ok(t)
	run(t, nil, "", "users", "remove", "-data", data, "olga").ok(t)
	run(t, nil, "", "users", "remove", "-data", data, "chief").refused(t, "last enabled Admin", "-force")
	require.Regexp(t, `(?m)^chief +Admin `, run(t, nil, "", "users", "list", "-data", data).ok(t).out)
	run(t, nil, "", "users", "remove", "-data", data, "-force", "chief").ok(t)
	require.Empty(t, run(t, nil, "", "users", "list", "-data", data).ok(t).out)
}

func TestUsersBeforeTheFirstStart(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	run(t, nil, password, "users", "add", "-data", data, "-role", "Admin", "boss").ok(t)
	e := start(t, nil, "-data", data)
	require.Empty(t, e.firstPassword(), "there is an account already")
	require.Equal(t, http.StatusOK, e.login("boss", password).status())
}

func TestUsersRefuseWhatIsWrong(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	run(t, nil, password, "users", "add", "-data", data, "-role", "Viewer", "vera").ok(t)
	for name, c := range map[string]struct {
		input string
		args  []string
		words []string
	}{
		"role":             {password, []string{"add", "-data", data, "-role", "Boss", "bob"}, []string{"role", "Viewer, Operator or Admin"}},
		"no role":          {password, []string{"add", "-data", data, "bob"}, []string{"-role"}},
		"name":             {password, []string{"add", "-data", data, "-role", "Viewer", "bob smith"}, []string{"username"}},
		"no name":          {password, []string{"add", "-data", data, "-role", "Viewer"}, []string{"one name"}},
		"taken":            {password, []string{"add", "-data", data, "-role", "Viewer", "VERA"}, []string{"exists"}},
		"short password":   {"abc\n", []string{"add", "-data", data, "-role", "Viewer", "bob"}, []string{"password"}},
		"no password":      {"", []string{"add", "-data", data, "-role", "Viewer", "bob"}, []string{"standard input"}},
		"unknown password": {password, []string{"passwd", "-data", data, "bob"}, []string{"bob"}},
		"unknown remove":   {"", []string{"remove", "-data", data, "bob"}, []string{"bob"}},
		"verb":             {"", []string{"rename", "-data", data, "vera"}, []string{"rename"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := run(t, nil, c.input, append([]string{"users"}, c.args...)...)
			r.refused(t, c.words...)
			require.NotContains(t, r.err, password)
		})
	}
	require.Equal(t, 2, run(t, nil, "", "users").code)
}
