package bufferstore_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/bufferstore"
	"github.com/otkit/otkit/storage/sqlite"
)

func block(first uint64, count, size int) link.Block {
	return link.Block{First: first, Count: count, Data: bytes.Repeat([]byte{byte(first)}, size)}
}

// filled makes a buffer of n blocks of 10 entries and 8 kB each, and returns its path. It is closed.
func filled(t *testing.T, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "buffer.db")
	s := open(t, path)
	require.NoError(t, s.AddNames(t.Context(), []string{"a", "b"}))
	for i := 0; i < n; i += 20 {
		var blocks []link.Block
		for k := i; k < min(i+20, n); k++ {
			blocks = append(blocks, block(uint64(1+k*10), 10, 8000))
		}
		require.NoError(t, s.Append(t.Context(), s.Epoch(), blocks))
	}
	require.NoError(t, s.Close(t.Context()))
	return path
}

// all reads what a buffer has. It tries again after a failure, as a bridge does.
func all(t *testing.T, s *bufferstore.Store) (blocks []link.Block) {
	t.Helper()
	for tries := 0; ; tries++ {
		got, err := s.Peek(t.Context(), s.Epoch(), 0, 1<<30)
		if err == nil {
			return got
		}
		require.Less(t, tries, 3, err)
	}
}

func TestADamagedFileIsReplacedByWhatCanBeRead(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(t *testing.T, path string, size int64)
		least  int // blocks that must be saved
	}{
		"empty": {func(t *testing.T, path string, _ int64) { require.NoError(t, os.Truncate(path, 0)) }, 0},
		"text": {func(t *testing.T, path string, _ int64) {
			require.NoError(t, os.WriteFile(path, bytes.Repeat([]byte("no database\n"), 1000), 0o600))
		}, 0},
		"half":         {func(t *testing.T, path string, size int64) { require.NoError(t, os.Truncate(path, size/2)) }, 40},
		"tail":         {func(t *testing.T, path string, size int64) { require.NoError(t, os.Truncate(path, size-3*4096)) }, 90},
		"torn page":    {func(t *testing.T, path string, size int64) { require.NoError(t, os.Truncate(path, size-100)) }, 90},
		"garbage":      {func(t *testing.T, path string, size int64) { scribble(t, path, size/2, 8192) }, 60},
		"second page":  {func(t *testing.T, path string, _ int64) { scribble(t, path, 4096, 4096) }, 0},
		"first page":   {func(t *testing.T, path string, _ int64) { scribble(t, path, 100, 3000) }, 0},
		"header":       {func(t *testing.T, path string, _ int64) { scribble(t, path, 0, 100) }, 0},
		"many garbage": {func(t *testing.T, path string, size int64) { scribble(t, path, 40_000, int(size)-50_000) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			path := filled(t, 100)
			info, err := os.Stat(path)
			require.NoError(t, err)
			c.damage(t, path, info.Size())
			s := open(t, path)
			epoch := s.Epoch()
			blocks := all(t, s)
			require.GreaterOrEqual(t, len(blocks), c.least)
			last := uint64(0)
			for _, b := range blocks {
				require.Greater(t, b.First, last)
				last = b.Last()
				require.Equal(t, bytes.Repeat(b.Data[:1], 8000), b.Data, "what is delivered is whole")
			}
			stats, err := s.Stats(t.Context())
			require.NoError(t, err)
			if stats.Damage != "" {
				require.False(t, stats.DamagedAt.IsZero())
			} else {
				require.Equal(t, epoch, s.Epoch(), "only blocks were damaged: they are missing by their numbers")
				require.True(t, len(blocks) < 100 || name == "second page", "that is the map of pages, which nothing reads")
			}
			names, err := s.Names(t.Context())
			require.NoError(t, err)
			if len(blocks) > 0 {
				require.Equal(t, []string{"a", "b"}, names)
			}
			require.NoError(t, s.Append(t.Context(), s.Epoch(), []link.Block{block(stats.Last+1, 1, 100)}))
			require.NoError(t, s.Ack(t.Context(), s.Epoch(), stats.Last))
			require.NoError(t, s.Close(t.Context()))
			s = open(t, path)
			require.Len(t, all(t, s), 1)
		})
	}
}

func scribble(t *testing.T, path string, at int64, count int) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteAt(bytes.Repeat([]byte{0xa5, 0x17, 0x00, 0xff}, count/4), at)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

