package main_test

import (
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/npmtest"
	"github.com/otkit/otkit/internal/realtest"
)

// Somebody sets a bridge up from another machine with the code of its terminal, sees its driver, and releases its binding.
func TestTheConsoleInABrowser(t *testing.T) {
	t.Parallel()
	chromium := realtest.Need(t, "chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")
	packages := npmtest.Need(t, "playwright-core@1.65.1", "axe-core@4.14.1")
	b := start(t, nil, "-data", t.TempDir())
	code := regexp.MustCompile(`"setupCode": "(\w+)"`).FindStringSubmatch(b.out.String())
	require.NotNil(t, code, b.out.String())
	script := filepath.Join("..", "..", "transport", "console", "web", "test", "bridge.cjs")
	out, err := npmtest.Command(t, packages, script, chromium, b.url, code[1]).CombinedOutput()
	require.NoError(t, err, string(out))
}
