package bridge_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/discovery/bridge"
	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/tags"
)

func TestALinkThatIsSilentIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		r.engine.do(func() { r.engine.noPings = true })
		pass(time.Second)
		r.bind()
		pass(time.Second)
		require.Equal(t, 1, r.engine.dialed())
		pass(29 * time.Second)
		require.Equal(t, 1, r.engine.dialed())
		pass(10 * time.Second)
		require.Equal(t, 2, r.engine.dialed())
		r.engine.do(func() { r.engine.noPings, r.engine.silent = false, true })
		pass(time.Minute)
		require.False(t, r.host.Link().Connected)
		require.Contains(t, r.host.Link().LastError, link.ErrSilent.Message)
		r.engine.do(func() { r.engine.silent = false })
		r.count(1, 10)
		pass(time.Minute)
		r.requireCount(10)
		dials := r.engine.dialed()
		pass(24 * time.Hour)
		require.Equal(t, dials, r.engine.dialed(), "pings keep it")
	})
}

// Two bridges with one id replace each other's links for as long as both run.
func TestLinksThatAreReplacedAreNotOpenedMoreAndMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		pass(time.Second)
		r.bind()
		pass(time.Second)
		replace := func(d time.Duration) (links int) {
			from := r.engine.dialed()
			for range int(d / (100 * time.Millisecond)) {
				r.engine.do(func() { link.CloseEngine(r.engine.conn, link.ErrReplaced) })
				pass(100 * time.Millisecond)
			}
			return r.engine.dialed() - from
		}
		replace(time.Minute)
		require.LessOrEqual(t, replace(time.Minute), 15, "one in 80 to 100 percent of 5 s")
		pass(time.Minute)
		require.True(t, r.host.Link().Connected)
		r.engine.do(func() { link.CloseEngine(r.engine.conn, link.ErrEnded) })
		pass(time.Second)
		require.True(t, r.host.Link().Connected, "the first failure of another kind")
	})
}

// An engine that is stopped reads nothing for minutes, while its connections stay open.
func TestAnEngineThatIsStoppedAndContinues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 3)
		pass(time.Second)
		r.bind()
		pass(time.Second)
		for _, d := range []time.Duration{5 * time.Second, 5 * time.Minute} {
			require.True(t, r.host.Link().Connected)
			stopped := make(chan struct{})
			r.engine.do(func() { r.engine.stopped = stopped })
			r.count(r.total+1, r.total+3000)
			time.Sleep(d)
			r.count(r.total+1, r.total+3000)
			r.engine.do(func() { r.engine.stopped = nil })
			close(stopped)
			pass(time.Minute)
			r.requireCount(r.total)
			require.True(t, r.host.Link().Connected)
		}
	})
}

func TestBatchesOnTheirWayAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		pass(time.Second)
		r.bind()
		pass(time.Second)
		bytes, batches := 0, 0
		r.engine.do(func() {
			r.engine.loseAcks = true
			r.engine.onBatch = func(b link.Batch) error {
				bytes, batches = bytes+len(b.Data), batches+1
				if len(b.Data) > link.MaxData || b.Count > link.MaxCount {
					return errors.New("too large")
				}
				return nil
			}
		})
		for range 30 {
			r.count(r.total+1, r.total+2000)
			time.Sleep(100 * time.Millisecond)
		}
		pass(10 * time.Second)
		require.Equal(t, link.MaxUnackedBatches, batches)
		require.LessOrEqual(t, bytes, link.MaxUnackedBytes)
		r.engine.do(func() { r.engine.loseAcks, r.engine.onBatch = false, nil })
		r.engine.cut(errCut)
		pass(time.Minute)
		r.requireCount(60_000)
	})
}

// A link that is up while the engine stores nothing: what goes ahead is the newest value, in bounded frames and not too often.
func TestNewestValuesGoAheadOfASlowEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 2)
		pass(time.Second)
		r.bind()
		pass(time.Second)
		r.engine.do(func() { r.engine.loseAcks, r.engine.live = true, nil })
		for range 1000 {
			r.count(r.total+1, r.total+10)
			time.Sleep(10 * time.Millisecond)
		}
		r.engine.do(func() {
			require.Greater(t, len(r.engine.live), 50)
			require.Less(t, len(r.engine.live), 110, "at most every 100 ms")
			last := r.engine.live[len(r.engine.live)-1]
			require.Greater(t, last.Value.Int(), int64(9800))
		})
	})
}

