package bustest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/cluster/bus"
)

func echo(_ context.Context, data []byte) []byte { return append([]byte("echo "), data...) }

func testRequests(r rig) {
	cancel := r.serve(r.b, "write.b", echo)
	defer r.serve(r.a, "write.a", func(context.Context, []byte) []byte { return nil })()
	require.Equal(r, "echo 1", string(r.request(r.a, "write.b", []byte("1"))))
	require.Equal(r, "echo ", string(r.request(r.a, "write.b", nil)))
	require.Equal(r, "echo 2", string(r.request(r.b, "write.b", []byte("2"))), "the engine that serves a subject asks itself")
	require.Empty(r, r.request(r.b, "write.a", []byte("3")))

	_, err := r.b.Serve("write.b", echo)
	require.ErrorIs(r, err, bus.ErrServed)
	cancel()
	defer r.serve(r.a, "write.b", func(context.Context, []byte) []byte { return []byte("moved") })()
	for end := time.Now().Add(patience); string(r.request(r.b, "write.b", nil)) != "moved"; {
		require.True(r, time.Now().Before(end))
	}
}

func testConcurrent(r rig) {
	const many = 16
	var together sync.WaitGroup
	together.Add(many)
	defer r.serve(r.b, "ready", echo)()
	defer r.serve(r.b, "write", func(_ context.Context, data []byte) []byte {
		together.Done()
		together.Wait() // for all others
		return data
	})()
	r.request(r.a, "ready", nil)
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() {
			answer, err := r.a.Request(r.within(), "write", number(i))
			if err != nil || numberOf(answer) != i {
				r.Errorf("request %d: %v, %v", i, answer, err)
			}
		})
	}
	all.Wait()
}

func testTooMany(r rig) {
	var running, most, done atomic.Int64
	release := make(chan struct{})
	defer r.serve(r.b, "ready", echo)()
	defer r.serve(r.b, "write", func(_ context.Context, data []byte) []byte {
		now := running.Add(1)
		for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
		}
		<-release
		running.Add(-1)
		return data
	})()
	r.request(r.a, "ready", nil)
	var all sync.WaitGroup
	for i := range bus.MaxServing * 2 {
		all.Go(func() {
			answer, err := r.a.Request(r.within(), "write", number(i))
			switch {
			case errors.Is(err, bus.ErrNoAnswer): // it was lost
			case err != nil || numberOf(answer) != i:
				r.Errorf("request %d: %v, %v", i, answer, err)
			default:
				done.Add(1)
			}
		})
	}
	require.Eventually(r, func() bool { return running.Load() == bus.MaxServing }, patience, time.Millisecond)
	time.Sleep(50 * time.Millisecond) // for those that would be too many
	close(release)
	all.Wait()
	require.EqualValues(r, bus.MaxServing, most.Load())
	require.GreaterOrEqual(r, done.Load(), int64(bus.MaxServing))
}

func testCancelServer(r rig) {
	began, stopped, release := make(chan struct{}), make(chan struct{}), make(chan struct{})
	defer r.serve(r.b, "ready", echo)()
	cancel := r.serve(r.b, "write", func(ctx context.Context, data []byte) []byte {
		close(began)
		<-ctx.Done()
		close(stopped)
		<-release
		return data
	})
	r.request(r.a, "ready", nil)
	asked := ended(func() { _, _ = r.a.Request(r.within(), "write", nil) })
	r.wait(began, "the handler is not called")
	canceled := ended(cancel)
	r.wait(stopped, "cancel does not end the context of the handler")
	r.running(canceled, "cancel does not wait for the handler")
	close(release)
	r.wait(canceled, "cancel does not return")
	r.wait(asked, "the request does not return")
	cancel() // again
	r.unanswered("write")
}

// unanswered checks that requests have no answer, sooner or later.
func (r rig) unanswered(subject string) {
	r.Helper()
	for _, on := range []bus.Bus{r.a, r.b} {
		require.Eventually(r, func() bool {
			ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
			defer cancel()
			_, err := on.Request(ctx, subject, nil)
			return errors.Is(err, bus.ErrNoAnswer)
		}, patience, time.Millisecond)
	}
}

func testNoAnswer(r rig) {
	r.unanswered("nobody")
	defer r.serve(r.b, "ready", echo)()
	release := make(chan struct{})
	defer r.serve(r.b, "slow", func(context.Context, []byte) []byte { <-release; return nil })()
	defer close(release)
	r.request(r.a, "ready", nil)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err := r.a.Request(ctx, "slow", nil)
	require.ErrorIs(r, err, bus.ErrNoAnswer)
	_, err = r.a.Request(ctx, "slow", nil)
	require.ErrorIs(r, err, bus.ErrNoAnswer, "the context has ended before")
	require.Equal(r, "echo x", string(r.request(r.a, "ready", []byte("x"))), "a request without an answer does not hinder others")
}

