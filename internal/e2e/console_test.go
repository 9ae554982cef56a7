package e2e_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/npmtest"
	"github.com/otkit/otkit/internal/realtest"
)

// An admin binds a bridge in the console of the engine, sees its tags live, and unbinds it.
func TestABridgeIsBoundInTheConsole(t *testing.T) {
	t.Parallel()
	chromium := realtest.Need(t, "chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")
	packages := npmtest.Need(t, "playwright-core@1.65.1", "axe-core@4.14.1")
	p := newPlant(t, options{})
	script, err := filepath.Abs("../../transport/console/web/test/bridges.cjs")
	require.NoError(t, err)
	out, err := npmtest.Command(t, packages, script, chromium, p.engine.url, "admin", password, p.bridge.url, bridgeID, "plc.count").CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, "free", p.status())
}
