package dirlock_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/dirlock"
)

func TestASecondServerIsRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	unlock, err := dirlock.Lock(dir)
	require.NoError(t, err)

	_, err = dirlock.Lock(dir)
	require.ErrorContains(t, err, "in use by another server")

	require.NoError(t, unlock())
	unlock, err = dirlock.Lock(dir)
	require.NoError(t, err)
	require.NoError(t, unlock())
}
