package driverstest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags/drivers"
)

// TestRepository tests a repository. open returns an empty one each time.
func TestRepository(t *testing.T, open func(t testing.TB) drivers.Repository) {
	t.Run("keeps every member", func(t *testing.T) { keeps(t, open(t)) })
	t.Run("refuses late changes", func(t *testing.T) { refuses(t, open(t)) })
	t.Run("counts changes", func(t *testing.T) { versions(t, open(t)) })
}

func definition(id string) drivers.Definition {
	at := time.Date(2026, 3, 1, 12, 30, 0, 123456000, time.UTC)
	return drivers.Definition{
		ID: id, Type: "Modbus", Enabled: true, IPAddress: "10.0.0.5", Port: 1502, PollInterval: 250 * time.Millisecond, Timeout: time.Second,
		MaxBackoff: time.Minute, Settings: json.RawMessage(`{"Tags": [{"Name": "ä\u0000", "Address": "40001", "Type": "Int16"}]}`), Revision: at.UnixMicro(),
		CreatedAt: at, UpdatedAt: at.Add(time.Second), Requires: map[string]string{"network": "hall-1"}, Declared: true,
	}
}

func keeps(t *testing.T, r drivers.Repository) {
	ctx := t.Context()
	none, _, err := r.Load(ctx)
	require.NoError(t, err)
	require.Empty(t, none)
	second := drivers.Definition{ID: "b/ü 1", Type: "Simulation", Revision: 1}
	require.NoError(t, r.Insert(ctx, second))
	first := definition("a")
	require.NoError(t, r.Insert(ctx, first))
	list, _, err := r.Load(ctx)
	require.NoError(t, err)
	require.Equal(t, []drivers.Definition{first, second}, list)

	first.Enabled, first.Settings, first.Revision, first.Port, first.Requires, first.Declared = false, nil, first.Revision+1, 0, nil, false
	require.NoError(t, r.Update(ctx, first, first.Revision-1))
	got, err := r.Get(ctx, "a")
	require.NoError(t, err)
	require.Equal(t, first, got)
	require.NoError(t, r.Delete(ctx, "a", first.Revision))
	_, err = r.Get(ctx, "a")
	require.ErrorIs(t, err, drivers.ErrNotFound)
	list, _, err = r.Load(ctx)
	require.NoError(t, err)
	require.Equal(t, []drivers.Definition{second}, list)
}

func refuses(t *testing.T, r drivers.Repository) {
	ctx := t.Context()
	d := definition("a")
	require.ErrorIs(t, r.Update(ctx, d, d.Revision), drivers.ErrNotFound)
	require.ErrorIs(t, r.Delete(ctx, d.ID, d.Revision), drivers.ErrNotFound)
	require.NoError(t, r.Insert(ctx, d))
	other := definition("a")
	other.Type = "Simulation"
	require.ErrorIs(t, r.Insert(ctx, other), drivers.ErrExists)
	later := d
	later.Revision++
	require.ErrorIs(t, r.Update(ctx, later, d.Revision-1), drivers.ErrChanged)
	require.ErrorIs(t, r.Delete(ctx, d.ID, d.Revision+1), drivers.ErrChanged)
	require.NoError(t, r.Update(ctx, later, d.Revision))
	require.ErrorIs(t, r.Update(ctx, later, d.Revision), drivers.ErrChanged)
	got, err := r.Get(ctx, "a")
	require.NoError(t, err)
	require.Equal(t, later, got)
}

func versions(t *testing.T, r drivers.Repository) {
	ctx := t.Context()
	_, last, err := r.Load(ctx)
	require.NoError(t, err)
	grows := func(what string, change func() error, grown bool) {
		t.Helper()
		err := change()
		require.Equal(t, grown, err == nil, what)
		version, err := r.Version(ctx)
		require.NoError(t, err)
		require.Equal(t, grown, version > last, what)
		_, loaded, err := r.Load(ctx)
		require.NoError(t, err)
		require.Equal(t, version, loaded)
		last = version
	}
	d := definition("a")
	grows("insert", func() error { return r.Insert(ctx, d) }, true)
	grows("insert again", func() error { return r.Insert(ctx, d) }, false)
	later := d
	later.Revision++
	grows("late update", func() error { return r.Update(ctx, later, d.Revision+7) }, false)
	grows("update", func() error { return r.Update(ctx, later, d.Revision) }, true)
	grows("late delete", func() error { return r.Delete(ctx, d.ID, d.Revision) }, false)
	grows("delete", func() error { return r.Delete(ctx, d.ID, later.Revision) }, true)
}
