package devicestest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/devices"
)

// TestStore runs the suite. newStore returns an empty store; it is called for each test.
func TestStore(t *testing.T, newStore func(t testing.TB) devices.Store) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, s devices.Store)
	}{
		{"devices", testDevices},
		{"updates that fail", testFailedUpdates},
		{"concurrent updates", testConcurrentUpdates},
		{"updates of many", testUpdateMany},
		{"commands", testCommands},
		{"a command is added once", testAddOnce},
		{"outcomes are final", testOutcomes},
		{"queries", testQueries},
		{"last moves", testLastMoves},
		{"trim", testTrim},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, newStore(t)) })
	}
}

var start = time.Date(2026, 3, 1, 8, 0, 0, 123456000, time.UTC)

func device(id string) devices.Device {
	charge := 71.5
	return devices.Device{ID: id, TenantID: "plant", Name: "AGV é", Description: `"north" %_'\`, State: devices.Working, Held: true,
		LastSeen: start.Add(time.Minute), CreatedAt: start, StopLatched: true,
		Telemetry: &devices.Telemetry{Time: start, Received: start.Add(time.Second), Pose: &devices.Pose{Map: "hall", X: 1.25, Y: -3, Theta: 0.5},
			Velocity: &devices.Velocity{X: 0.1}, Battery: &charge, Charging: true, State: devices.Working, Stop: devices.LocalStop,
			Faults: []string{"blocked"}, Loads: []string{"pallet 7"}}}
}

// command is the command number n, n minutes after start, of one of two devices.
func command(n int) devices.Record {
	return devices.Record{
		Command: devices.Command{ID: fmt.Sprintf("command-%02d", n), DeviceID: fmt.Sprintf("agv%d", n%2), Type: devices.MoveTo,
			Parameters: map[string]any{"x": 1.5, "y": -2.0, "deep": map[string]any{"list": []any{"a", true, nil}}}, Priority: -3, Time: start},
		By: "anna", IssuedAt: start.Add(time.Duration(n) * time.Minute), Digest: "d", Phase: devices.Queued,
		Result: devices.Result{CommandID: fmt.Sprintf("command-%02d", n)},
	}
}

func add(t *testing.T, s devices.Store, all ...devices.Record) {
	t.Helper()
	for _, r := range all {
		stored, added, err := s.AddCommand(t.Context(), r)
		require.NoError(t, err)
		require.True(t, added)
		require.Equal(t, r, stored)
	}
}

func testDevices(t *testing.T, s devices.Store) {
	all, err := s.Devices(t.Context())
	require.NoError(t, err)
	require.Empty(t, all)
	bare := devices.Device{ID: "a", Name: "A", State: devices.Offline} // times may be absent
	require.NoError(t, s.AddDevice(t.Context(), device("b")))
	require.NoError(t, s.AddDevice(t.Context(), bare))
	require.ErrorIs(t, s.AddDevice(t.Context(), bare), devices.ErrExists)
	all, err = s.Devices(t.Context())
	require.NoError(t, err)
	require.Equal(t, []devices.Device{bare, device("b")}, all)

	want := device("b")
	want.ID, want.Name, want.State, want.Held, want.StopLatched, want.LastSeen, want.Telemetry = "a", "other", devices.Idle, false, false, start.Add(time.Hour), nil
	want.TenantID, want.Description, want.CreatedAt = "", "", time.Time{}
	require.NoError(t, s.UpdateDevice(t.Context(), "a", func(d *devices.Device) error {
		require.Equal(t, bare, *d)
		*d = want
		return nil
	}))
	all, err = s.Devices(t.Context())
	require.NoError(t, err)
	require.Equal(t, []devices.Device{want, device("b")}, all)
}

func testFailedUpdates(t *testing.T, s devices.Store) {
	require.ErrorIs(t, s.UpdateDevice(t.Context(), "none", func(*devices.Device) error { return nil }), devices.ErrNotFound)
	require.NoError(t, s.AddDevice(t.Context(), device("a")))
	failed := errors.New("no")
	require.ErrorIs(t, s.UpdateDevice(t.Context(), "a", func(d *devices.Device) error { d.Name = "changed"; return failed }), failed)
	all, err := s.Devices(t.Context())
	require.NoError(t, err)
	require.Equal(t, []devices.Device{device("a")}, all)
	require.ErrorIs(t, s.UpdateCommand(t.Context(), command(1)), devices.ErrNoCommand)
}

func testConcurrentUpdates(t *testing.T, s devices.Store) {
	d := device("a")
	d.Description = ""
	require.NoError(t, s.AddDevice(t.Context(), d))
	errs := make([]error, 20)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			errs[i] = s.UpdateDevice(t.Context(), "a", func(d *devices.Device) error { d.Description += "x"; return nil })
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	all, err := s.Devices(t.Context())
	require.NoError(t, err)
	require.Len(t, all[0].Description, len(errs))
}

func testUpdateMany(t *testing.T, s devices.Store) {
	var ids []string
	for i := range 450 {
		d := device(fmt.Sprintf("a%03d", i))
		require.NoError(t, s.AddDevice(t.Context(), d))
		if i != 7 {
			ids = append(ids, d.ID)
		}
	}
	require.NoError(t, s.UpdateDevices(t.Context(), append(ids, "none"), func(d *devices.Device) {
		d.State, d.Held, d.StopLatched, d.LastSeen = devices.Idle, false, false, start.Add(time.Hour)
		d.Telemetry = &devices.Telemetry{Time: start, Loads: []string{d.ID}}
	}))
	require.NoError(t, s.UpdateDevices(t.Context(), nil, func(*devices.Device) {}))
	all, err := s.Devices(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 450)
	for i, d := range all {
		want := device(d.ID)
		if i != 7 {
			want.State, want.Held, want.StopLatched, want.LastSeen = devices.Idle, false, false, start.Add(time.Hour)
			want.Telemetry = &devices.Telemetry{Time: start, Loads: []string{d.ID}}
		}
		require.Equal(t, want, d)
	}
}

func testCommands(t *testing.T, s devices.Store) {
	r := command(1)
	r.Phase, r.BeganAt = devices.Running, start.Add(time.Hour)
	r.Path = &devices.Path{Map: "hall", FromX: 1, FromY: 2, ToX: 3, ToY: 4, Speed: 1.5, ReservedAt: start}
	r.Decision = devices.Decision{Allowed: true, MaxSpeed: 1.5, Time: start, Verdicts: []devices.Verdict{
		{Policy: "battery", Allowed: true, Figures: []devices.Figure{{Name: "charge", Value: 71.5, Unit: "%"}}}}}
	add(t, s, r, command(2))
	found, err := s.Commands(t.Context(), devices.CommandQuery{ID: r.ID, Limit: 10})
	require.NoError(t, err)
	require.Equal(t, []devices.Record{r}, found)
}

func testAddOnce(t *testing.T, s devices.Store) {
	first := command(1)
	var mu sync.Mutex
	var wg sync.WaitGroup
	adds, errs := 0, make([]error, 10)
	for i := range errs {
		wg.Go(func() {
			stored, added, err := s.AddCommand(t.Context(), first)
			mu.Lock()
			defer mu.Unlock()
			if errs[i] = err; added {
				adds++
			}
			if err == nil && stored.ID != first.ID {
				errs[i] = fmt.Errorf("stored %q", stored.ID)
			}
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	require.Equal(t, 1, adds)
	other := command(2)
	other.ID = first.ID
	stored, added, err := s.AddCommand(t.Context(), other)
	require.NoError(t, err)
	require.False(t, added)
	require.Equal(t, first, stored)
}

func testOutcomes(t *testing.T, s devices.Store) {
	r := command(1)
	add(t, s, r)
	r.Phase, r.BeganAt, r.Path = devices.Running, start.Add(time.Minute), &devices.Path{Map: "hall", ToX: 3, Speed: 1}
	require.NoError(t, s.UpdateCommand(t.Context(), r))
	r.Phase = devices.Failed
	r.Result.Message, r.Result.Data, r.Result.CompletedAt = "the gripper is empty", map[string]any{"x": 1.5}, start.Add(time.Hour)
	require.NoError(t, s.UpdateCommand(t.Context(), r))
	later := r
	later.Phase, later.Result.Success = devices.Succeeded, true
	require.NoError(t, s.UpdateCommand(t.Context(), later))
	found, err := s.Commands(t.Context(), devices.CommandQuery{Limit: 10})
	require.NoError(t, err)
	require.Equal(t, []devices.Record{r}, found)
}

func ids(t *testing.T, s devices.Store, q devices.CommandQuery) (all []string) {
	t.Helper()
	found, err := s.Commands(t.Context(), q)
	require.NoError(t, err)
	for _, r := range found {
		all = append(all, r.ID[len("command-"):])
	}
	return all
}

func testQueries(t *testing.T, s devices.Store) {
	for n := range 6 {
		r := command(n)
		if n == 3 {
			r.IssuedAt = command(2).IssuedAt
		}
		if n < 4 {
			r.Phase = devices.Succeeded
		}
		add(t, s, r)
	}
	require.Equal(t, []string{"05", "04", "03", "02", "01", "00"}, ids(t, s, devices.CommandQuery{Limit: 10}))
	require.Equal(t, []string{"05", "04"}, ids(t, s, devices.CommandQuery{Limit: 2}))
	require.Equal(t, []string{"05", "03", "01"}, ids(t, s, devices.CommandQuery{DeviceID: "agv1", Limit: 10}))
	require.Equal(t, []string{"05", "04"}, ids(t, s, devices.CommandQuery{Unfinished: true, Limit: 10}))
	at := command(2).IssuedAt
	require.Equal(t, []string{"01", "00"}, ids(t, s, devices.CommandQuery{Before: at, Limit: 10}))
	require.Equal(t, []string{"02", "01", "00"}, ids(t, s, devices.CommandQuery{Before: at, BeforeID: command(3).ID, Limit: 10}))
}

func testLastMoves(t *testing.T, s devices.Store) {
	found, err := s.LastMoves(t.Context())
	require.NoError(t, err)
	require.Empty(t, found)
	for _, id := range []string{"agv0", "agv1", "agv2"} {
		require.NoError(t, s.AddDevice(t.Context(), device(id)))
	}
	for n := range 16 { // of agv0 and agv1 in turn, issued in the order of n
		r := command(n)
		switch n {
		case 2, 5: // began after those that were issued later
			r.Path, r.BeganAt, r.Phase = &devices.Path{Map: "hall", ToX: 3}, start.Add(time.Hour), devices.Lost
		case 0, 1, 3, 4:
			r.Path, r.BeganAt, r.Phase = &devices.Path{Map: "hall", ToX: 4}, start.Add(time.Minute*time.Duration(n)), devices.Succeeded
		case 6:
			r.Path, r.BeganAt, r.Phase = &devices.Path{Map: "hall", ToX: 5}, start.Add(2*time.Hour), devices.Failed
		case 8:
			r.BeganAt, r.Phase = start.Add(2*time.Hour), devices.Succeeded // moves nothing
		default:
			r.Path, r.Phase = &devices.Path{Map: "hall", ToX: 6}, devices.Refused
		}
		add(t, s, r)
	}
	found, err = s.LastMoves(t.Context())
	require.NoError(t, err)
	var all []string
	for _, r := range found {
		all = append(all, r.ID)
		require.InDelta(t, 3, r.Path.ToX, 0)
		require.Equal(t, devices.Lost, r.Phase)
	}
	require.ElementsMatch(t, []string{"command-02", "command-05"}, all)
}

func testTrim(t *testing.T, s devices.Store) {
	trimmer, ok := s.(devices.Trimmer)
	if !ok {
		t.Skip("the store keeps all commands")
	}
	for n := range 6 {
		r := command(n)
		if n != 1 {
			r.Phase = devices.Failed
		}
		add(t, s, r)
	}
	for _, want := range []int{2, 1, 0} {
		removed, err := trimmer.TrimCommands(t.Context(), command(4).IssuedAt, 2)
		require.NoError(t, err)
		require.Equal(t, want, removed)
	}
	require.Equal(t, []string{"05", "04", "01"}, ids(t, s, devices.CommandQuery{Limit: 10}))
}
