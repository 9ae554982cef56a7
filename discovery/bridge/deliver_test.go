package bridge_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/discovery/bridge"
	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/tags"
)

const (
	waitLimit = 10 * time.Second
	waitStep  = time.Millisecond
)

func intValue(i int) tags.Value { return tags.IntValue(int64(i)) }

// pass lets time pass until nothing happens any more.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestEverySampleIsDeliveredInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 2)
		pass(time.Second)
		r.bind()
		pass(time.Second)
		require.True(t, r.host.Link().Connected)
		r.count(1, 5000)
		pass(time.Second)
		r.requireCount(5000)
		r.device.set("a1", intValue(7))
		pass(100 * time.Millisecond)
		require.Equal(t, []int64{7}, r.engine.values("t1"))
		stats, err := r.host.Stats(t.Context())
		require.NoError(t, err)
		require.Zero(t, stats.Pending)
		pass(time.Second)
		stats, err = r.host.Stats(t.Context())
		require.NoError(t, err)
		require.Zero(t, stats.Entries, "what the engine has is not kept")
	})
}

// Who looks at the engine sees what waits at the bridge.
func TestTheEngineIsToldWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		pass(time.Second)
		r.bind()
		pass(time.Second)
		r.engine.do(func() { r.engine.loseAcks = true })
		r.count(1, 100)
		pass(30 * time.Second)
		var told link.Buffer
		r.engine.do(func() { told = r.engine.buffered })
		require.EqualValues(t, 100, told.Waiting)
		require.Positive(t, told.Bytes)
		require.InDelta(t, 28, told.OldestSeconds, 11, "a Ping comes every 10 s")
		stats, err := r.host.Stats(t.Context())
		require.NoError(t, err)
		require.Equal(t, stats.Bytes, told.Bytes)
		require.Equal(t, stats.MaxBytes, told.MaxBytes)

		r.engine.do(func() { r.engine.loseAcks = false })
		r.count(101, 101)
		pass(30 * time.Second)
		r.engine.do(func() { told = r.engine.buffered })
		require.Zero(t, told.Waiting)
		require.Zero(t, told.OldestSeconds)
	})
}

func TestAnEngineThatIsAwayMissesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		pass(time.Second)
		r.bind()
		pass(time.Second)
		r.count(1, 100)
		pass(time.Second)
		r.engine.do(func() { r.engine.away = true })
		r.engine.cut(link.ErrEnded)
		for i := range 3600 {
			r.count(101+i, 101+i)
			time.Sleep(time.Second)
		}
		r.engine.do(func() { r.engine.away = false })
		pass(10 * time.Second)
		r.requireCount(3700)
		require.Zero(t, r.engine.lost)
		require.Less(t, r.engine.dialed(), 1000, "attempts are spread")
	})
}

func TestNewestValuesGoAheadOfABacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 2, func(o *bridge.Options) { o.DrainPerSecond = 1000 })
		pass(time.Second)
		r.bind()
		pass(time.Second)
		r.device.set("a1", intValue(42))
		pass(time.Second)
		r.engine.do(func() { r.engine.away = true })
		r.engine.cut(link.ErrEnded)
		for i := range 20 { // more than the newest blocks that are kept in memory
			r.count(1+i*10000, (i+1)*10000)
			time.Sleep(100 * time.Millisecond)
		}
		r.engine.do(func() { r.engine.away, r.engine.live = false, nil })
		pass(10 * time.Second)
		r.count(200_001, 200_001)
		pass(200 * time.Millisecond)
		r.engine.do(func() {
			require.Less(t, len(r.engine.stored), 150_000, "the backlog is not drained yet")
			newest := map[uint32]int64{}
			for _, s := range r.engine.live {
				newest[s.Tag] = s.Value.Int()
			}
			require.Contains(t, newest, r.engine.live[0].Tag)
			values := []int64{}
			for _, v := range newest {
				values = append(values, v)
			}
			require.ElementsMatch(t, []int64{200_001, 42}, values)
		})
		pass(10 * time.Minute)
		r.requireCount(200_001)
		r.engine.do(func() {
			for _, s := range r.engine.stored[10:] {
				require.True(t, s.late, s.number)
			}
		})
		r.count(200_002, 200_002)
		pass(time.Second)
		r.engine.do(func() { require.False(t, r.engine.stored[len(r.engine.stored)-1].late, "the backlog is gone") })
	})
}

func TestAPlantAsFastAsTheDrainLimitDoesNotKeepItsBacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, func(o *bridge.Options) { o.DrainPerSecond = 1000 })
		pass(time.Second)
		r.bind()
		pass(time.Second)
		r.engine.do(func() { r.engine.away = true })
		r.engine.cut(link.ErrEnded)
		r.count(1, 20_000)
		r.engine.do(func() { r.engine.away = false })
		pass(10 * time.Second)
		for i := range 40 {
			r.count(20_001+i*1000, 20_000+(i+1)*1000)
			pass(time.Second)
		}
		r.requireCount(60_000)
	})
}
