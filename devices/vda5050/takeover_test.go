package vda5050_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/devices/safety"
	"github.com/otkit/otkit/devices/vda5050"
)

// member is an engine that shares the vehicle with others.
type member struct {
	*plant
	fleet *vda5050.Fleet
	valid atomic.Bool // its lease stands
	leave context.CancelFunc
	left  chan error
}

// nobody is the owner of devices as an engine sees it that knows no other.
type nobody struct{ devices.Owner }

func (nobody) Submit(context.Context, devices.Command, string) (devices.Record, error) {
	return devices.Record{}, devices.ErrNotOwner
}

// share lets an engine take over the vehicle.
func share(t *testing.T, b *broker, store *devices.Memory, epoch uint64) *member {
	t.Helper()
	policies, err := safety.New(safety.Options{Device: safety.Device{MaxSpeed: 5}, Zones: []safety.Zone{{Map: "hall", Kind: safety.Allowed,
		Rings: [][][2]float64{{{0, 0}, {100, 0}, {100, 100}, {0, 100}}}}}})
	require.NoError(t, err)
	m := &member{left: make(chan error, 1)}
	m.valid.Store(true)
	o := vda5050.Options{URL: b.url(), Vehicles: []vda5050.Vehicle{ownVehicle}, AcceptTimeout: patience}
	o.ClientID = o.SharedClientID()
	s, err := devices.New(t.Context(), store, devices.Options{Safety: policies, Executor: func(string) devices.Executor { return m.fleet },
		Shared: &devices.Shared{Owner: nobody{}, Stop: func(ctx context.Context, id string) error { return vda5050.Stop(ctx, o, id) }}})
	require.NoError(t, err)
	m.plant = &plant{Service: s, t: t, ids: int(epoch) * 100}
	o.Reports, o.Valid = s, s.Owns
	ctx, cancel := context.WithCancel(context.Background())
	m.leave = cancel
	opened := make(chan struct{})
	go func() {
		m.left <- s.Run(ctx, epoch, m.valid.Load, func() (err error) {
			defer close(opened)
			m.fleet, err = vda5050.Connect(ctx, o)
			return err
		})
	}()
	<-opened
	t.Cleanup(func() {
		m.valid.Store(false)
		cancel()
		require.NoError(t, <-m.left)
		require.NoError(t, m.fleet.Close(context.Background()))
		require.NoError(t, s.Close(context.Background()))
	})
	return m
}

// An engine takes over the vehicle of one that hangs: it ends its connection, and what the late one sends then reaches nobody.
func TestAnotherEngineTakesOver(t *testing.T) {
	t.Parallel()
	b, store := newBroker(t), devices.NewMemory()
	b.vehicle()
	require.NoError(t, store.AddDevice(t.Context(), devices.Device{ID: "agv", Name: "AGV", State: devices.Offline}))
	first := share(t, b, store, 1)
	first.is(devices.Idle)
	now, cancel := context.WithCancel(t.Context())
	cancel()
	order, err := first.submit(now, devices.MoveTo, to(90, 90))
	require.NoError(t, err)
	first.is(devices.Working)
	require.NoError(t, first.fleet.Err())
	first.valid.Store(false) // it does not see yet that its lease is lost

	second := share(t, b, store, 2)
	second.is(devices.Working) // the vehicle goes on with its order
	found, err := second.Commands(t.Context(), devices.CommandQuery{ID: order.ID, Limit: 1})
	require.NoError(t, err)
	require.Equal(t, devices.Lost, found[0].Phase)
	eventually(t, "the connection of the first does not end", func() bool { return first.fleet.Err() != nil })
	require.ErrorIs(t, first.fleet.Stop(t.Context(), "agv"), devices.ErrNotOwner)
	_, err = first.fleet.Execute(t.Context(), devices.Order{Command: devices.Command{DeviceID: "agv", Type: "dance"}})
	require.ErrorIs(t, err, devices.ErrNotOwner)
	require.True(t, second.do(devices.EmergencyStop, nil).Result.Success)
	require.True(t, second.do(devices.ResetEmergencyStop, nil).Result.Success)
	time.Sleep(2500 * time.Millisecond) // the first would connect again after 2 s
	require.Error(t, first.fleet.Err())
	require.NoError(t, second.fleet.Err())
	second.is(devices.Idle)
	d, err := second.Get("agv")
	require.NoError(t, err)
	require.True(t, second.do(devices.MoveTo, to(d.Telemetry.Pose.X+1, d.Telemetry.Pose.Y)).Result.Success)
}

// No engine has the vehicle, and it stops all the same.
func TestAVehicleIsStoppedDirectly(t *testing.T) {
	t.Parallel()
	b, store := newBroker(t), devices.NewMemory()
	b.validate("instantActions")
	b.vehicle()
	require.NoError(t, store.AddDevice(t.Context(), devices.Device{ID: "agv", Name: "AGV", State: devices.Offline}))
	first := share(t, b, store, 1)
	first.is(devices.Idle)
	now, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := first.submit(now, devices.MoveTo, to(90, 90))
	require.NoError(t, err)
	first.is(devices.Working)
	first.valid.Store(false)
	stopped, err := first.submit(t.Context(), devices.EmergencyStop, nil)
	require.NoError(t, err)
	require.Equal(t, devices.Queued, stopped.Phase)
	require.True(t, strings.Contains(stopped.Result.Message, "told the device to stop") && strings.Contains(stopped.Result.Message, "is stored"), stopped.Result.Message)

	second := share(t, b, store, 2)
	second.is(devices.Idle) // it has no order any more
	eventually(t, "the stop is not carried out", func() bool {
		found, err := second.Commands(t.Context(), devices.CommandQuery{ID: stopped.ID, Limit: 1})
		require.NoError(t, err)
		return found[0].Phase == devices.Succeeded
	})
	d, err := second.Get("agv")
	require.NoError(t, err)
	require.True(t, d.StopLatched)
	require.Less(t, d.Telemetry.Pose.X, 80.0, "it stopped on the way")

	o := vda5050.Options{URL: b.url(), Vehicles: []vda5050.Vehicle{ownVehicle}}
	require.ErrorContains(t, vda5050.Stop(t.Context(), o, "none"), "none")
	b.stop()
	limited, end := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer end()
	require.ErrorContains(t, vda5050.Stop(limited, o, "agv"), "broker cannot be reached")
}