func testTooLarge(r rig) {
	large, larger := make([]byte, bus.MaxMessage), make([]byte, bus.MaxMessage+1)
	large[0], large[bus.MaxMessage-1] = 1, 2
	whole := func(data []byte) bool {
		return len(data) == bus.MaxMessage && data[0] == 1 && data[bus.MaxMessage-1] == 2
	}
	done, once := make(chan struct{}), sync.Once{}
	defer r.subscribe(r.b, "values", func(data []byte) {
		if !whole(data) {
			r.Errorf("a message of %d bytes arrives as one of %d", bus.MaxMessage, len(data))
		}
		once.Do(func() { close(done) })
	})()
	defer r.serve(r.b, "same", func(_ context.Context, data []byte) []byte { return data })()
	defer r.serve(r.b, "more", func(_ context.Context, data []byte) []byte { return larger })()

	require.ErrorIs(r, r.a.Publish("values", larger), bus.ErrTooLarge)
	_, err := r.a.Request(r.within(), "same", larger)
	require.ErrorIs(r, err, bus.ErrTooLarge)
	r.until(done, r.a, "values", large)
	require.True(r, whole(r.request(r.a, "same", large)))
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	_, err = r.a.Request(ctx, "more", nil)
	require.ErrorIs(r, err, bus.ErrNoAnswer)
}

func testStatus(r rig) {
	began := time.Now()
	for _, b := range []bus.Bus{r.a, r.b} {
		require.Eventually(r, func() bool { return b.Status().Up }, patience, time.Millisecond)
		s := b.Status()
		require.NotEmpty(r, s.Kind)
		require.Empty(r, s.Err)
		require.Zero(r, s.Lost)
		require.WithinRange(r, s.Since, began.Add(-time.Minute), time.Now())
	}
}

func testClose(r rig) {
	defer r.serve(r.b, "ready", echo)()
	asked := make(chan struct{})
	defer r.serve(r.b, "slow", func(ctx context.Context, _ []byte) []byte {
		close(asked)
		<-ctx.Done()
		return nil
	})()
	cancel := r.subscribe(r.a, "values", func([]byte) { r.Error("a handler is called after Close") })
	cancelServer := r.serve(r.a, "write", func(context.Context, []byte) []byte { r.Error("a handler is called after Close"); return nil })
	r.request(r.a, "ready", nil)
	var err error
	answered := ended(func() { _, err = r.a.Request(r.within(), "slow", nil) })
	r.wait(asked, "the handler is not called")
	for range 2 {
		require.NoError(r, r.a.Close(r.within()))
	}
	r.wait(answered, "Close does not end a request")
	require.ErrorIs(r, err, bus.ErrClosed)

	require.ErrorIs(r, r.a.Publish("values", nil), bus.ErrClosed)
	_, err = r.a.Subscribe("values", func([]byte) {})
	require.ErrorIs(r, err, bus.ErrClosed)
	_, err = r.a.Request(r.within(), "ready", nil)
	require.ErrorIs(r, err, bus.ErrClosed)
	_, err = r.a.Serve("more", echo)
	require.ErrorIs(r, err, bus.ErrClosed)
	require.False(r, r.a.Status().Up)
	require.NotEmpty(r, r.a.Status().Err)
	r.publish(r.b, "values", nil)
	ctx, stop := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer stop()
	_, err = r.b.Request(ctx, "write", nil)
	require.ErrorIs(r, err, bus.ErrNoAnswer)
	cancel()
	cancelServer()
}

func testCloseWaits(r rig) {
	began, release := make(chan struct{}, 2), make(chan struct{})
	var once sync.Once
	ready := make(chan struct{})
	r.subscribe(r.b, "values", func([]byte) {
		once.Do(func() { close(ready); began <- struct{}{}; <-release })
	})
	r.serve(r.b, "write", func(context.Context, []byte) []byte { began <- struct{}{}; <-release; return nil })
	r.serve(r.b, "ready", echo)
	r.request(r.a, "ready", nil)
	r.until(ready, r.a, "values", nil)
	asked := ended(func() {
		ctx, cancel := context.WithTimeout(r.within(), time.Second)
		defer cancel()
		_, _ = r.a.Request(ctx, "write", nil)
	})
	<-began
	<-began
	short, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	require.ErrorIs(r, r.b.Close(short), context.DeadlineExceeded, "handlers run")
	closed := ended(func() { _ = r.b.Close(r.within()) })
	r.running(closed, "Close does not wait for handlers")
	close(release)
	r.wait(closed, "Close does not return")
	r.wait(asked, "a request does not return")
}

func testEverything(r rig) {
	var all sync.WaitGroup
	stop := make(chan struct{})
	again := func(f func(i int)) {
		all.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
					f(i)
				}
			}
		})
	}
	var got, answered atomic.Int64
	for n, on := range []bus.Bus{r.a, r.b} {
		name := string(rune('a' + n))
		again(func(i int) {
			_ = on.Publish(fmt.Sprint("values.", i%4), number(i))
			if i%50 == 0 {
				time.Sleep(time.Millisecond)
			}
		})
		again(func(i int) {
			cancel, err := on.Subscribe(fmt.Sprint("values.", i%4), func([]byte) { got.Add(1) })
			time.Sleep(time.Millisecond)
			if err == nil {
				cancel()
			}
		})
		again(func(int) {
			cancel, err := on.Serve("write."+name, echo)
			time.Sleep(2 * time.Millisecond)
			if err == nil {
				cancel()
			}
		})
		again(func(i int) {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
			defer cancel()
			if _, err := on.Request(ctx, fmt.Sprint("write.", string(rune('a'+i%2))), number(i)); err == nil {
				answered.Add(1)
			}
		})
		again(func(int) { _ = on.Status(); time.Sleep(time.Millisecond) })
	}
	require.Eventually(r, func() bool { return got.Load() > 100 && answered.Load() > 20 }, patience, 5*time.Millisecond)
	require.NoError(r, r.a.Close(r.within()))
	require.NoError(r, r.b.Close(r.within()))
	close(stop)
	all.Wait()
}
