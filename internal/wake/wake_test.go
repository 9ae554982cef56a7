package wake_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/wake"
)

var errEnded = errors.New("ended")

func Example() {
	var subs wake.Subscribers[*wake.Queue[string]]
	q := wake.NewQueue[string](100)
	subs.Add(q)
	subs.Publish(func(q *wake.Queue[string]) bool { return q.Add("pump started", "pump stopped") })
	events, err := q.Next(context.Background(), 0)
	fmt.Println(events, err)
	// Output: [pump started pump stopped] <nil>
}

func TestSignalsArePendingOnce(t *testing.T) {
	s := wake.NewSignal()
	s.Set()
	s.Set()
	<-s.C()
	require.Empty(t, s.C())
	s.Set()
	<-s.C()
}

func TestBroadcastWakesAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b wake.Broadcast
		b.Send() // to nobody
		woken := make(chan int, 3)
		for i := range 3 {
			c := b.C()
			go func() {
				<-c
				woken <- i
			}()
		}
		synctest.Wait()
		require.Empty(t, woken)
		b.Send()
		synctest.Wait()
		require.Len(t, woken, 3)
		select {
		case <-b.C():
			t.Error("a Send wakes those who came later")
		default:
		}
	})
}

func TestQueueWakesItsReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := wake.NewQueue[int](3)
		go func() {
			time.Sleep(time.Second)
			q.Add(1, 2, 3)
		}()
		start := time.Now()
		items, err := q.Next(t.Context(), 2)
		require.NoError(t, err)
		require.Equal(t, []int{1, 2}, items)
		require.Equal(t, time.Second, time.Since(start))
		items, err = q.Next(t.Context(), 2)
		require.NoError(t, err)
		require.Equal(t, []int{3}, items)

		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errEnded)
		defer cancel()
		_, err = q.Next(ctx, 0)
		require.ErrorIs(t, err, errEnded)
	})
}

func TestQueueTakesAllOrNothing(t *testing.T) {
	q := wake.NewQueue[int](3)
	require.True(t, q.Add(1, 2))
	require.False(t, q.Add(3, 4))
	require.True(t, q.Add(3))
	items, err := q.Next(t.Context(), 0)
	require.NoError(t, err)
	require.Equal(t, []int{1, 2, 3}, items)
}

func TestQueueThatEndedStaysEnded(t *testing.T) {
	q := wake.NewQueue[int](3)
	require.True(t, q.Add(1))
	q.End(errEnded)
	q.End(errors.New("again"))
	require.False(t, q.Add(2))
	for range 2 {
		_, err := q.Next(t.Context(), 0)
		require.ErrorIs(t, err, errEnded)
	}
}

func TestSubscribersThatRefuseAreRemoved(t *testing.T) {
	var subs wake.Subscribers[string]
	require.True(t, subs.Add("quick"))
	require.True(t, subs.Add("slow"))
	require.True(t, subs.Add("gone"))
	subs.Remove("gone")
	subs.Remove("unknown")
	publish := func() (seen []string) {
		subs.Publish(func(s string) bool {
			seen = append(seen, s)
			return s != "slow"
		})
		return seen
	}
	require.ElementsMatch(t, []string{"quick", "slow"}, publish())
	require.Equal(t, []string{"quick"}, publish())
	var ended []string
	subs.Close(func(s string) { ended = append(ended, s) })
	require.Equal(t, []string{"quick"}, ended)
	require.False(t, subs.Add("late"))
	require.Empty(t, publish())
}