func TestEventsOfTheDriver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		pass(time.Second)
		r.bind()
		pass(10 * time.Second)
		r.count(1, 1)
		pass(time.Second)
		r.device.unplug()
		pass(20 * time.Second)
		r.device.plug()
		pass(20 * time.Second)
		r.count(2, 2)
		pass(time.Second)
		var kinds []string
		r.engine.do(func() {
			for _, s := range r.engine.stored {
				if s.event != nil {
					kinds = append(kinds, s.event.Kind)
				}
			}
		})
		require.Equal(t, []string{link.DriverOnline, link.DriverOffline, link.DriverOnline}, kinds)
		require.Equal(t, tags.Bad, r.engine.stored[3].sample.Quality, "quality changes are delivered")
		require.Equal(t, tags.ReasonNotConnected, r.engine.stored[3].sample.Reason)
		require.Equal(t, []int64{1, 1, 2}, r.engine.values("t0"))
	})
}

func TestLateReadingsAreHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		pass(time.Second)
		r.bind()
		r.count(1, 1)
		pass(time.Second)
		r.count(2, 2)
		early := time.Now().Add(-time.Hour)
		r.device.report("a0", tags.Reading{Value: intValue(77), Quality: tags.Good, Time: early, Late: true})
		r.device.report("a0", tags.Reading{Value: intValue(78), Quality: tags.Good, Time: early.Add(time.Second), Late: true})
		r.count(3, 3)
		pass(time.Second)
		require.Equal(t, []int64{1, 2, 77, 78, 3}, r.engine.values("t0"))
		r.engine.do(func() {
			n := len(r.engine.stored)
			for i, late := range []bool{false, true, true, false} {
				require.Equal(t, late, r.engine.stored[n-4+i].late, i)
			}
			require.True(t, r.engine.stored[n-3].sample.Time.Equal(early))
		})
	})
}

func TestTheManifestFollowsTheTags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		active := []string{"Nameplate"}
		r := newRig(t, 2, func(o *bridge.Options) {
			o.Submodels = func() ([]string, []string) {
				mu.Lock()
				defer mu.Unlock()
				return []string{"Nameplate", "TechnicalData"}, active
			}
		})
		pass(time.Second)
		m := r.bind()
		require.Equal(t, "bridge-1", m.BridgeID)
		require.Equal(t, []string{"Nameplate", "TechnicalData"}, m.AvailableSubmodels)
		require.Equal(t, link.ManifestTag{Name: "t0", Address: "a0", DataType: "Int", Access: "ReadWrite", Min: tags.Ptr(-1e9), Max: tags.Ptr(1e9)}, m.Tags[0])
		m.BindingToken = ""
		r.engine.do(func() { r.engine.hash = m.Hash() }) // as an engine that has stored the answer
		pass(time.Second)
		require.Nil(t, r.engine.manifest, "the engine has it")

		require.NoError(t, r.o.Tags.DefineTags(tags.Tag{Name: "press.t9", Driver: "press", Address: "a9", NativeType: "String:16", DataType: tags.String}))
		pass(time.Second)
		r.device.set("a9", tags.StringValue("x"))
		pass(5 * time.Second)
		require.Len(t, r.engine.manifest.Tags, 3)
		require.Equal(t, 16, r.engine.manifest.Tags[2].Length)

		mu.Lock()
		active = nil
		mu.Unlock()
		r.host.ManifestChanged()
		pass(5 * time.Second)
		require.Empty(t, r.engine.manifest.ActiveSubmodels)

		r.o.Tags.RemoveTags("press.t9")
		pass(5 * time.Second)
		require.Len(t, r.engine.manifest.Tags, 2)
		now, err := r.host.Manifest(t.Context())
		require.NoError(t, err)
		require.Equal(t, r.engine.hash, now.Hash())
	})
}

func TestManyTags(t *testing.T) {
	const count = 100_000
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, count)
		pass(time.Second)
		require.Len(t, r.bind().Tags, count)
		pass(time.Second)
		for i := range count {
			r.device.set(fmt.Sprint("a", i), intValue(i))
		}
		pass(time.Minute)
		r.engine.do(func() { r.engine.live = nil })
		r.engine.cut(link.ErrEnded)
		pass(time.Minute)
		r.engine.do(func() {
			require.Len(t, r.engine.live, count, "the engine may have restarted")
			require.Len(t, r.engine.names[r.engine.conn], count)
			got := map[string]int64{}
			for _, s := range r.engine.stored {
				if s.event == nil && s.sample.Quality == tags.Good {
					got[s.tag] = s.sample.Value.Int()
				}
			}
			require.Len(t, got, count)
			require.EqualValues(t, 4711, got["t4711"])
		})
	})
}
