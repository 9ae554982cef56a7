package rules_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
)

// Whatever an engine has seen, published and stored before it is lost, the next one raises the alarm when the condition has been true for the on-delay, and not
// before.
func TestDelaysOfRandomValuesGoOnInAnotherEngine(t *testing.T) {
	const delay = 30 * time.Second
	for seed := range uint64(100) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, 1))
				s := share(t, 2, rule(rules.High, func(r *rules.Rule) { r.OnDelay, r.Deadband = delay, 2 }))
				defer s.stop()
				a, b := s.engines[0], s.engines[1]
				require.NoError(t, a.rules.Adopt(t.Context(), "plc", 1, valid))
				var since time.Time // when the condition became true, zero if it is not
				seen := func(v float64) {
					switch {
					case v > 80 && since.IsZero():
						since = time.Now()
					case v <= 78:
						since = time.Time{}
					}
				}
				next := func() float64 { return []float64{70, 79, 79, 90, 90}[random.IntN(5)] }
				n := 1 + random.IntN(12)
				last := random.IntN(n + 1) // from then on nothing is stored
				for i := range n {
					if i == last {
						a.rules.Abandon("plc")
					}
					v := next()
					seen(v)
					s.see(a, v, false)
					s.see(b, v, true)
					pass(time.Duration(1+random.IntN(1500)) * time.Millisecond)
				}
				a.rules.Abandon("plc")
				pass(time.Duration(random.IntN(4000)) * time.Millisecond)
				if random.IntN(2) == 0 {
					b = a // it gets the driver back
				}
				require.NoError(t, b.rules.Adopt(t.Context(), "plc", 2, valid))
				v := next()
				seen(v)
				s.see(b, v, false)
				if since.IsZero() {
					pass(time.Hour)
					require.Empty(t, kinds(t, b.service))
					return
				}
				pass(time.Until(since.Add(delay)) - time.Millisecond)
				require.Empty(t, kinds(t, b.service))
				pass(10 * time.Millisecond)
				require.Equal(t, []alarms.EventKind{alarms.Raised}, kinds(t, b.service))
			})
		})
	}
}
