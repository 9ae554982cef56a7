package main

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags/history"
	"github.com/otkit/otkit/tags/tagstest"
)

func TestRun(t *testing.T) {
	require.NoError(t, run(t.Context(), &fileHistory{path: filepath.Join(t.TempDir(), "h.jsonl")}, time.Second))
}

func TestItIsAHistoryStore(t *testing.T) {
	tagstest.TestHistoryStore(t, func(t testing.TB) history.Store {
		return &fileHistory{path: filepath.Join(t.TempDir(), "h.jsonl")}
	})
}
