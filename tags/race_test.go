package tags_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
)

// Everything at once, to be run with the race detector.
func TestEverythingAtOnce(t *testing.T) {
	e, err := tags.New(tags.Options{SweepInterval: time.Millisecond})
	require.NoError(t, err)
	e.Observe(func([]tags.Change) {})
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	var wg sync.WaitGroup
	run := func(seed uint64, act func(rnd *rand.Rand) error) {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, 1))
			for ctx.Err() == nil {
				if err := act(rnd); errors.Is(err, tags.ErrClosed) {
					return
				}
			}
		})
	}
	name := func(rnd *rand.Rand) string { return fmt.Sprintf("d%d.%d", rnd.IntN(3), rnd.IntN(30)) }
	run(1, func(rnd *rand.Rand) error {
		types := tags.DataTypes()
		return e.DefineTags(intTag(name(rnd), every(time.Millisecond), ofType(types[rnd.IntN(len(types))]), func(t *tags.Tag) {
			t.Driver = fmt.Sprintf("d%d", rnd.IntN(3))
		}))
	})
	run(2, func(rnd *rand.Rand) error { e.RemoveTags(name(rnd)); return nil })
	run(3, func(rnd *rand.Rand) error {
		var d tags.Driver = newDevice()
		if rnd.IntN(2) == 0 {
			d = newPushDevice()
		}
		return e.AddDriver(fmt.Sprintf("d%d", rnd.IntN(3)), d, tags.DriverOptions{})
	})
	run(4, func(rnd *rand.Rand) error {
		time.Sleep(5 * time.Millisecond)
		return e.RemoveDriver(context.Background(), fmt.Sprintf("d%d", rnd.IntN(3)))
	})
	run(5, func(rnd *rand.Rand) error {
		_, _, err := e.List(tags.ListQuery{Pattern: "d1%", Page: 1 + rnd.IntN(3), PageSize: 10})
		return err
	})
	run(6, func(rnd *rand.Rand) error {
		_, _ = e.Read(name(rnd))
		_, _ = e.Resolve("d1", "7")
		_, err := e.Write(context.Background(), tags.WriteRequest{Tag: name(rnd), Text: "1", Confirm: rnd.IntN(2) == 0})
		return err
	})
	run(7, func(*rand.Rand) error { e.Drivers(); time.Sleep(time.Millisecond); return nil })
	for i := range 4 {
		run(uint64(10+i), func(rnd *rand.Rand) error {
			s, err := e.Subscribe(tags.SubscribeOptions{Patterns: []string{"d%"}, Throttle: time.Duration(rnd.IntN(2)) * time.Millisecond})
			if err != nil {
				return err
			}
			defer s.Close()
			for range rnd.IntN(50) {
				soon, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
				_, err = s.Next(soon, rnd.IntN(5))
				cancel()
			}
			return err
		})
	}
	time.Sleep(200 * time.Millisecond)
	require.NoError(t, e.Close(context.Background()))
	wg.Wait()
}
