package main_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/npmtest"
	"github.com/otkit/otkit/internal/realtest"
)

// drive runs a script of the console's tests in a browser, with an engine of the demo.
func drive(t *testing.T, name string) {
	t.Helper()
	chromium := realtest.Need(t, "chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")
	packages := npmtest.Need(t, "playwright-core@1.65.1", "axe-core@4.14.1")
	e := start(t, known, "-demo", "-data", t.TempDir())
	e.admin().good("sim.running")
	script := filepath.Join(repository, "transport", "console", "web", "test", name)
	out, err := npmtest.Command(t, packages, script, chromium, e.url, "admin", password).CombinedOutput()
	require.NoError(t, err, string(out))
}

// Somebody signs in, sees values change, writes one, acknowledges an alarm and opens seven tabs; every view is read by a checker
// of accessibility.
func TestTheConsoleInABrowser(t *testing.T) {
	t.Parallel()
	drive(t, "console.cjs")
}

// An admin adds and removes a user and finds it in the audit log.
func TestTheAdminOfTheConsoleInABrowser(t *testing.T) {
	t.Parallel()
	drive(t, "admin.cjs")
}
