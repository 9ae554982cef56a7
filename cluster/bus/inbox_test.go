package bus_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otkit/otkit/cluster/bus"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestWhatWaitsForASubscriberIsBounded(t *testing.T) {
	for _, test := range []struct{ size, most int }{{1, 4096}, {bus.MaxMessage, 64}} {
		synctest.Test(t, func(t *testing.T) {
			var in bus.Inbox
			release, calls := make(chan struct{}), 0
			s, err := in.Subscribe("values", func([]byte) { calls++; <-release })
			require.NoError(t, err)
			in.Deliver("values", make([]byte, test.size))
			synctest.Wait() // it is with the handler
			for range test.most + 10 {
				in.Deliver("values", make([]byte, test.size))
			}
			require.InDelta(t, 10, in.Lost(), 1)
			close(release)
			synctest.Wait()
			in.Deliver("values", nil)
			synctest.Wait()
			require.Equal(t, test.most+12-int(in.Lost()), calls, "what is not lost is handled, and there is room again")
			s.Cancel()
			lost := in.Lost()
			s.Deliver(nil)
			in.Deliver("values", nil)
			require.Equal(t, lost, in.Lost(), "after the end there is nothing to lose")
		})
	}
}

func TestWhatWaitsForAServerIsBounded(t *testing.T) {
	for _, test := range []struct{ size, most int }{{1, 1024}, {bus.MaxMessage, 64}} {
		synctest.Test(t, func(t *testing.T) {
			var in bus.Inbox
			release := make(chan struct{})
			cancel, err := in.Serve("write", func(context.Context, []byte) []byte { <-release; return nil })
			require.NoError(t, err)
			answers := make(chan []byte, 5000)
			for range bus.MaxServing + test.most + 10 {
				require.True(t, in.Request("write", make([]byte, test.size), func(a []byte) { answers <- a }))
			}
			require.EqualValues(t, 10, in.Lost())
			close(release)
			synctest.Wait()
			require.Len(t, answers, bus.MaxServing+test.most)
			cancel()
			require.False(t, in.Request("write", nil, nil))
		})
	}
}

func TestAServerThatEndsDropsWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var in bus.Inbox
		_, err := in.Serve("write", func(ctx context.Context, _ []byte) []byte { <-ctx.Done(); return nil })
		require.NoError(t, err)
		answers := make(chan []byte, 5000)
		for range bus.MaxServing * 2 {
			in.Request("write", nil, func(a []byte) { answers <- a })
		}
		require.NoError(t, in.Close(t.Context()))
		require.Len(t, answers, bus.MaxServing)
		_, err = in.Serve("write", nil)
		require.ErrorIs(t, err, bus.ErrClosed)
	})
}
