package mirror_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
)

func TestValuesOfAllTypesAreTheSameEverywhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		a, b := p.start("a"), p.start("b")
		stop := a.run()
		time.Sleep(2 * time.Second)
		for _, tag := range []string{"plc.a", "plc.b", "plc.c", "plc.d", "plc.e"} {
			require.Equal(t, tags.Good, b.value(tag).Quality)
			require.Equal(t, a.value(tag).Value, b.value(tag).Value)
			require.False(t, b.value(tag).SourceTime.IsZero())
		}
		c := p.start("c") // one that comes later gets everything
		time.Sleep(2 * time.Second)
		require.Equal(t, tags.IntValue(1), c.value("plc.a").Value)
		p.device.set("a", tags.IntValue(42))
		time.Sleep(200 * time.Millisecond)
		require.Equal(t, tags.IntValue(42), b.value("plc.a").Value)
		require.Equal(t, tags.IntValue(42), c.value("plc.a").Value)
		status, ok := b.Driver("plc")
		require.True(t, ok)
		require.Equal(t, "Engine a", status.Engine)
		require.Equal(t, tags.DriverOnline, status.State)
		require.NotZero(t, status.Samples)

		p.device.mu.Lock()
		p.device.fails = true
		p.device.mu.Unlock()
		time.Sleep(time.Second)
		require.Equal(t, tags.Bad, b.value("plc.a").Quality)
		require.Equal(t, a.value("plc.a").Reason, b.value("plc.a").Reason)
		stop()
		a.close()
		b.close()
		c.close()
	})
}

func TestWritesArePassedOnOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		a, b := p.start("a"), p.start("b")
		_, err := b.Write(t.Context(), tags.WriteRequest{Tag: "plc.a", Value: tags.IntValue(5)})
		require.ErrorIs(t, err, tags.ErrDriverOffline, "nobody runs it")
		stop := a.run()
		time.Sleep(2 * time.Second)
		w, err := b.Write(t.Context(), tags.WriteRequest{Tag: "plc.a", Value: tags.IntValue(5), By: "ann"})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		w, err = b.AwaitWrite(ctx, w.ID)
		cancel()
		require.NoError(t, err)
		require.Equal(t, tags.WriteDone, w.State)
		require.Equal(t, "ann", w.By)
		time.Sleep(time.Second)
		require.Equal(t, tags.IntValue(5), b.value("plc.a").Value)
		require.Equal(t, 1, p.device.written())

		_, errs, err := b.WriteMany(t.Context(), []tags.WriteRequest{{Tag: "plc.a", Text: "x"}, {Tag: "plc.b", Text: "3"}, {Tag: "plc.z", Text: "3"}})
		require.NoError(t, err)
		require.ErrorIs(t, errs[0], tags.ErrInvalidValue)
		require.NoError(t, errs[1])
		require.ErrorIs(t, errs[2], tags.ErrTagNotFound)

		// More than fits in a message.
		var many []tags.WriteRequest
		long := string(make([]byte, 20_000))
		for range 50 {
			many = append(many, tags.WriteRequest{Tag: "plc.c", Value: tags.StringValue(long)})
		}
		time.Sleep(time.Second)
		before := p.device.written()
		_, errs, err = b.WriteMany(t.Context(), many)
		require.NoError(t, err)
		for _, err := range errs {
			require.NoError(t, err)
		}
		time.Sleep(10 * time.Second)
		require.Equal(t, before+len(many), p.device.written())

		b.bus.down.Store(true)
		_, err = b.Write(t.Context(), tags.WriteRequest{Tag: "plc.a", Value: tags.IntValue(6)})
		require.ErrorIs(t, err, tags.ErrDriverOffline, "nothing was sent")
		b.bus.down.Store(false)
		stop()
		a.close()
		_, err = b.Write(t.Context(), tags.WriteRequest{Tag: "plc.a", Value: tags.IntValue(7)})
		require.ErrorIs(t, err, tags.ErrWriteUnanswered, "the engine has gone, which this one does not know")
		b.close()
	})
}

