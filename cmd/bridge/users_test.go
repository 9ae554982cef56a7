package main_test

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// users runs the command users to its end.
func users(t *testing.T, input string, args ...string) result {
	t.Helper()
	cmd := exec.Command(binary(t), append([]string{"users"}, args...)...)
	var out, errOut bytes.Buffer
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Dir = environment(nil), strings.NewReader(input), &out, &errOut, t.TempDir()
	_ = cmd.Run() // the exit code tells
	return result{cmd.ProcessState.ExitCode(), out.String(), errOut.String()}
}

func (r result) ok(t *testing.T) result {
	t.Helper()
	require.Equal(t, 0, r.code, r.err)
	return r
}

func TestAForgottenPasswordIsReset(t *testing.T) {
	data := t.TempDir()
	b := start(t, nil, "-data", data)
	token := b.admin()
	users(t, "another-Pferd-9-Laterne\n", "passwd", "-data", data, "ann").ok(t)
	login := func(status int, password string) {
		b.call(status, "POST", "/api/bridge/auth/login", "", map[string]string{"username": "ann", "password": password})
	}
	login(401, password)
	login(200, "another-Pferd-9-Laterne")
	b.stop()

	users(t, password, "passwd", "-data", data, "ann").ok(t) // also while the bridge does not run
	users(t, password, "add", "-data", data, "-role", "Viewer", "eve").ok(t)
	list := users(t, "", "list", "-data", data).ok(t)
	require.Regexp(t, `(?m)^ann +admin +\d{4}-\d\d-\d\d$`, list.out)
	require.Regexp(t, `(?m)^eve +viewer `, list.out)
	b = start(t, nil, "-data", data)
	login(200, password)
	b.call(401, "GET", "/api/bridge/monitoring/status", token, nil) // its session has ended
	users(t, "", "remove", "-data", data, "ann").refused(t, "last enabled Admin", "-force")
	users(t, "", "remove", "-data", data, "eve").ok(t)
	require.NotContains(t, users(t, "", "list", "-data", data).ok(t).out, "eve")
}

func TestAnAccountBeforeTheFirstStart(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	users(t, password, "add", "-data", data, "-role", "admin", "ann").ok(t)
	b := start(t, nil, "-data", data)
	require.NotContains(t, b.out.String(), "setupCode")
	b.call(200, "GET", "/api/bridge/auth/accounts", b.login(), nil)
}

func TestUsersRefuseWhatIsWrong(t *testing.T) {
	data := t.TempDir()
	users(t, password, "add", "-data", data, "-role", "viewer", "vera").ok(t)
	nowhere := filepath.Join(t.TempDir(), "nowhere")
	for name, c := range map[string]struct {
		args  []string
		words []string
	}{
		"no database": {[]string{"list", "-data", nowhere}, []string{"no database", nowhere}},
		"role":        {[]string{"add", "-data", data, "-role", "Operator", "bob"}, []string{"role", "viewer or admin", "Operator"}},
		"no role":     {[]string{"add", "-data", data, "bob"}, []string{"-role"}},
		"unknown":     {[]string{"passwd", "-data", data, "bob"}, []string{"bob"}},
		"verb":        {[]string{"rename", "-data", data, "vera"}, []string{"rename"}},
	} {
		t.Run(name, func(t *testing.T) { users(t, password, c.args...).refused(t, c.words...) })
	}
	require.NoDirExists(t, nowhere)
	require.Equal(t, 2, users(t, "").code)
}
