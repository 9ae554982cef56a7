package engine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Bridges are bound to the name of the engine. A container that is made again has another host name.
func TestTheNameForBridgesDoesNotDependOnTheHost(t *testing.T) {
	dir := t.TempDir()
	o := Options{DataDir: dir, Shared: &Shared{}}
	require.NoError(t, o.owner())
	id, err := os.ReadFile(filepath.Join(dir, "engine.id"))
	require.NoError(t, err)
	require.Equal(t, strings.TrimSpace(string(id)), o.Discovery.EngineID)
	require.Equal(t, o.Discovery.EngineID, o.Discovery.Alarms.Engine)
	require.True(t, o.Discovery.Shared)
}
