package devicestore_test

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/devicestore"
	"github.com/otkit/otkit/storage/sqlite"
)

// On a full disk an emergency stop uses the reserve for vital writes, and what devices report does not.
func TestFullDiskTakesEmergencyStopsOnly(t *testing.T) {
	var free atomic.Int64
	free.Store(1 << 30)
	file := filepath.Join(t.TempDir(), "reserve")
	db, err := sqlite.Open(t.Context(), sqlite.Options{Dir: t.TempDir(), Options: storage.Options{Reserve: 500_000, MinFree: 1_000_000,
		Space: storage.Space{ReserveFile: file, Free: func() (int64, int64, error) { return free.Load(), 1 << 40, nil }}}}, devicestore.Schema())
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close(context.Background())) }()
	s, err := devicestore.New(db)
	require.NoError(t, err)
	for _, id := range []string{"a", "b"} {
		require.NoError(t, s.AddDevice(t.Context(), devices.Device{ID: id, Name: id, State: devices.Idle}))
	}
	require.Eventually(t, func() bool { _, err := os.Stat(file); return err == nil }, time.Minute, 10*time.Millisecond)
	set, err := db.SetOf(devicestore.Schema())
	require.NoError(t, err)
	free.Store(200_000)
	full := func(context.Context, *storage.Tx) error { return storage.ErrFull }
	require.ErrorIs(t, set.Update(t.Context(), "test", full), storage.ErrFull)
	require.ErrorIs(t, set.Admit(), storage.ErrFull)

	seen := time.Date(2026, 11, 23, 6, 0, 0, 0, time.UTC)
	report := func(d *devices.Device) { d.LastSeen = seen }
	require.ErrorIs(t, s.UpdateDevices(t.Context(), []string{"a", "b"}, report), storage.ErrFull)
	stop := func(d *devices.Device) { d.StopLatched, d.LastSeen = d.ID == "a", seen }
	require.ErrorIs(t, s.UpdateDevices(t.Context(), []string{"a", "b"}, stop), storage.ErrFull, "b is not stored")
	all, err := s.Devices(t.Context())
	require.NoError(t, err)
	require.True(t, all[0].StopLatched)
	require.True(t, all[1].LastSeen.IsZero() || all[1].LastSeen.Before(seen))
	require.NoError(t, s.UpdateDevices(t.Context(), []string{"b"}, func(d *devices.Device) { d.StopLatched = true }))

	move := devices.Record{Command: devices.Command{ID: "1", DeviceID: "a", Type: devices.MoveTo, Time: seen}, Phase: devices.Queued, IssuedAt: seen}
	_, _, err = s.AddCommand(t.Context(), move)
	require.ErrorIs(t, err, storage.ErrFull)
	move.ID, move.Type = "2", devices.EmergencyStop
	_, added, err := s.AddCommand(t.Context(), move)
	require.NoError(t, err)
	require.True(t, added)
}
