package mirror_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
)

// For a moment engines have a driver on one that has given it away, or has not begun: a write waits for the one that runs it.
func TestWritesWaitForADriverThatMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		a, b := p.start("a"), p.start("b")
		stop := a.run()
		time.Sleep(2 * time.Second)
		stop() // the owner is a as before
		begun := make(chan func(), 1)
		time.AfterFunc(400*time.Millisecond, func() { begun <- b.run() })
		done := make(chan error, 2)
		for i, e := range []*engine{a, b} {
			go func() {
				_, err := e.Write(t.Context(), tags.WriteRequest{Tag: "plc.a", Value: tags.IntValue(int64(i))})
				done <- err
			}()
		}
		require.NoError(t, <-done)
		require.NoError(t, <-done)
		time.Sleep(time.Second)
		require.Equal(t, 2, p.device.written())

		(<-begun)()
		began := time.Now()
		_, err := a.Write(t.Context(), tags.WriteRequest{Tag: "plc.a", Value: tags.IntValue(7)})
		require.ErrorIs(t, err, tags.ErrDriverOffline, "it does not come")
		require.Equal(t, 2*time.Second, time.Since(began))
		a.close()
		b.close()
	})
}

// While no engine reaches the database, all of them stop; the one that had a lease has the same again if no other engine took it.
func TestAnEngineThatResumesUnderItsLeaseIsHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		a, b := p.start("a"), p.start("b")
		stop := a.run()
		time.Sleep(time.Minute)
		stop()
		time.Sleep(30 * time.Second)
		require.Equal(t, tags.ReasonEngine, b.value("plc.a").Reason)
		p.device.set("a", tags.IntValue(2))
		stop = a.resume()
		time.Sleep(2 * time.Second)
		require.Equal(t, tags.IntValue(2), b.value("plc.a").Value)
		require.Equal(t, tags.Good, b.value("plc.a").Quality)
		_, err := b.Write(t.Context(), tags.WriteRequest{Tag: "plc.a", Value: tags.IntValue(3)})
		require.NoError(t, err)
		stop()
		a.close()
		b.close()
	})
}
