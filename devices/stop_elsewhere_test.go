package devices_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/devices"
)

// stopRig has two engines, of which a has the device agv, and b knows it.
func stopRig(t *testing.T) (p *plant, a, b *engine) {
	p = newPlant(t, drive)
	a, b = p.engine("a"), p.engine("b")
	a.own()
	_, err := a.Create(t.Context(), "agv", "AGV", "")
	require.NoError(t, err)
	require.NoError(t, a.Report("agv", idle()))
	time.Sleep(time.Second)
	return p, a, b
}

func (e *engine) latched() bool {
	d, err := e.Get("agv")
	require.NoError(e.p.t, err)
	return d.StopLatched
}

func TestEmergencyStopOfAnotherEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, a, b := stopRig(t)
		defer b.close()
		defer a.close()
		b.tell = func(context.Context, string) error { t.Error("the owner answers"); return nil }
		p.robot.stopTakes = 4 * time.Second // it is slow, which is no reason to tell it twice
		at := time.Now()
		got, err := b.Submit(t.Context(), stop("1"), "anna")
		require.NoError(t, err)
		require.True(t, got.Result.Success)
		require.Equal(t, "anna", got.By)
		require.Less(t, time.Since(at), 4200*time.Millisecond)
		require.Equal(t, []string{"agv"}, p.robot.stopped)
		require.Equal(t, []string{"1 Succeeded"}, p.journal())
		time.Sleep(time.Second)
		require.True(t, a.latched())
		require.True(t, b.latched())
		require.Equal(t, []string{"agv"}, p.robot.stopped, "it is carried out once")
	})
}

// The owner hangs: the stop is stored, and the next owner carries it out. The device is told directly meanwhile.
func TestEmergencyStopWhileTheOwnerHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, a, b := stopRig(t)
		defer b.close()
		defer a.close()
		at, told := time.Now(), time.Duration(0)
		b.tell = func(_ context.Context, id string) error {
			require.Equal(t, "agv", id)
			told = time.Since(at)
			return nil
		}
		a.setCut(true)
		a.lost.Store(true) // it does nothing
		go func() {
			time.Sleep(3500 * time.Millisecond)
			a.lose()
			b.own()
		}()
		got, err := b.Submit(t.Context(), stop("1"), "anna")
		require.NoError(t, err)
		require.InDelta(t, 1.6, told.Seconds(), 0.6)
		require.True(t, got.Result.Success)
		require.Equal(t, devices.Succeeded, got.Phase)
		require.Less(t, time.Since(at), 4*time.Second, "as soon as another has the device")
		require.Equal(t, []string{"agv"}, p.robot.stopped)
		require.True(t, b.latched())
		require.Equal(t, []string{"1 Succeeded"}, p.journal())
		a.move()
	})
}

// Nobody takes over: the caller learns what is known, and the stop is carried out later.
func TestEmergencyStopWithoutAnOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, a, b := stopRig(t)
		defer b.close()
		defer a.close()
		a.lose()
		at := time.Now()
		got, err := b.Submit(t.Context(), stop("1"), "anna")
		require.NoError(t, err)
		require.Equal(t, 5500*time.Millisecond, time.Since(at))
		require.Equal(t, devices.Queued, got.Phase)
		require.False(t, got.Result.Success)
		require.Equal(t, "no engine that has the device has answered: the device may still move; this engine could not tell it to stop: no way to it. "+
			"The stop is stored, and carried out by the next engine that has the device", got.Result.Message)

		b.tell = func(context.Context, string) error { return nil }
		unstored := errors.New("the database is away")
		p.store.set(only("AddCommand", func(context.Context) error { return unstored }), nil)
		got, err = b.Submit(t.Context(), stop("2"), "anna")
		require.NoError(t, err)
		require.Equal(t, "no engine that has the device has answered: this engine told the device to stop, and does not know whether it did. "+
			"The stop is not stored yet: the store has not answered", got.Result.Message)
		p.store.set(nil, nil)
		time.Sleep(5 * time.Second)
		require.Empty(t, p.robot.stopped)
		require.Equal(t, []string{"1 Queued", "2 Queued"}, p.journal(), "it is stored when the store can be used")
		b.own()
		time.Sleep(time.Second)
		require.Equal(t, []string{"1 Succeeded", "2 Succeeded"}, p.journal())
		require.Equal(t, []string{"agv", "agv"}, p.robot.stopped)
		require.True(t, b.latched())
		a.move()
	})
}

// The bus is away and the owner is not: it finds the stop in the store.
func TestEmergencyStopFindsItsOwnerThroughTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, a, b := stopRig(t)
		defer b.close()
		defer a.close()
		b.setCut(true)
		_, err := a.Submit(ended(), move("runs", "agv", 5, 5), "anna")
		require.NoError(t, err)
		at := time.Now()
		got, err := b.Submit(t.Context(), stop("1"), "anna")
		require.NoError(t, err)
		require.True(t, got.Result.Success)
		require.Less(t, time.Since(at), time.Second)
		require.Equal(t, []string{"agv"}, p.robot.stopped)
		require.True(t, a.latched())
		time.Sleep(time.Second)
		require.ElementsMatch(t, []string{"runs Canceled", "1 Succeeded"}, p.journal())

		p.store.set(every(hang), nil) // nothing of it is stored now
		go func() {
			time.Sleep(3 * time.Second)
			b.setCut(false)
			p.store.set(nil, nil)
		}()
		_, err = b.Submit(t.Context(), stop("2"), "anna")
		require.NoError(t, err)
		time.Sleep(time.Minute)
		require.ElementsMatch(t, []string{"runs Canceled", "1 Succeeded", "2 Succeeded"}, p.journal())
	})
}

// An owner that is late has no right to stop the device, but its caller must not be the one who suffers from it.
func TestEmergencyStopOfALateOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, a, b := stopRig(t)
		defer b.close()
		defer a.close()
		a.lost.Store(true)
		go func() {
			time.Sleep(time.Second)
			a.lose()
			b.own()
		}()
		got, err := a.Submit(t.Context(), stop("1"), "anna")
		require.NoError(t, err)
		require.True(t, got.Result.Success, got.Result.Message)
		require.Equal(t, []string{"agv"}, p.robot.stopped)
		require.True(t, b.latched())
		require.Equal(t, []string{"1 Succeeded"}, p.journal())
		a.move()
	})
}

// An answer that is lost is asked for again: that stops the device once.
func TestEmergencyStopThatIsPassedOnTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, a, b := stopRig(t)
		defer b.close()
		defer a.close()
		for range 2 {
			got, err := a.Owner().Submit(t.Context(), stop("1"), "anna")
			require.NoError(t, err)
			require.True(t, got.Result.Success)
		}
		require.Equal(t, []string{"agv"}, p.robot.stopped)
	})
}

// The lease is lost while the device is told: the stop is the next owner's, too, so that it is latched and in the journal.
func TestEmergencyStopWhileTheLeaseIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, a, b := stopRig(t)
		defer b.close()
		defer a.close()
		p.robot.stopTakes = time.Second
		go func() {
			time.Sleep(500 * time.Millisecond)
			a.lose()
			b.own()
		}()
		got, err := a.Submit(t.Context(), stop("1"), "anna")
		require.NoError(t, err)
		require.True(t, got.Result.Success, got.Result.Message)
		require.Equal(t, []string{"1 Succeeded"}, p.journal())
		require.True(t, b.latched())
		a.move()
	})
}