// Who writes while a driver moves waits for it, at whichever engine, and each write is carried out once.
func TestWritesWhileADriverMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		engines := []*engine{p.start("a"), p.start("b"), p.start("c")}
		stop := engines[0].run()
		time.Sleep(2 * time.Second)
		ctx, end := context.WithCancel(t.Context())
		var busy sync.WaitGroup
		var accepted atomic.Int64
		refused := make(chan error, 10_000)
		for _, e := range engines {
			busy.Go(func() {
				for ; ctx.Err() == nil; time.Sleep(30 * time.Millisecond) {
					w, err := e.Write(t.Context(), tags.WriteRequest{Tag: "plc.a", Value: tags.IntValue(5)})
					if err == nil {
						accepted.Add(1)
						w, err = e.AwaitWrite(t.Context(), w.ID)
					}
					if err == nil && w.State != tags.WriteDone {
						err = errors.New(string(w.State) + ": " + w.Error)
					}
					if err != nil {
						refused <- err
					}
				}
			})
		}
		for i := range 10 {
			time.Sleep(time.Second)
			next := engines[(i+1)%2]
			p.mu.Lock()
			p.owner = next.name // which cannot begin at once
			p.mu.Unlock()
			stop()
			time.Sleep(700 * time.Millisecond)
			stop = next.run()
		}
		end()
		busy.Wait()
		close(refused)
		for err := range refused {
			require.NoError(t, err)
		}
		require.EqualValues(t, accepted.Load(), p.device.written())
		stop()
		for _, e := range engines {
			e.close()
		}
	})
}

// Who repeats a request because the answer was lost writes once, at whichever engine.
func TestARequestThatIsRepeatedWritesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		engines := []*engine{p.start("a"), p.start("b"), p.start("c")}
		stop := engines[0].run()
		time.Sleep(2 * time.Second)
		var busy sync.WaitGroup
		answers := make(chan error, 100)
		write := func(e *engine) {
			_, err := e.Write(t.Context(), tags.WriteRequest{Tag: "plc.a", Value: tags.IntValue(5), ID: "7", New: true})
			answers <- err
		}
		for range 20 {
			for _, e := range engines {
				busy.Go(func() { write(e) })
			}
		}
		busy.Wait()
		time.Sleep(time.Second)
		write(engines[1])
		close(answers)
		accepted := 0
		for err := range answers {
			if err == nil {
				accepted++
				continue
			}
			require.ErrorIs(t, err, tags.ErrWriteExists)
		}
		require.Equal(t, 1, accepted)
		require.Equal(t, 1, p.device.written())
		stop()
		for _, e := range engines {
			e.close()
		}
	})
}

// A request that a broker has held up is not carried out when nobody expects it any more.
func TestAWriteThatComesTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		a, b := p.start("a"), p.start("b")
		stop := a.run()
		time.Sleep(10 * time.Second)
		write := func() error {
			_, err := b.Write(t.Context(), tags.WriteRequest{Tag: "plc.a", Value: tags.IntValue(5)})
			return err
		}
		b.bus.hold.Store(int64(3 * time.Second))
		require.NoError(t, write())
		b.bus.hold.Store(int64(9 * time.Second))
		require.ErrorIs(t, write(), tags.ErrDriverOffline)
		b.bus.hold.Store(int64(20 * time.Second))
		require.ErrorIs(t, write(), tags.ErrWriteUnanswered)
		b.bus.hold.Store(0)
		require.NoError(t, write())
		time.Sleep(time.Second)
		require.Equal(t, 2, p.device.written())

		late := p.start("c") // has heard nothing yet
		_, err := late.Write(t.Context(), tags.WriteRequest{Tag: "plc.a", Value: tags.IntValue(5)})
		require.NoError(t, err, "it waits until it has")
		stop()
		late.close()
		a.close()
		b.close()
	})
}

