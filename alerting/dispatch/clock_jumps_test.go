package dispatch_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/dispatch"
)

// gate is a channel that can be down.
type gate struct {
	fake
	down atomic.Bool
}

func newGate(name string, down bool) *gate {
	g := &gate{fake: fake{name: name}}
	g.down.Store(down)
	g.answer = func(context.Context, alerting.Notification) error {
		if g.down.Load() {
			return alerting.Retryable(errors.New("down"), 0)
		}
		return nil
	}
	return g
}

// TestClockSetForward has an engine that begins in the past, since nothing keeps the time while it is
// off, and gets the time when it is on the network.
func TestClockSetForward(t *testing.T) {
	for name, test := range map[string]func(t *testing.T, k *desk, f *gate, set func()){
		"what is pending is sent": func(t *testing.T, _ *desk, f *gate, set func()) {
			set()
			f.forget()
			f.down.Store(false)
			pass(5 * time.Minute)
			require.Equal(t, []string{"Pump"}, f.titles())
		},
		"what is pending is tried for the whole time": func(t *testing.T, k *desk, _ *gate, set func()) {
			set()
			pass(23 * time.Hour)
			require.Empty(t, k.dead(t))
			pass(2 * time.Hour)
			require.Len(t, k.dead(t), 1)
			pass(time.Hour)
			require.Len(t, k.dead(t), 1)
			k.raise(t, alarms.Critical, "Fan")
			pass(25 * time.Hour)
			require.Len(t, k.dead(t), 2, "what came after that is not tried for longer")
		},
		"whoever was told hears of the end": func(t *testing.T, k *desk, f *gate, set func()) {
			f.down.Store(false)
			pass(10 * time.Minute)
			f.forget()
			set()
			pass(2 * time.Hour)
			k.clear(t, "Pump")
			pass(time.Minute)
			require.Equal(t, []string{"-Pump"}, f.titles())
		},
		"dead letters stay": func(t *testing.T, k *desk, _ *gate, set func()) {
			pass(25 * time.Hour)
			require.Len(t, k.dead(t), 1)
			set()
			pass(2 * time.Hour)
			require.Len(t, k.dead(t), 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var behind atomic.Int64
				behind.Store(int64(5 * 365 * 24 * time.Hour))
				now := func() time.Time { return time.Now().Add(-time.Duration(behind.Load())).Round(0) }
				f := newGate("email", true)
				k := newDesk(t, dispatch.Options{Now: now}, f)
				k.raise(t, alarms.Critical, "Pump")
				pass(20 * time.Second)
				test(t, k, f, func() { behind.Store(0) })
			})
		})
	}
}