// The file is damaged while it is open.
func TestDamageIsNoticedWhileRunning(t *testing.T) {
	path := filled(t, 2000)
	s := open(t, path)
	epoch := s.Epoch()
	info, err := os.Stat(path)
	require.NoError(t, err)
	scribble(t, path, 40_000, int(info.Size())-100_000)
	all(t, s)
	stats, err := s.Stats(t.Context())
	require.NoError(t, err)
	require.NotEqual(t, epoch, s.Epoch())
	require.NotEmpty(t, stats.Damage)
	require.NoError(t, s.Append(t.Context(), s.Epoch(), []link.Block{block(stats.Last+1, 1, 100)}))
}

func TestABufferIsOpenOnce(t *testing.T) {
	path := filled(t, 1)
	open(t, path)
	_, err := bufferstore.Open(t.Context(), sqlite.Files{}, bufferstore.Options{Path: path})
	require.Error(t, err)
	_, err = os.Stat(path + ".damaged")
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestANewerFileIsLeftAlone(t *testing.T) {
	path := filled(t, 1)
	db, err := sqlite.Files{}.OpenFile(path, 100)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "PRAGMA user_version = 2")
	require.NoError(t, err)
	require.NoError(t, db.Close())
	_, err = bufferstore.Open(t.Context(), sqlite.Files{}, bufferstore.Options{Path: path})
	require.ErrorIs(t, err, storage.ErrNewer)
}

func TestBadOptions(t *testing.T) {
	for _, o := range []bufferstore.Options{{}, {Path: "x", MaxBytes: 1}, {Path: "x", TTL: -1}} {
		_, err := bufferstore.Open(t.Context(), sqlite.Files{}, o)
		require.ErrorIs(t, err, storage.ErrOption)
	}
	_, err := bufferstore.Open(t.Context(), nil, bufferstore.Options{Path: "x"})
	require.Error(t, err)
}

func TestSpaceIsGivenBack(t *testing.T) {
	path := filled(t, 2000)
	s := open(t, path)
	before, err := s.Stats(t.Context())
	require.NoError(t, err)
	require.Greater(t, before.Bytes, int64(16<<20))
	require.NoError(t, s.Ack(t.Context(), s.Epoch(), before.Last))
	require.Eventually(t, func() bool {
		now, err := s.Stats(t.Context())
		return err == nil && now.Bytes < 8<<20
	}, time.Minute, 10*time.Millisecond)
}

func TestTheDatabaseOfAnotherProgramIsLeftAlone(t *testing.T) {
	for name, prepare := range map[string]string{
		"tables":             "CREATE TABLE orders (id INTEGER PRIMARY KEY)",
		"with a version":     "CREATE TABLE orders (id INTEGER PRIMARY KEY); PRAGMA user_version = 1",
		"of a later version": "CREATE TABLE meta (id INTEGER PRIMARY KEY); PRAGMA user_version = 7",
		"rollback journal":   "CREATE TABLE orders (id INTEGER PRIMARY KEY); PRAGMA journal_mode = DELETE",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "orders.db")
			db, err := sqlite.Files{}.OpenFile(path, 100)
			require.NoError(t, err)
			_, err = db.ExecContext(t.Context(), prepare)
			require.NoError(t, err)
			require.NoError(t, db.Close())
			before, err := os.ReadFile(path)
			require.NoError(t, err)

			_, err = bufferstore.Open(t.Context(), sqlite.Files{}, bufferstore.Options{Path: path})
			require.ErrorIs(t, err, bufferstore.ErrForeign)
			after, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, before, after)
			require.NoFileExists(t, path+".damaged")
		})
	}
}

func TestADamagedFileThatWasPutAsideCounts(t *testing.T) {
	path := filled(t, 300) // of 2.4 MB
	info, err := os.Stat(path)
	require.NoError(t, err)
	scribble(t, path, 0, 100)
	var log bytes.Buffer
	s := open(t, path, small, func(o *bufferstore.Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	require.FileExists(t, path+".damaged")
	stats, err := s.Stats(t.Context())
	require.NoError(t, err)
	require.Greater(t, stats.Bytes, info.Size(), "the damaged file is part of the buffer")
	for next := stats.Last + 1; ; next += 10 {
		require.NoError(t, s.Append(t.Context(), s.Epoch(), []link.Block{block(next, 10, 8000)}))
		stats, err = s.Stats(t.Context())
		require.NoError(t, err)
		require.LessOrEqual(t, stats.Bytes, stats.MaxBytes)
		if stats.Dropped > 0 {
			break
		}
	}
	require.NoFileExists(t, path+".damaged", "it goes before a sample goes")
	require.Greater(t, stats.Entries, uint64(5000), "samples have all the space")
	require.Contains(t, log.String(), "damaged offline buffer removed")
}
