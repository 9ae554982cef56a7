package registry_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/predictive/registry"
)

func TestFilesOfABackup(t *testing.T) {
	for _, name := range []string{"RUL_v3", "RUL_v3.json", "RUL_v12.deleted", "FailurePrediction_v1"} {
		require.True(t, registry.IsVersionFile(name), name)
	}
	for _, name := range []string{"registry.lock", "RUL", "RUL_3", "RUL_v0", "RUL_v03", "RUL_v3.tmp", "RUL_v3.json.deleted", "rul_v3", "RUL_v3/x", "../RUL_v3", ""} {
		require.False(t, registry.IsVersionFile(name), name)
	}
}
