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

// TestSharedStore runs the suite for what a store of several engines has in addition. newStore returns an empty store; it is called for each test.
func TestSharedStore(t *testing.T, newStore func(t testing.TB) devices.SharedStore) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, s devices.SharedStore)
	}{
		{"a fence", testFence},
		{"a fence beside writes", testFenceBesideWrites},
		{"emergency stops", testStops},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, newStore(t)) })
	}
}

func fence(t *testing.T, s devices.SharedStore, epoch uint64) devices.Store {
	t.Helper()
	fenced, err := s.Fence(t.Context(), epoch)
	require.NoError(t, err)
	return fenced
}

// writes returns what each way to write a store returns. Each has the names that it writes from n.
func writes(t *testing.T, s devices.Store, n int) map[string]error {
	t.Helper()
	all := map[string]error{}
	all["AddDevice"] = s.AddDevice(t.Context(), device(fmt.Sprint("device-", n)))
	all["UpdateDevice"] = s.UpdateDevice(t.Context(), "a", func(d *devices.Device) error { d.Name = fmt.Sprint(n); return nil })
	all["UpdateDevices"] = s.UpdateDevices(t.Context(), []string{"a"}, func(d *devices.Device) { d.Description = fmt.Sprint(n) })
	_, _, all["AddCommand"] = s.AddCommand(t.Context(), command(n))
	running := command(99)
	running.Phase, running.BeganAt = devices.Running, start.Add(time.Duration(n)*time.Hour)
	all["UpdateCommand"] = s.UpdateCommand(t.Context(), running)
	if trimmer, ok := s.(devices.Trimmer); ok {
		_, all["TrimCommands"] = trimmer.TrimCommands(t.Context(), start, 10)
	}
	return all
}

type contents struct {
	devices  []devices.Device
	commands []devices.Record
}

func contentsOf(t *testing.T, s devices.Store) (c contents) {
	t.Helper()
	var err error
	c.devices, err = s.Devices(t.Context())
	require.NoError(t, err)
	c.commands, err = s.Commands(t.Context(), devices.CommandQuery{Limit: 1000})
	require.NoError(t, err)
	return c
}

func testFence(t *testing.T, s devices.SharedStore) {
	require.NoError(t, s.AddDevice(t.Context(), device("a")))
	add(t, s, command(99))
	first := fence(t, s, 7)
	for name, err := range writes(t, first, 1) {
		require.NoError(t, err, name)
	}
	second := fence(t, s, 9)
	before := contentsOf(t, s)
	for name, err := range writes(t, first, 2) {
		require.ErrorIs(t, err, devices.ErrNotOwner, name)
	}
	require.Equal(t, before, contentsOf(t, first), "nothing was stored, and it can be read")
	for name, err := range writes(t, second, 2) {
		require.NoError(t, err, name)
	}
	_, err := s.Fence(t.Context(), 8)
	require.ErrorIs(t, err, devices.ErrNotOwner)
	for name, err := range writes(t, fence(t, s, 9), 3) {
		require.NoError(t, err, "%s of the same owner, which asks again", name)
	}
	for name, err := range writes(t, s, 4) {
		require.NoError(t, err, "%s without a fence", name)
	}
}

// What an owner writes is there before the next one has its fence, or never.
func testFenceBesideWrites(t *testing.T, s devices.SharedStore) {
	require.NoError(t, s.AddDevice(t.Context(), device("a")))
	for epoch := range uint64(5) {
		first := fence(t, s, epoch+1)
		errs := make([]error, 4)
		var began, ended sync.WaitGroup
		for i := range errs {
			began.Add(1)
			ended.Go(func() {
				for n := 0; errs[i] == nil; n++ {
					c := command(n)
					c.ID = fmt.Sprint(epoch, "-", i, "-", n)
					_, _, errs[i] = first.AddCommand(t.Context(), c)
					if errs[i] == nil && i%2 == 0 {
						errs[i] = first.UpdateDevice(t.Context(), "a", func(d *devices.Device) error { d.Name = c.ID; return nil })
					}
					if n == 0 {
						began.Done()
					}
				}
			})
		}
		began.Wait()
		second := fence(t, s, epoch+2)
		before := contentsOf(t, second)
		ended.Wait()
		require.ErrorIs(t, errors.Join(errs...), devices.ErrNotOwner)
		for _, err := range errs {
			require.ErrorIs(t, err, devices.ErrNotOwner)
		}
		require.Equal(t, before, contentsOf(t, second))
	}
}

func testStops(t *testing.T, s devices.SharedStore) {
	found, err := s.Stops(t.Context())
	require.NoError(t, err)
	require.Empty(t, found)
	stop := func(n int, phase devices.Phase) devices.Record {
		r := command(n)
		r.Type, r.Parameters, r.Phase = devices.EmergencyStop, nil, phase
		return r
	}
	add(t, s, command(0), stop(1, devices.Succeeded), stop(2, devices.Queued), stop(3, devices.Running))
	found, err = s.Stops(t.Context())
	require.NoError(t, err)
	require.ElementsMatch(t, []devices.Record{stop(2, devices.Queued), stop(3, devices.Running)}, found)
	require.NoError(t, s.UpdateCommand(t.Context(), stop(2, devices.Failed)))
	found, err = s.Stops(t.Context())
	require.NoError(t, err)
	require.Equal(t, []devices.Record{stop(3, devices.Running)}, found)
}
