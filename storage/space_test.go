package storage_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/storetest"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/accountstore"
	"github.com/otkit/otkit/storage/historystore"
	"github.com/otkit/otkit/tags/history"
)

// disk is a disk whose free room a test sets.
type disk struct{ free atomic.Int64 }

func (d *disk) room() (free, total int64, err error) { return d.free.Load(), 1 << 30, nil }

// lines is a log that a test may read while it is written.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

var _ io.Writer = (*lines)(nil)

func soon(t *testing.T, what string, ok func() bool) {
	t.Helper()
	require.Eventually(t, ok, time.Minute, 10*time.Millisecond, what)
}

func samplesUntil(t *testing.T, h *historystore.Store, tag string, end time.Time) (out []history.Sample) {
	t.Helper()
	for s, err := range h.Range(t.Context(), tag, time.Time{}, end) {
		require.NoError(t, err)
		out = append(out, s)
	}
	return out
}

func TestHistoryGivesWayOldestFirst(t *testing.T) {
	var (
		d   disk
		log lines
	)
	d.free.Store(1 << 30)
	file := filepath.Join(t.TempDir(), "reserve")
	db := storetest.OnSQLite(t)(t, storage.Options{Logger: slog.New(slog.NewTextHandler(&log, nil)), MinFree: 1_000_000, Reserve: 500_000,
		Space: storage.Space{Free: d.room, ReserveFile: file}})
	h := db.History()
	p := storetest.NewPlant(1)
	require.NoError(t, h.Append(t.Context(), p.Batch(400_000)))
	require.NoError(t, h.Compact(t.Context()))
	newest := p.Batch(1)
	require.NoError(t, h.Append(t.Context(), newest))
	count := func() int { return len(samplesUntil(t, h, p.Names[0], p.At.Add(time.Hour))) }
	require.Equal(t, 400_001, count())
	soon(t, "no reserve is made", func() bool { info, err := os.Stat(file); return err == nil && info.Size() == 250_000 })
	require.Empty(t, db.Shortage())

	d.free.Store(900_000)
	soon(t, "no history gives way", func() bool { return count() < 400_001 })
	d.free.Store(1 << 30)
	soon(t, "the shortage does not end", func() bool { return db.Shortage() == "" })
	got := samplesUntil(t, h, p.Names[0], p.At.Add(time.Hour))
	require.Equal(t, newest[0].Value, got[len(got)-1].Value, "the newest is there")
	require.Contains(t, log.String(), "oldest history removed")
	require.FileExists(t, file, "history gives way before the reserve")

	d.free.Store(400_000)
	soon(t, "history gives way without end", func() bool { return h.Append(t.Context(), p.Batch(1)) != nil })
	require.ErrorIs(t, h.Append(t.Context(), p.Batch(1)), storage.ErrFull)
	soon(t, "health tells nothing", func() bool { return db.Shortage() != "" })
	require.Positive(t, count(), "a rest that would not help stays")

	d.free.Store(1000)
	soon(t, "the reserve is not released", func() bool { _, err := os.Stat(file); return os.IsNotExist(err) })
	require.NoError(t, db.Update(t.Context(), "test", put("still")))

	d.free.Store(1 << 30)
	soon(t, "history does not go on", func() bool { return h.Append(t.Context(), p.Batch(1)) == nil })
	soon(t, "no reserve is made again", func() bool { _, err := os.Stat(file); return err == nil })
	soon(t, "the shortage does not end", func() bool { return db.Shortage() == "" })
}

// Of writes that meet a full disk together, each succeeds when the reserve is released.
func TestReserveIsForAllWhoWait(t *testing.T) {
	var d disk
	d.free.Store(1 << 30)
	file := filepath.Join(t.TempDir(), "reserve")
	db := storetest.OnSQLite(t)(t, storage.Options{MinFree: 1_000_000, Reserve: 500_000, Space: storage.Space{Free: d.room, ReserveFile: file}})
	soon(t, "no reserve is made", func() bool { info, err := os.Stat(file); return err == nil && info.Size() == 250_000 })
	d.free.Store(1_000_000) // no other reserve

	busy, begun := make(chan struct{}), make(chan struct{})
	var writes sync.WaitGroup
	writes.Go(func() {
		_ = db.Update(t.Context(), "test", func(context.Context, *storage.Tx) error {
			close(begun)
			<-busy
			return nil
		})
	})
	<-begun
	const many = 20
	errs := make([]error, many)
	for i := range errs {
		writes.Go(func() {
			errs[i] = db.Update(t.Context(), "test", func(context.Context, *storage.Tx) error {
				if _, err := os.Stat(file); err == nil {
					return storage.ErrFull
				}
				return nil
			})
		})
	}
	soon(t, "not all wait", func() bool { return db.Pending() == many })
	close(busy)
	writes.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.NoFileExists(t, file)
	require.FileExists(t, file+"-vital", "what is left is for vital writes")
}

