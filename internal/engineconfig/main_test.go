package engineconfig_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/engineconfig"
	"github.com/otkit/otkit/internal/settings"
)

// write creates a settings file and returns its path.
func write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func load(t testing.TB, o settings.Options) engineconfig.Engine {
	t.Helper()
	e, warnings, err := settings.Load(engineconfig.Defaults(), o)
	require.NoError(t, err)
	require.Empty(t, warnings)
	return e
}
