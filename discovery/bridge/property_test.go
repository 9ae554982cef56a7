package bridge_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/discovery/bridge"
	"github.com/otkit/otkit/discovery/link"
)

// Whatever happens to the link, to acknowledgements, to the engine and to the bridge's process, the engine has every value once and in order.
func TestNothingIsLostOrTwice(t *testing.T) {
	for seed := range uint64(24) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { misadventures(t, rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

var errCut = errors.New("connection reset by peer")

func misadventures(t *testing.T, random *rand.Rand) {
	r := newRig(t, 1+random.IntN(20), func(o *bridge.Options) { o.DrainPerSecond = 200 + random.IntN(20_000) })
	pass(time.Second)
	r.bind()
	n := 0
	count := func(k int) {
		r.count(n+1, n+k)
		n += k
	}
	steps := []func(){
		func() { count(1 + random.IntN(10)) },
		func() { count(1 + random.IntN(10)) },
		func() { count(1 + random.IntN(5000)) },
		func() { time.Sleep(time.Duration(random.IntN(100)) * time.Millisecond) },
		func() { time.Sleep(time.Duration(random.IntN(100)) * time.Second) },
		func() { r.engine.cut(errCut) },
		func() { r.engine.cut(nil) },
		func() { r.engine.do(func() { r.engine.loseAcks = !r.engine.loseAcks }) },
		func() { r.engine.do(func() { r.engine.away = !r.engine.away }) },
		func() { r.engine.do(func() { r.engine.silent = !r.engine.silent }) },
		func() { r.engine.do(func() { r.engine.ackAfter = time.Duration(random.IntN(300)) * time.Millisecond }) },
		func() { // the link breaks between a batch that is stored and its acknowledgement, or before
			k := random.IntN(5)
			r.engine.do(func() {
				r.engine.onBatch = func(link.Batch) error {
					if k--; k < 0 {
						r.engine.onBatch = nil
						return errCut
					}
					return nil
				}
			})
		},
		func() { // the bridge's process ends and starts again
			require.NoError(t, r.host.Flush(t.Context()))
			r.end()
			time.Sleep(time.Duration(random.IntN(10_000)) * time.Millisecond)
			r.start()
		},
	}
	for range 100 {
		steps[random.IntN(len(steps))]()
	}
	r.engine.do(func() { r.engine.away, r.engine.silent, r.engine.loseAcks, r.engine.onBatch = false, false, false, nil })
	count(1)
	pass(time.Hour)
	require.Zero(t, r.engine.lost)
	r.requireCount(n)
	s, err := r.host.Stats(t.Context())
	require.NoError(t, err)
	require.Zero(t, s.Entries)
	require.Zero(t, s.Pending)
}
