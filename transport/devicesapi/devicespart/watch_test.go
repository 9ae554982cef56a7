package devicespart

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/transport/health"
)

// disk is a store that can be full.
type disk struct {
	*devices.Memory
	full atomic.Bool
}

func (d *disk) AddCommand(ctx context.Context, r devices.Record) (devices.Record, bool, error) {
	if d.full.Load() {
		return devices.Record{}, false, errors.New("disk full")
	}
	return d.Memory.AddCommand(ctx, r)
}

func (d *disk) UpdateDevice(ctx context.Context, id string, change func(*devices.Device) error) error {
	if d.full.Load() {
		return errors.New("disk full")
	}
	return d.Memory.UpdateDevice(ctx, id, change)
}

func TestHealthTellsThatTheJournalCannotBeWritten(t *testing.T) {
	store := &disk{Memory: devices.NewMemory()}
	d, err := New(t.Context(), nil, nil, nil, Options{Store: store})
	require.NoError(t, err)
	defer func() { require.NoError(t, d.drain(context.Background())) }()
	_, err = d.Service().Create(t.Context(), "agv-1", "Tugger", "")
	require.NoError(t, err)
	command := devices.Command{ID: "c-1", DeviceID: "agv-1", Type: "Dance"}
	_, err = d.Service().Submit(t.Context(), command, "ann")
	require.ErrorIs(t, err, devices.ErrRefused)
	require.Equal(t, health.Healthy, d.check(t.Context()).Status)

	store.full.Store(true)
	command.ID = "c-2"
	_, err = d.Service().Submit(t.Context(), command, "ann")
	require.ErrorContains(t, err, "disk full")
	require.Equal(t, health.Degraded, d.check(t.Context()).Status)
	store.full.Store(false)
	_, err = d.Service().Change(t.Context(), "nobody", devices.MaintenanceBegins)
	require.ErrorIs(t, err, devices.ErrNotFound)
	_, err = d.Service().Change(t.Context(), "agv-1", devices.MaintenanceBegins)
	require.NoError(t, err)
	require.Equal(t, health.Healthy, d.check(t.Context()).Status, "the first write that works shows it")
}

// A store keeps the ability to be trimmed, and one that has it not gets none.
func TestAWatchedStoreHasTheAbilitiesOfItsStore(t *testing.T) {
	_, trims := watch(devices.NewMemory(), newMeters(), slog.New(slog.DiscardHandler)).(devices.Trimmer)
	require.True(t, trims)
	_, trims = watch(struct{ devices.Store }{devices.NewMemory()}, newMeters(), slog.New(slog.DiscardHandler)).(devices.Trimmer)
	require.False(t, trims)
}

func TestFleetsAreClosedInOrder(t *testing.T) {
	var order []string
	began := make(chan struct{})
	fleet := Fleet{Name: "hall", Devices: []NewDevice{{ID: "agv-1", Name: "Tugger"}}, Open: func(_ context.Context, s *devices.Service) (Connection, error) {
		return Connection{Executor: idle{},
			Run: func(ctx context.Context) error {
				close(began)
				<-ctx.Done()
				_, err := s.Get("agv-1")
				require.ErrorIs(t, err, devices.ErrClosed, "the service has ended before, so that commands could end")
				order = append(order, "run")
				return nil
			},
			Close: func(context.Context) error { order = append(order, "close"); return nil }}, nil
	}}
	d, err := New(t.Context(), nil, nil, nil, Options{Fleets: []Fleet{fleet}})
	require.NoError(t, err)
	d.start()
	<-began
	require.NoError(t, d.drain(t.Context()))
	require.Equal(t, []string{"run", "close"}, order)

	broken := fleet
	broken.Name, broken.Devices = "broken", nil
	broken.Open = func(context.Context, *devices.Service) (Connection, error) {
		return Connection{}, errors.New("no broker")
	}
	order = nil
	_, err = New(t.Context(), nil, nil, nil, Options{Fleets: []Fleet{fleet, broken}})
	require.ErrorContains(t, err, "fleet broken: no broker")
	require.Equal(t, []string{"close"}, order, "what was opened is closed")
}

// A server with as many devices as it may have starts again.
func TestDevicesOfFleetsThatAreThereAreNotAdded(t *testing.T) {
	store := devices.NewMemory()
	fleet := Fleet{Name: "hall", Devices: []NewDevice{{ID: "agv-1", Name: "Tugger"}},
		Open: func(context.Context, *devices.Service) (Connection, error) { return Connection{Executor: idle{}}, nil }}
	for range 2 {
		d, err := New(t.Context(), nil, nil, nil, Options{Store: store, Fleets: []Fleet{fleet}, MaxDevices: 1})
		require.NoError(t, err)
		require.Len(t, d.Service().List(), 1)
		require.NoError(t, d.drain(t.Context()))
	}
}

func TestBadFleetsAreNamed(t *testing.T) {
	open := func(context.Context, *devices.Service) (Connection, error) { return Connection{}, nil }
	one := []NewDevice{{ID: "agv-1", Name: "Tugger"}}
	for want, o := range map[string]Options{
		"Options.Fleets[0].Open is required":                            {Fleets: []Fleet{{Name: "a"}}},
		`Options.Fleets[1].Name "a" is used twice`:                      {Fleets: []Fleet{{Name: "a", Open: open}, {Name: "a", Open: open}}},
		`Options.Fleets[1].Devices device "agv-1" belongs to fleet "a"`: {Fleets: []Fleet{{Name: "a", Devices: one, Open: open}, {Name: "b", Devices: one, Open: open}}},
		`Options.Fleets[0].Devices "stream" is reserved`:                {Fleets: []Fleet{{Name: "a", Devices: []NewDevice{{ID: "stream"}}, Open: open}}},
		"fleet a: the connection has no Executor":                       {Fleets: []Fleet{{Name: "a", Open: open}}},
		"fleet a: invalid request":                                      {Fleets: []Fleet{{Name: "a", Devices: []NewDevice{{ID: "a/b", Name: "x"}}, Open: open}}},
		"Options.CommandWait must be 0 to 50s, not 1m0s":                {CommandWait: time.Minute},
	} {
		_, err := New(t.Context(), nil, nil, nil, o)
		require.ErrorContains(t, err, want)
	}
}

// idle is an executor that does nothing.
type idle struct{}

func (idle) Execute(context.Context, devices.Order) (map[string]any, error) { return nil, nil }
func (idle) Stop(context.Context, string) error                             { return nil }