// Ordinary writes cannot use what vital ones need, however large they are and however many.
func TestRestOfTheReserveIsForVitalWrites(t *testing.T) {
	var (
		d   disk
		log lines
	)
	d.free.Store(1 << 30)
	file := filepath.Join(t.TempDir(), "reserve")
	db := storetest.OnSQLite(t)(t, storage.Options{Logger: slog.New(slog.NewTextHandler(&log, nil)), MinFree: 1_000_000, Reserve: 500_000,
		Space: storage.Space{Free: d.room, ReserveFile: file}})
	half := func(name string) func() bool {
		return func() bool { info, err := os.Stat(name); return err == nil && info.Size() == 250_000 }
	}
	soon(t, "no reserve is made", half(file))
	soon(t, "no rest of the reserve is made", half(file+"-vital"))
	d.free.Store(200_000)
	// needs is a write that fails until a file of the reserve is removed.
	needs := func(name string, ran *int) func(context.Context, *storage.Tx) error {
		return func(context.Context, *storage.Tx) error {
			*ran++
			if _, err := os.Stat(name); err == nil {
				return storage.ErrFull
			}
			return nil
		}
	}
	state, err := db.SetOf(accountstore.Schema())
	require.NoError(t, err)
	var ran, other int
	require.NoError(t, db.Update(t.Context(), "test", needs(file, &ran)))
	require.NoFileExists(t, file)
	require.ErrorIs(t, db.Update(t.Context(), "test", needs(file+"-vital", &ran)), storage.ErrFull)
	require.FileExists(t, file+"-vital")
	require.Contains(t, log.String(), "only sessions, alarms and acknowledgements are stored")
	require.ErrorIs(t, db.Update(t.Context(), "test", needs(file, &other)), storage.ErrFull)
	require.ErrorIs(t, state.Admit(), storage.ErrFull)
	require.Zero(t, other, "an ordinary write is refused before it takes space")

	require.NoError(t, state.UpdateVital(t.Context(), "test", needs(file+"-vital", &ran)))
	require.NoFileExists(t, file+"-vital")
	d.free.Store(260_000)
	require.ErrorIs(t, db.Update(t.Context(), "test", needs(file, &other)), storage.ErrFull)
	require.Zero(t, other, "what the vital half has freed is for vital writes")
	require.ErrorIs(t, db.History().Append(t.Context(), storetest.NewPlant(1).Batch(1)), storage.ErrFull)
	soon(t, "health tells nothing", func() bool { return strings.Contains(db.Shortage(), "only sessions, alarms and acknowledgements") })

	d.free.Store(1 << 30)
	soon(t, "no reserve is made again", half(file))
	soon(t, "no rest of the reserve is made again", half(file+"-vital"))
	require.NoError(t, state.Admit())
	require.NoError(t, db.Update(t.Context(), "test", put("again")))
	soon(t, "the shortage does not end", func() bool { return db.Shortage() == "" })
}

// The reserve is not for the history, also where it is larger than the room that the history must leave.
func TestHistoryLeavesTheReleasedReserveAlone(t *testing.T) {
	var (
		others, looks atomic.Int64
		log           lines
	)
	file := filepath.Join(t.TempDir(), "reserve")
	others.Store(900_000_000)
	room := func() (free, total int64, err error) {
		looks.Add(1)
		free = 1_000_000_000 - others.Load()
		for _, half := range []string{file, file + "-vital"} {
			if info, err := os.Stat(half); err == nil {
				free -= info.Size()
			}
		}
		return free, 1_000_000_000, nil
	}
	db := storetest.OnSQLite(t)(t, storage.Options{Logger: slog.New(slog.NewTextHandler(&log, nil)), MinFree: 1_000_000, Reserve: 4_000_000,
		Space: storage.Space{Free: room, ReserveFile: file}})
	h := db.History()
	p := storetest.NewPlant(1)
	require.NoError(t, h.Append(t.Context(), p.Batch(1)))
	soon(t, "no reserve is made", func() bool { _, err := os.Stat(file); return err == nil })

	others.Store(1_000_000_000 - 4_000_000)
	soon(t, "the reserve is not released", func() bool { _, err := os.Stat(file); return err != nil })
	seen := looks.Load()
	soon(t, "nobody looks", func() bool { return looks.Load() >= seen+3 })
	require.Contains(t, db.Shortage(), "the reserve of accounts, alarms and configuration is in use")
	require.ErrorIs(t, h.Append(t.Context(), p.Batch(1)), storage.ErrFull)
	require.NoError(t, db.Update(t.Context(), "test", put("still")))

	others.Store(1_000_000_000 - 6_500_000) // as much as the history makes when it gives way
	soon(t, "no reserve is made again", func() bool { _, err := os.Stat(file); return err == nil })
	soon(t, "history does not go on", func() bool { return h.Append(t.Context(), p.Batch(1)) == nil })
	soon(t, "the shortage does not end", func() bool { return db.Shortage() == "" })
}

func TestReserveIsReleasedBeforeTheDatabaseIsOpened(t *testing.T) {
	file := filepath.Join(t.TempDir(), "reserve")
	var d disk
	s := storage.Space{Free: d.room, ReserveFile: file}
	require.NoError(t, s.Relieve(), "there is none")
	require.NoError(t, os.WriteFile(file, make([]byte, 1000), 0o600))
	d.free.Store(2000)
	require.NoError(t, s.Relieve())
	require.FileExists(t, file)
	require.NoError(t, os.WriteFile(file+"-vital", make([]byte, 1000), 0o600))
	d.free.Store(999)
	require.NoError(t, storage.Space{ReserveFile: file, Free: func() (free, total int64, err error) {
		free = 1999
		if info, err := os.Stat(file); err == nil {
			free -= info.Size()
		}
		return free, 1 << 30, nil
	}}.Relieve())
	require.NoFileExists(t, file)
	require.FileExists(t, file+"-vital", "the first half suffices")
	require.NoError(t, s.Relieve())
	require.NoFileExists(t, file+"-vital")
}