func TestSilenceMakesValuesUncertain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		a, b := p.start("a"), p.start("b")
		stop := a.run()
		time.Sleep(time.Minute)
		require.Equal(t, tags.Good, b.value("plc.a").Quality)
		a.bus.down.Store(true)
		time.Sleep(4 * time.Second)
		require.Equal(t, tags.Uncertain, b.value("plc.a").Quality)
		require.Equal(t, tags.ReasonEngine, b.value("plc.a").Reason)
		require.Equal(t, tags.IntValue(1), b.value("plc.a").Value)
		status, _ := b.Driver("plc")
		require.Empty(t, status.Engine)
		require.NotEmpty(t, status.LastError)
		require.Equal(t, tags.Good, a.value("plc.a").Quality, "who runs the driver sees it")
		a.bus.down.Store(false)
		time.Sleep(3 * time.Second)
		require.Equal(t, tags.Good, b.value("plc.a").Quality, "also a value that has not changed")
		stop()
		time.Sleep(5 * time.Second)
		require.Equal(t, tags.ReasonEngine, a.value("plc.a").Reason, "nobody runs it any more")
		a.close()
		b.close()
	})
}

// Engines take turns while the bus loses messages. In the end all have the same.
func TestLossesAndMoves(t *testing.T) {
	for seed := range uint64(10) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 7))
			var mu sync.Mutex
			var calm atomic.Bool
			p := newPlant(t)
			p.lose = func() bool {
				mu.Lock()
				defer mu.Unlock()
				return !calm.Load() && random.IntN(3) == 0
			}
			engines := []*engine{p.start("a"), p.start("b"), p.start("c")}
			for n := range 20 {
				stop := engines[n%3].run()
				for k := range 10 {
					p.device.set("a", tags.IntValue(int64(100*n+k)))
					p.device.set("b", tags.FloatValue(float64(k)/8))
					time.Sleep(150 * time.Millisecond)
				}
				if n < 19 {
					stop()
					continue
				}
				calm.Store(true)
				time.Sleep(5 * time.Second)
				for _, e := range engines {
					require.Equal(t, tags.IntValue(int64(100*n+9)), e.value("plc.a").Value, e.name)
					require.Equal(t, tags.Good, e.value("plc.a").Quality, e.name)
					require.Equal(t, tags.FloatValue(9.0/8), e.value("plc.b").Value, e.name)
				}
				stop()
			}
			for _, e := range engines {
				e.close()
			}
		})
	}
}

// An engine that is slow to follow the configuration gets the values of tags that it has missed.
func TestTagsThatAreKnownLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		a, b := p.start("a"), p.start("b")
		require.NoError(t, b.RemoveDriver(t.Context(), "plc"))
		b.RemoveTags("plc.a", "plc.b", "plc.c", "plc.d", "plc.e")
		p.device.values["f"] = tags.IntValue(9)
		tag := tags.Tag{Name: "plc.f", Driver: "plc", Address: "f", DataType: tags.Int}
		require.NoError(t, a.DefineTags(tag))
		stop := a.run()
		time.Sleep(3 * time.Second)
		require.NoError(t, b.AddDriver("plc", p.device, tags.DriverOptions{Tags: []tags.Tag{{Name: "plc.a", Address: "a", DataType: tags.Int}}}))
		time.Sleep(2 * time.Second)
		require.Equal(t, tags.IntValue(1), b.value("plc.a").Value, "a driver")
		require.NoError(t, b.DefineTags(tag))
		time.Sleep(2 * time.Second)
		require.Equal(t, tags.IntValue(9), b.value("plc.f").Value, "a tag")
		stop()
		a.close()
		b.close()
	})
}

// An engine that has lost its lease and goes on is not heard.
func TestALateEngineIsNotHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		a, b, c := p.start("a"), p.start("b"), p.start("c")
		late := a.run()
		time.Sleep(2 * time.Second)
		stop := b.run()
		time.Sleep(2 * time.Second)
		status, _ := c.Driver("plc")
		require.Equal(t, "Engine b", status.Engine)
		for range 20 {
			time.Sleep(200 * time.Millisecond)
			status, _ = c.Driver("plc")
			require.Equal(t, "Engine b", status.Engine)
		}
		late()
		stop()
		a.close()
		b.close()
		c.close()
	})
}
