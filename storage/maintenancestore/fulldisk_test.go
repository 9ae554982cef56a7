package maintenancestore_test

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/maintenancestore"
	"github.com/otkit/otkit/storage/sqlite"
)

// On a full disk records are refused, and can be deleted.
func TestFullDisk(t *testing.T) {
	var free atomic.Int64
	free.Store(1 << 30)
	file := filepath.Join(t.TempDir(), "reserve")
	db, err := sqlite.Open(t.Context(), sqlite.Options{Dir: t.TempDir(), Options: storage.Options{Reserve: 500_000, MinFree: 1_000_000,
		Space: storage.Space{ReserveFile: file, Free: func() (int64, int64, error) { return free.Load(), 1 << 40, nil }}}}, maintenancestore.Schema())
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close(context.Background())) }()
	s, err := maintenancestore.New(db)
	require.NoError(t, err)
	record := predictive.Replacement{ID: "1", EquipmentID: "pump", Component: "Seal", At: at}
	require.NoError(t, s.AddReplacements(t.Context(), []predictive.Replacement{record}))
	require.Eventually(t, func() bool { _, err := os.Stat(file); return err == nil }, time.Minute, 10*time.Millisecond)
	set, err := db.SetOf(maintenancestore.Schema())
	require.NoError(t, err)
	free.Store(200_000)
	full := func(context.Context, *storage.Tx) error { return storage.ErrFull }
	require.ErrorIs(t, set.Update(t.Context(), "test", full), storage.ErrFull)

	record.ID = "2"
	require.ErrorIs(t, s.AddReplacements(t.Context(), []predictive.Replacement{record}), storage.ErrFull)
	require.NoError(t, s.DeleteReplacement(t.Context(), "1"))
	p, err := s.Replacements(t.Context(), predictive.RecordQuery{})
	require.NoError(t, err)
	require.Empty(t, p.Items)
}
