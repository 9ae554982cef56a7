package devices_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/devices"
)

// Whatever happens to engines, the bus and the store: no command is sent twice or by an engine that has lost its lease, each has one end that
// everybody is told, and an emergency stop that was taken is carried out.
func TestSharedDevicesCampaign(t *testing.T) {
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) { shareAtRandom(t, rand.New(rand.NewPCG(seed, 1))) })
	}
}

type campaign struct {
	*plant
	random  *rand.Rand
	engines []*engine

	mu    sync.Mutex
	told  map[string]devices.Phase // outcomes that callers were told, by command
	stops []string                 // emergency stops that were taken
	wg    sync.WaitGroup
}

func shareAtRandom(t *testing.T, random *rand.Rand) {
	c := &campaign{plant: newPlant(t, drive), random: random, told: map[string]devices.Phase{}}
	for _, name := range []string{"a", "b", "c"} {
		c.engines = append(c.engines, c.engine(name))
	}
	c.engines[0].own()
	devicesOf := []string{"d0", "d1", "d2", "d3"}
	for _, id := range devicesOf {
		_, err := c.engines[0].Create(t.Context(), id, id, "")
		require.NoError(t, err)
	}
	for n := range 150 {
		c.wg.Go(func() { _ = c.engines[n%3].Relay(t.Context(), devicesOf[n%4], idle()) })
		c.act(n, devicesOf[random.IntN(4)])
		time.Sleep(time.Duration(random.IntN(400)) * time.Millisecond)
	}
	for _, e := range c.engines {
		e.setCut(false)
	}
	c.store.set(nil, nil)
	c.mu.Lock()
	owner := c.plant.owner
	c.mu.Unlock()
	if owner == nil {
		c.engines[0].own()
	}
	c.wg.Wait()
	time.Sleep(2 * time.Minute)
	c.check()
	for _, e := range c.engines {
		if e.moves != nil {
			e.move()
		}
	}
	for _, e := range c.engines {
		e.close()
	}
}

// act does something at random.
func (c *campaign) act(n int, device string) {
	e := c.engines[c.random.IntN(3)]
	switch c.random.IntN(20) {
	case 0, 1: // the owner is killed, or hangs
		c.plant.mu.Lock()
		owner := c.plant.owner
		c.plant.mu.Unlock()
		if owner == nil {
			return
		}
		owner.lose()
		owner.setCut(c.random.IntN(2) == 0)
		c.wg.Go(func() { // it wakes up
			time.Sleep(time.Duration(n%5) * time.Second)
			owner.moves()
			owner.setCut(false)
		})
		time.Sleep(time.Duration(c.random.IntN(3000)) * time.Millisecond)
		c.other(owner).own()
	case 2: // it is drained
		c.plant.mu.Lock()
		owner := c.plant.owner
		c.plant.mu.Unlock()
		if owner != nil {
			owner.move()
			c.other(owner).own()
		}
	case 3:
		e.setCut(true)
		c.wg.Go(func() { time.Sleep(time.Duration(n%4) * time.Second); e.setCut(false) })
	case 4:
		c.store.set(only([]string{"AddCommand", "UpdateCommand", "UpdateDevices"}[n%3], full), nil)
		c.wg.Go(func() { time.Sleep(time.Duration(n%3) * time.Second); c.store.set(nil, nil) })
	case 5, 6:
		c.give(e, command(fmt.Sprint("stop-", n), device, devices.EmergencyStop, nil))
	case 7, 8, 9:
		c.give(e, command(fmt.Sprint("reset-", n), device, devices.ResetEmergencyStop, nil))
	case 10:
		c.wg.Go(func() { _, _ = e.Cancel(context.Background(), fmt.Sprint("move-", n-1), "bob") })
	default:
		c.give(e, move(fmt.Sprint("move-", n), device, float64(n), 0))
	}
}

// other returns an engine that can be the owner after another.
func (c *campaign) other(owner *engine) *engine {
	i := slices.Index(c.engines, owner)
	return c.engines[(i+1+c.random.IntN(2))%3]
}

func (c *campaign) give(e *engine, command devices.Command) {
	c.wg.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		got, err := e.Submit(ctx, command, "anna")
		c.mu.Lock()
		defer c.mu.Unlock()
		switch {
		case err == nil && command.Type == devices.EmergencyStop:
			c.stops = append(c.stops, command.ID)
		case err == nil && got.Phase.Ended():
			c.told[command.ID] = got.Phase
		}
		if err != nil && !errors.Is(err, devices.ErrRefused) && !errors.Is(err, devices.ErrNotOwner) && !errors.Is(err, devices.ErrUnanswered) &&
			!errors.Is(err, devices.ErrNotFound) && !errors.Is(err, devices.ErrBusy) && err.Error() != "disk full" {
			c.t.Error(command.ID, err)
		}
	})
}

func (c *campaign) check() {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, err := c.store.Commands(c.t.Context(), devices.CommandQuery{Limit: 1000})
	require.NoError(c.t, err)
	journal := map[string]devices.Phase{}
	for _, r := range found {
		require.True(c.t, r.Phase.Ended(), "%s is %s", r.ID, r.Phase)
		journal[r.ID] = r.Phase
	}
	sent := c.robot.had()
	slices.Sort(sent)
	require.Len(c.t, slices.Compact(slices.Clone(sent)), len(sent), "sent twice: %v", sent)
	for id, phase := range c.told {
		require.Equal(c.t, phase, journal[id], id)
	}
	for _, id := range c.stops {
		require.Contains(c.t, journal, id)
	}
	for _, id := range sent {
		require.Contains(c.t, journal, id)
	}
	for _, e := range c.engines[1:] {
		require.Equal(c.t, c.engines[0].List(), e.List(), e.name)
	}
}
