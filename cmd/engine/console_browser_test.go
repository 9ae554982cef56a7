package main_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/npmtest"
	"github.com/otkit/otkit/internal/realtest"
)

// drive runs a script of the console's tests in a browser, with an engine of the demo.
func drive(t *testing.T, name string) {
	t.Helper()
	e := start(t, known, "-demo", "-data", t.TempDir())
	e.admin().good("sim.running")
	driveAt(t, e, name)
}

// driveAt runs a script in a browser at an engine.
func driveAt(t *testing.T, e *engine, name string, more ...string) {
	t.Helper()
	chromium := realtest.Need(t, "chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")
	packages := npmtest.Need(t, "playwright-core@1.65.1", "axe-core@4.14.1")
	script := filepath.Join(repository, "transport", "console", "web", "test", name)
	out, err := npmtest.Command(t, packages, script, append([]string{chromium, e.url, "admin", password}, more...)...).CombinedOutput()
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

// What a real Alertmanager raises is seen and acknowledged in the console, and goes when it is resolved there.
func TestAnAlertIsAcknowledgedInABrowser(t *testing.T) {
	t.Parallel()
	e := start(t, known, "-data", t.TempDir())
	am := startAlertmanager(t, e.url+"/api/v1.0/alertsource/webhook", alone)
	driveAt(t, e, "alert.cjs", am.url)
	past := e.admin().raisedSince("reactor-7", time.Now().Add(-time.Hour))
	require.Len(t, past, 1)
	require.False(t, past[0].IsActive)
	require.Equal(t, "admin", *past[0].AcknowledgedBy)
	require.Equal(t, "I am on my way", past[0].Comment)
}
