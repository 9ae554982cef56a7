package engine_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/engine"
)

func TestNewCreatesTheDataDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	e, err := engine.New(t.Context(), engine.Options{DataDir: dir})
	require.NoError(t, err)
	require.NoError(t, e.Close(t.Context()))
	require.DirExists(t, dir)
}

func TestNewNamesTheDataDirectoryThatItCannotUse(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := engine.New(t.Context(), engine.Options{DataDir: file})
	require.ErrorContains(t, err, "engine: Options.DataDir: ")
	require.ErrorContains(t, err, file)
}

func TestASecondEngineOnADataDirectoryIsRefused(t *testing.T) {
	dir := t.TempDir()
	first, err := engine.New(t.Context(), engine.Options{DataDir: dir})
	require.NoError(t, err)
	_, err = engine.New(t.Context(), engine.Options{DataDir: dir})
	require.EqualError(t, err, "engine: Options.DataDir: data directory "+dir+" is in use by another server")

	require.NoError(t, first.Close(t.Context()))
	_, err = engine.New(t.Context(), engine.Options{DataDir: dir, Shared: &engine.Shared{}})
	require.ErrorContains(t, err, "Shared.Keys")
	broken := engine.Options{DataDir: dir}
	broken.Server.MaxStreams = -1
	_, err = engine.New(t.Context(), broken)
	require.ErrorContains(t, err, "MaxStreams", "a New that fails leaves no lock")
	second, err := engine.New(t.Context(), engine.Options{DataDir: dir})
	require.NoError(t, err)
	require.NoError(t, second.Close(t.Context()))
}
