package atomicfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/atomicfile"
)

func TestWriteReplacesTheFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "state")
	require.NoError(t, os.WriteFile(path+".new", []byte("left by a killed process, and longer"), 0o600))
	for _, text := range []string{"first", "2"} {
		require.NoError(t, atomicfile.Write(path, []byte(text)))
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, text, string(got))
	}
	list, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, list, 1)
}

func TestAFailedWriteKeepsTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	require.NoError(t, atomicfile.Write(path, []byte("old")))
	require.NoError(t, os.MkdirAll(filepath.Join(path+".new", "in the way"), 0o700))
	require.Error(t, atomicfile.Write(path, []byte("new")))
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "old", string(got))
}
