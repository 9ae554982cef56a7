package bufferstore_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/discovery/bridge"
	"github.com/otkit/otkit/discovery/bridge/bridgetest"
	"github.com/otkit/otkit/storage/bufferstore"
	"github.com/otkit/otkit/storage/sqlite"
)

// open opens a buffer in a file.
func open(t testing.TB, path string, change ...func(*bufferstore.Options)) *bufferstore.Store {
	t.Helper()
	o := bufferstore.Options{Path: path}
	for _, f := range change {
		f(&o)
	}
	s, err := bufferstore.Open(t.Context(), sqlite.Files{}, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.Background())) })
	return s
}

func small(o *bufferstore.Options) { o.MaxBytes = bufferstore.MinBytes }

func TestBuffer(t *testing.T) {
	var paths sync.Map // of buffers
	fresh := func(t testing.TB, change ...func(*bufferstore.Options)) bridge.Buffer {
		path := filepath.Join(t.TempDir(), "buffer.db")
		s := open(t, path, change...)
		paths.Store(bridge.Buffer(s), path)
		return s
	}
	bridgetest.TestBuffer(t, bridgetest.BufferHarness{
		Open: func(t testing.TB) bridge.Buffer { return fresh(t) },
		Reopen: func(t testing.TB, b bridge.Buffer) bridge.Buffer {
			require.NoError(t, b.Close(t.Context()))
			path, _ := paths.Load(b)
			return open(t, path.(string))
		},
		Small: func(t testing.TB) (bridge.Buffer, int) { return fresh(t, small), bufferstore.MinBytes },
	})
}
