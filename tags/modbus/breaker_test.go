package modbus_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
	driver "github.com/otkit/otkit/tags/modbus"
)

// Within ProbeAfter, and what the attempts at the others take, each dead unit is asked once.
func TestEveryDeadUnitIsTriedInItsTurn(t *testing.T) {
	t.Parallel()
	for _, dead := range []int{1, 2, 5} {
		dev := startDevice(t)
		now := time.Unix(0, 0)
		d := connected(t, driver.Options{Address: dev.addr, Now: func() time.Time { return now }})
		points := ints("HR:0")
		for unit := range dead {
			dev.absent[uint8(2+unit)] = true
			points = append(points, point(fmt.Sprintf("%d/HR:0", 2+unit), "", tags.Int))
		}
		last := map[string]time.Time{}
		for range 200 { // one poll a second
			now = now.Add(time.Second)
			read(t, d, points...)
			for _, a := range dev.asked() {
				if at, again := last[a]; again {
					require.LessOrEqual(t, now.Sub(at), 15*time.Second, a)
				}
				last[a] = now
			}
		}
		require.Len(t, last, 1+dead)
		for _, b := range d.Breakers()[1:] {
			require.NotEqual(t, tags.BreakerClosed, b.State)
			require.Greater(t, b.Failures, 10)
			require.LessOrEqual(t, b.ProbeAt.Sub(now), 10*time.Second)
		}
		for at, a := range last {
			require.LessOrEqual(t, now.Sub(a), 15*time.Second, at)
		}
	}
}

// One answer that gets lost does not cost the other tags of a device theirs.
func TestALostAnswerIsOne(t *testing.T) {
	t.Parallel()
	for _, lost := range [][]byte{{}, {1, 2, 3, 4, 5, 6, 7, 8, 9}} { // nothing, and nonsense
		var requests atomic.Int32
		s := startScripted(t, func(request []byte) []byte {
			if requests.Add(1) == 2 {
				return lost
			}
			return registerAnswer(request, 7)
		})
		d := connected(t, driver.Options{Address: s.addr, Timeout: 300 * time.Millisecond})
		out := read(t, d, ints("HR:0", "HR:100", "HR:200", "HR:300")...)
		require.Error(t, out[1].Err)
		for _, i := range []int{0, 2, 3} {
			requireReading(t, tags.IntValue(7), out[i])
		}
	}
}

// Neither does it cost them where several units share the endpoint, nor those of the units that are next.
func TestALostAnswerAmongUnitsIsOne(t *testing.T) {
	t.Parallel()
	for _, lost := range []int32{2, 3} { // requests of the first unit
		var requests atomic.Int32
		s := startScripted(t, func(request []byte) []byte {
			if requests.Add(1) == lost {
				return []byte{}
			}
			return registerAnswer(request, 7)
		})
		d := connected(t, driver.Options{Address: s.addr, Timeout: 300 * time.Millisecond})
		out := read(t, d, ints("1/HR:0", "1/HR:100", "1/HR:200", "1/HR:300", "2/HR:0", "3/HR:0", "3/HR:100")...)
		require.ErrorIs(t, out[lost-1].Err, tags.ErrTimeout)
		for i := range out {
			if i != int(lost-1) {
				requireReading(t, tags.IntValue(7), out[i])
			}
		}
	}
}

// A unit that falls silent in the middle of a poll costs the others two timeouts, and later ones one.
func TestAUnitThatFallsSilentInThePoll(t *testing.T) {
	t.Parallel()
	var silent atomic.Bool
	var first, asked atomic.Int32
	s := startScripted(t, func(request []byte) []byte {
		if request[6] != 1 {
			return registerAnswer(request, 7)
		}
		asked.Add(1)
		if silent.Load() && first.Add(1) > 1 {
			return []byte{}
		}
		return registerAnswer(request, 7)
	})
	d := connected(t, driver.Options{Address: s.addr, Timeout: 300 * time.Millisecond})
	points := ints("1/HR:0", "1/HR:100", "1/HR:200", "1/HR:300", "1/HR:400", "2/HR:0")
	read(t, d, points...)
	silent.Store(true)
	for _, requests := range []int32{3, 1, 0} {
		asked.Store(0)
		out := read(t, d, points...)
		require.Equal(t, requests, asked.Load())
		requireReading(t, tags.IntValue(7), out[5])
	}
}

// A gateway that was silent with all of its units is read again soon, with one that stays dead.
func TestUnitsThatComeBackTogether(t *testing.T) {
	dev := startDevice(t)
	now := time.Unix(0, 0)
	d := connected(t, driver.Options{Address: dev.addr, Now: func() time.Time { return now }})
	points := ints("1/HR:0", "2/HR:0", "3/HR:0", "4/HR:0")
	poll := func() (good int) {
		now = now.Add(time.Second)
		for _, r := range read(t, d, points...) {
			if r.Err == nil {
				good++
			}
		}
		return good
	}
	for unit := range uint8(4) {
		dev.absent[1+unit] = true
	}
	for range 170 {
		require.Zero(t, poll())
	}
	dev.change(func(d *device) { d.absent = map[uint8]bool{1: true} })
	polls := 0
	for poll() == 0 {
		polls++
	}
	require.LessOrEqual(t, polls, 6, "two turns at most, of a quarter of 10 s each")
	for range 3 {
		poll()
	}
	require.Equal(t, 3, poll())
}

// Nobody is delayed by the only unit of an endpoint, and nobody else can be read meanwhile.
func TestTheOnlyUnitIsAskedAtEveryPoll(t *testing.T) {
	t.Parallel()
	dev := startDevice(t)
	d := connected(t, driver.Options{Address: dev.addr, Timeout: 50 * time.Millisecond})
	points := ints("HR:0", "HR:100")
	dev.freeze()
	for range 85 { // as many as there are in 170 s with a timeout of 2 s
		for _, r := range read(t, d, points...) {
			require.ErrorIs(t, r.Err, tags.ErrTimeout)
		}
	}
	require.Equal(t, []tags.Breaker{{Unit: "1", State: tags.BreakerClosed, Failures: 86}}, d.Breakers(), "the first poll asks twice")
	dev.thaw()
	require.Eventually(t, func() bool { return read(t, d, points...)[1].Err == nil }, time.Minute, time.Millisecond)
}
