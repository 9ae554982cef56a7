package drivers_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/drivers"
)

func TestATrialSaysWhatItSaw(t *testing.T) {
	r := start(t, nil)
	def := drivers.Definition{Type: "Secretive", Settings: settings(`{"Host": "h", "Tags": ["x", "broken", "y"]}`)}
	got, err := r.Test(t.Context(), def, 0)
	require.NoError(t, err)
	require.True(t, got.Connected)
	require.False(t, got.OK)
	require.Len(t, got.Units, 1)
	require.Equal(t, 3, got.Units[0].Points)
	require.Equal(t, 2, got.Units[0].Answered)
	require.Equal(t, tags.IntValue(7), got.Points[0].Value)
	require.Contains(t, got.Points[1].Error, "no such address")
	require.Empty(t, r.List(), "nothing is stored")
	require.Empty(t, r.engine.Drivers())

	got, err = r.Test(t.Context(), def, 1)
	require.NoError(t, err)
	require.True(t, got.OK)
	require.Len(t, got.Points, 1)

	r.secret.fails = errors.New("connection refused")
	got, err = r.Test(t.Context(), def, 0)
	require.NoError(t, err)
	require.False(t, got.Connected)
	require.Equal(t, "connection refused", got.Error)

	_, err = r.Test(t.Context(), drivers.Definition{ID: "absent"}, 0)
	require.ErrorIs(t, err, drivers.ErrNotFound)
	_, err = r.Test(t.Context(), drivers.Definition{Type: "Secretive"}, 0)
	require.ErrorIs(t, err, drivers.ErrInvalid)
}

func TestATrialOfADriverAlsoReadsTagsThatArePartOfTheConfiguration(t *testing.T) {
	r := start(t, nil)
	_, err := r.Create(t.Context(), drivers.Definition{ID: "a", Type: "Secretive", Enabled: true, Settings: settings(`{"Host": "h"}`)})
	require.NoError(t, err)
	require.NoError(t, r.engine.DefineTags(tags.Tag{Name: "a.level", Driver: "a", Address: "level", DataType: tags.Int}))
	got, err := r.Test(t.Context(), drivers.Definition{ID: "a"}, 0)
	require.NoError(t, err)
	require.Len(t, got.Points, 1)
	require.Equal(t, "a.level", got.Points[0].Name)
}

// What a program has built, such as the plant of the demo, cannot be built again from what is known of it: another driver of the type would
// have other points.
func TestADriverThatTheProgramHasBuiltIsNotTried(t *testing.T) {
	r := start(t, nil, func(d *drivers.Deps, _ *drivers.Options) {
		d.Fixed = []drivers.Fixed{{Definition: drivers.Definition{ID: "own", Type: "Secretive"}, Opaque: true}}
	})
	got, err := r.Test(t.Context(), drivers.Definition{ID: "own"}, 0)
	require.NoError(t, err)
	require.False(t, got.Connected)
	require.Contains(t, got.Error, "driver was built by the program")
	_, _, err = r.Browse(t.Context(), drivers.Definition{ID: "own"}, 0, 10)
	require.ErrorIs(t, err, drivers.ErrOpaque)
}

func TestADriverThatHangsIsLeftBehind(t *testing.T) {
	r := start(t, nil, func(_ *drivers.Deps, o *drivers.Options) { o.TestTimeout, o.MaxTests = 20*time.Millisecond, 1 })
	hangs := make(chan struct{})
	r.secret.hangs = hangs
	def := drivers.Definition{Type: "Secretive", Settings: settings(`{"Host": "h"}`)}
	got, err := r.Test(t.Context(), def, 0)
	require.NoError(t, err)
	require.Contains(t, got.Error, "did not return")
	got, err = r.Test(t.Context(), drivers.Definition{Type: "Simulation"}, 0)
	require.NoError(t, err, "its place is free for others")
	require.True(t, got.OK)
	close(hangs)
}

// Drivers that hang are left behind up to a limit; beyond it they keep their places until they return.
func TestOnlySoManyDriversAreLeftBehind(t *testing.T) {
	const places, left = 20, 16
	r := start(t, nil, func(_ *drivers.Deps, o *drivers.Options) { o.TestTimeout, o.MaxTests = 20*time.Millisecond, places })
	hangs := make(chan struct{})
	r.secret.hangs = hangs
	def := drivers.Definition{Type: "Secretive", Settings: settings(`{"Host": "h"}`)}
	for range 2 {
		var all sync.WaitGroup
		for range places {
			all.Go(func() { _, _ = r.Test(context.Background(), def, 0) }) // in the second round some find no place
		}
		all.Wait()
	}
	_, err := r.Test(t.Context(), def, 0)
	require.ErrorIs(t, err, drivers.ErrBusy, "%d are left behind, and as many as there are places hang beside them", left)
	close(hangs)
	require.Eventually(t, func() bool {
		_, err := r.Test(t.Context(), def, 0)
		return err == nil
	}, patience, time.Millisecond)
}

func TestBrowse(t *testing.T) {
	r := start(t, nil)
	simulation := drivers.Definition{Type: "Simulation", Settings: settings(`{"DeviceCount": 2, "TagsPerDevice": 5}`)}
	list, total, err := r.Browse(t.Context(), simulation, 8, 100)
	require.NoError(t, err)
	require.Equal(t, 10, total)
	require.Len(t, list, 2)
	list, total, err = r.Browse(t.Context(), simulation, 100, 5)
	require.NoError(t, err)
	require.Equal(t, 10, total)
	require.Empty(t, list)
	_, _, err = r.Browse(t.Context(), drivers.Definition{Type: "Modbus", IPAddress: "127.0.0.1"}, 0, 1)
	require.ErrorIs(t, err, drivers.ErrNoBrowse)
	_, err = r.Create(t.Context(), drivers.Definition{ID: "sim", Type: "Simulation", Settings: settings(`{"Faults": {"Disconnect": {"EveryMs": 2, "ForMs": 1}}, "Start": "2025-01-01T00:00:00Z"}`)})
	require.NoError(t, err)
}

// exclusive is a device on a serial port.
type exclusive struct{ device }

func (exclusive) Resource() string { return "/dev/ttyS7" }

func TestADeviceThatADriverHasForItselfIsNotTried(t *testing.T) {
	r := start(t, nil, func(d *drivers.Deps, _ *drivers.Options) {
		d.Fixed = []drivers.Fixed{{Definition: drivers.Definition{ID: "line", Type: "Modbus"}, Driver: &exclusive{}}}
	})
	serial := drivers.Definition{Type: "Modbus", Settings: settings(`{"Protocol": "RTU", "SerialPort": "/dev/ttyS7"}`)}
	got, err := r.Test(t.Context(), serial, 0)
	require.NoError(t, err)
	require.Equal(t, "line", got.InUse)
	require.Contains(t, got.Error, "disable it first")
	serial.Settings = settings(`{"Protocol": "RTU", "SerialPort": "/dev/none"}`)
	got, err = r.Test(t.Context(), serial, 0)
	require.NoError(t, err)
	require.Empty(t, got.InUse)
	require.NotEmpty(t, got.Error, "there is no such port")
}
