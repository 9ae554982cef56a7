package main_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/npmtest"
	"github.com/otkit/otkit/internal/realtest"
)

// Somebody signs in, sees values change, writes one, acknowledges an alarm and opens seven tabs; every view is read by a checker
// of accessibility.
func TestTheConsoleInABrowser(t *testing.T) {
	t.Parallel()
	chromium := realtest.Need(t, "chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")
	packages := npmtest.Need(t, "playwright-core@1.65.1", "axe-core@4.14.1")
	e := start(t, known, "-demo", "-data", t.TempDir())
	e.admin().good("sim.running")
	script := filepath.Join(repository, "transport", "console", "web", "test", "console.cjs")
	out, err := npmtest.Command(t, packages, script, chromium, e.url, "admin", password).CombinedOutput()
	require.NoError(t, err, string(out))
}
