package mirror_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
)

// counted counts the values of plc.a that an engine gets.
func counted(t *testing.T, e *engine) (count func(tags.Value) int) {
	var mu sync.Mutex
	counts := map[tags.Value]int{}
	t.Cleanup(e.Observe(func(changes []tags.Change) {
		mu.Lock()
		defer mu.Unlock()
		for _, c := range changes {
			if c.Tag.Name == "plc.a" {
				counts[c.Sample.Value]++
			}
		}
	}))
	return func(v tags.Value) int {
		mu.Lock()
		defer mu.Unlock()
		return counts[v]
	}
}

// shows asserts that plc.a is at an engine as the device has it.
func (e *engine) shows(r tags.Reading) {
	e.p.t.Helper()
	s := e.value("plc.a")
	require.Equal(e.p.t, r.Value, s.Value)
	require.Equal(e.p.t, r.Quality, s.Quality)
	require.Equal(e.p.t, r.Time.UTC(), s.SourceTime.UTC())
}

// reading is a reading of now.
func reading(v int64, q tags.Quality) tags.Reading {
	return tags.Reading{Value: tags.IntValue(v), Quality: q, Time: time.Now()}
}

// An engine that is alone collects nothing for others. What changed meanwhile reaches the first that comes, which need not ask.
func TestChangesOfAnEngineThatIsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		p.alone.Store(true)
		a := p.start("a")
		var sent atomic.Int64
		tap := p.net.Join()
		_, err := tap.Subscribe("tags.values", func([]byte) { sent.Add(1) })
		require.NoError(t, err)
		time.Sleep(120 * time.Millisecond) // the device is not polled when messages are due
		stop := a.run()
		time.Sleep(time.Second)
		for v := range int64(20) {
			p.device.set("a", tags.IntValue(v))
			for range 100 { // at each moment
				time.Sleep(time.Millisecond)
				require.Zero(t, a.mirror.Collected())
			}
		}
		for k, name := range []string{"b", "c"} { // and the first after that has gone
			p.alone.Store(true)
			time.Sleep(time.Second)
			before := sent.Load()
			meanwhile := reading(int64(100+k), tags.Uncertain)
			p.device.read("a", meanwhile)
			time.Sleep(time.Minute)
			require.Equal(t, before, sent.Load())

			e := p.start(name)
			count := counted(t, e)
			e.bus.down.Store(true) // it cannot ask
			p.alone.Store(false)
			time.Sleep(time.Second)
			e.shows(meanwhile)
			for _, tag := range []string{"plc.b", "plc.c", "plc.d", "plc.e"} {
				require.Equal(t, tags.Good, e.value(tag).Quality, tag)
				require.Equal(t, a.value(tag).Value, e.value(tag).Value, tag)
			}
			time.Sleep(time.Minute)
			require.Equal(t, 1, count(meanwhile.Value))

			later := reading(int64(200+k), tags.Good)
			p.device.read("a", later)
			time.Sleep(time.Second)
			e.shows(later)
			require.Equal(t, 1, count(later.Value))
			e.close()
		}
		stop()
		a.close()
		require.NoError(t, tap.Close(context.Background()))
	})
}

// An engine that is missed for a moment hears no gap. What changed meanwhile reaches it all the same.
func TestAnEngineThatIsMissedForAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		a, b := p.start("a"), p.start("b")
		stop := a.run()
		time.Sleep(10 * time.Second)
		count := counted(t, b)
		for v := range int64(20) {
			p.alone.Store(true)
			time.Sleep(300 * time.Millisecond)
			changed := reading(100+v, tags.Good)
			p.device.read("a", changed)
			time.Sleep(200 * time.Millisecond)
			p.alone.Store(false)
			time.Sleep(time.Second)
			b.shows(changed)
			require.Equal(t, 1, count(changed.Value))
		}
		stop()
		a.close()
		b.close()
	})
}
