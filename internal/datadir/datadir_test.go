package datadir_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/datadir"
)

func TestASecondServerIsRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	unlock, err := datadir.Lock(dir)
	require.NoError(t, err)

	_, err = datadir.Lock(dir)
	require.ErrorContains(t, err, "in use by another server")

	require.NoError(t, unlock())
	unlock, err = datadir.Lock(dir)
	require.NoError(t, err)
	require.NoError(t, unlock())
}
