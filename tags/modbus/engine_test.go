package modbus_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/realtest"
	"github.com/otkit/otkit/tags"
	driver "github.com/otkit/otkit/tags/modbus"
)

// polled starts an engine with a driver and its tags.
func polled(t *testing.T, o driver.Options, interval time.Duration, list ...tags.Tag) *tags.Engine {
	t.Helper()
	d, err := driver.New(o)
	require.NoError(t, err)
	e, err := tags.New(tags.Options{})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, e.Close(ctx))
	})
	require.NoError(t, e.AddDriver("plc", d, tags.DriverOptions{PollInterval: interval, Tags: list}))
	return e
}

func register(name, address string) tags.Tag {
	return tags.Tag{Name: "plc." + name, Address: address, DataType: tags.Int, NativeType: "UInt16", Access: tags.ReadOnly}
}

// of counts the tags of a quality.
func of(t *testing.T, e *tags.Engine, q tags.Quality) (n int) {
	t.Helper()
	for page := 1; ; page++ {
		list, _, err := e.List(tags.ListQuery{Page: page, PageSize: 500})
		require.NoError(t, err)
		if len(list) == 0 {
			return n
		}
		for _, s := range list {
			if s.Sample.Quality == q {
				n++
			}
		}
	}
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	require.Eventually(t, holds, time.Minute, 5*time.Millisecond, what)
}

// A device that takes 100 ms an answer, with 100 registers too far apart to be read together, has all
// tags Good, a cycle of 10 s, and is read again at once when it was stopped and continues.
func TestForeignSlowServer(t *testing.T) {
	t.Parallel()
	f := startForeign(t, "tcp", func(f *foreign) { f.answers = 100 * time.Millisecond })
	var list []tags.Tag
	for i := range 100 {
		list = append(list, register(fmt.Sprintf("r%02d", i), fmt.Sprintf("HR:%d", 9*i+9))) // MaxGap is 8
	}
	e := polled(t, driver.Options{Address: f.addr(), Timeout: time.Second, MaxGap: -1}, time.Second, list...)
	eventually(t, "first cycle", func() bool { return of(t, e, tags.Good) == len(list) })
	cycles := func() uint64 { return e.Drivers()[0].Reads / 100 }
	begun := cycles()
	started := time.Now()
	eventually(t, "two more cycles", func() bool {
		require.Equal(t, len(list), of(t, e, tags.Good))
		return cycles() >= begun+2
	})
	took := time.Since(started) / 2
	s := e.Drivers()[0]
	require.Equal(t, tags.DriverOnline, s.State)
	require.Len(t, s.Cycles, 1)
	require.Equal(t, 100, s.Cycles[0].Requests)
	require.GreaterOrEqual(t, s.Cycles[0].Reached, 10*time.Second)
	require.InDelta(t, took, s.Cycles[0].Reached, float64(took)/5, "the cycle that is shown is the true one")
	require.GreaterOrEqual(t, s.RoundTripMean, 100*time.Millisecond)
	times := map[time.Time]bool{}
	for _, tag := range list {
		got, err := e.Read(tag.Name)
		require.NoError(t, err)
		times[got.Sample.SourceTime] = true
	}
	require.Len(t, times, len(list), "each answer has its own time")

	f.signal(t, sigStop)
	eventually(t, "NotResponding", func() bool { return e.Drivers()[0].State == tags.DriverNotResponding })
	eventually(t, "silence", func() bool { return e.Drivers()[0].Breakers[0].Failures > 5 })
	require.Equal(t, tags.BreakerClosed, e.Drivers()[0].Breakers[0].State)
	f.signal(t, sigCont)
	eventually(t, "Good again", func() bool { return of(t, e, tags.Good) == len(list) })
}

// The order in which tags are named is not that in which a device has them.
func TestShuffledNamesCostNoMoreRequests(t *testing.T) {
	t.Parallel()
	const n = 10_000
	requests := map[string]int{}
	for name, order := range map[string][]int{"sorted": nil, "shuffled": rand.New(rand.NewPCG(1, 2)).Perm(n)} {
		dev := startDevice(t)
		list := make([]tags.Tag, n)
		for i := range list {
			k := i
			if order != nil {
				k = order[i]
			}
			list[i] = register(fmt.Sprintf("r%05d", k), fmt.Sprintf("HR:%d", i))
		}
		e := polled(t, driver.Options{Address: dev.addr, Timeout: 30 * time.Second}, time.Hour, list...)
		eventually(t, "read", func() bool { return of(t, e, tags.Good) == n })
		eventually(t, "counted", func() bool { return e.Drivers()[0].Cycles[0].Requests > 0 })
		requests[name] = len(dev.asked())
		require.Equal(t, requests[name], e.Drivers()[0].Cycles[0].Requests)
	}
	require.Equal(t, map[string]int{"sorted": 80, "shuffled": 80}, requests)
}

// A pair of pseudo terminals is the serial line, a pymodbus server the device at its end.
func TestForeignSerialServer(t *testing.T) {
	t.Parallel()
	socat := realtest.Need(t, "socat")
	dir := t.TempDir()
	ours, theirs := filepath.Join(dir, "ours"), filepath.Join(dir, "theirs")
	line := exec.Command(socat, "pty,rawer,link="+ours, "pty,rawer,link="+theirs)
	require.NoError(t, line.Start())
	t.Cleanup(func() {
		_ = line.Process.Kill()
		_ = line.Wait() // it says that the process was killed
	})
	eventually(t, "the line", func() bool {
		_, err1 := os.Stat(ours)
		_, err2 := os.Stat(theirs)
		return err1 == nil && err2 == nil
	})
	f := startForeign(t, "serial", func(f *foreign) { f.serial = theirs })
	e := polled(t, driver.Options{Protocol: driver.RTU, Address: ours, Timeout: 500 * time.Millisecond}, 200*time.Millisecond,
		register("one", "HR:10"), register("far", "HR:500"), register("other", "2/HR:9"),
		tags.Tag{Name: "plc.set", Address: "HR:20", DataType: tags.Float, NativeType: "Float32", Access: tags.ReadWrite})
	eventually(t, "read", func() bool { return of(t, e, tags.Good) == 4 })
	for name, want := range map[string]int64{"one": 70, "far": 3500, "other": 109} {
		got, err := e.Read("plc." + name)
		require.NoError(t, err)
		require.Equal(t, tags.IntValue(want), got.Sample.Value)
	}
	w, err := e.Write(t.Context(), tags.WriteRequest{Tag: "plc.set", Value: tags.FloatValue(2.5), Confirm: true})
	require.NoError(t, err)
	eventually(t, "written", func() bool {
		got, err := e.GetWrite(t.Context(), w.ID)
		require.NoError(t, err)
		return got.State == tags.WriteConfirmed
	})

	f.signal(t, sigStop)
	eventually(t, "NotResponding", func() bool { return e.Drivers()[0].State == tags.DriverNotResponding && of(t, e, tags.Good) == 0 })
	f.signal(t, sigCont)
	eventually(t, "Good again", func() bool { return of(t, e, tags.Good) == 4 })

	f.kill(t)
	eventually(t, "Bad", func() bool { return of(t, e, tags.Bad) == 4 })
	f.start(t)
	eventually(t, "Good after a restart", func() bool { return of(t, e, tags.Good) == 4 })
}
