package linked

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/tags"
)

// The tag engine calls Forward again a while after the tags were defined. No sample of a tag that comes back is dropped until then.
func TestATagThatComesBackLosesNoSample(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newStore())
		defer func() { r.close() }()
		r.attach("a")
		p, _ := r.open()
		p.send(batch(1, "a=1 b=2", 0))
		p.acked(2)
		require.EqualValues(t, 1, r.hub.Link("press-1").Unknown)
		p.send(link.FromBridge{Manifest: &link.Manifest{BridgeID: "press-1", Tags: []link.ManifestTag{{Name: "a"}, {Name: "b"}}}})
		p.send(batch(3, "b=3 a=4", 0))
		time.Sleep(time.Second)
		r.stop()
		r.attach("a", "b")
		p.acked(4)
		require.Subset(t, r.store.noted(), []string{"stored b=3", "stored a=4"})
		require.EqualValues(t, 1, r.hub.Link("press-1").Unknown)
		p.close()
	})
}

func TestSeveralTagsOfOneAddressGetEachValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newStore())
		defer func() { r.close() }()
		p, _ := r.open()
		p.send(liveFrame("a=1"))
		synctest.Wait()
		seen := make(map[int][]string)
		ctx, cancel := context.WithCancel(t.Context())
		driver, points := r.hub.Driver("press-1").(tags.Forwarder), []tags.Point{{Address: "a"}, {Address: "b"}, {Address: "a"}}
		done := make(chan struct{}, 2)
		go func() {
			_ = driver.Subscribe(ctx, points, func(i int, v tags.Reading) { seen[i] = append(seen[i], "live "+v.Value.String()) })
			done <- struct{}{}
		}()
		synctest.Wait()
		p.send(liveFrame("a=2"))
		synctest.Wait()
		go func() {
			_ = driver.Forward(ctx, points, func(_ context.Context, readings []tags.Forwarded) error {
				for _, f := range readings {
					seen[f.Point] = append(seen[f.Point], "stored "+f.Reading.Value.String())
				}
				return nil
			})
			done <- struct{}{}
		}()
		p.send(batch(1, "a=2 b=3", 0))
		p.acked(2)
		cancel()
		<-done
		<-done
		require.Equal(t, []string{"live 1", "live 2", "stored 2"}, seen[0])
		require.Equal(t, seen[0], seen[2])
		require.Equal(t, []string{"stored 3"}, seen[1])
		p.close()
	})
}

// The clock of a bridge may be set back: the value that came last is the newest, not the one with the latest time.
func TestAHistoricValueIsNotTheNewest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newStore())
		defer func() { r.close() }()
		r.attach("a", "b")
		p, _ := r.open()
		p.send(liveFrame("a=9"))
		p.send(batch(1, "b=1 a=2", 2)) // a=2 has a later time than a=9
		p.acked(2)
		r.stop()
		before := len(r.store.noted())
		r.attach("a", "b")
		synctest.Wait()
		require.Contains(t, r.store.noted()[before:], "live a=9")
		p.close()
	})
}

// What the end of one link stored, after the next one was welcomed, is not acknowledged before it was sent on that one: the bridge would
// take it for a fault.
func TestAnAcknowledgementIsNotAheadOfTheLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newStore())
		defer func() { r.close() }()
		ctx, cancel := context.WithCancel(t.Context())
		disk, done := make(chan struct{}), make(chan struct{})
		driver := r.hub.Driver("press-1").(tags.Forwarder)
		go func() {
			defer close(done)
			for ctx.Err() == nil {
				_ = driver.Forward(ctx, []tags.Point{{Address: "a"}}, func(context.Context, []tags.Forwarded) error {
					<-disk
					return nil
				})
			}
		}()
		defer func() { <-done }()
		defer cancel()
		first := r.dial()
		r.store.key = "key-1"
		first.greet(link.Hello{Key: "key-1"})
		first.send(link.FromBridge{Names: &link.Names{Names: []string{"a"}}})
		first.send(batch(1, "a=1 a=2 a=3", 0))
		time.Sleep(time.Second)
		second, w := r.open()
		require.Zero(t, w.Position)
		close(disk)
		time.Sleep(time.Second)
		second.send(batch(1, "a=1 a=2", 0))
		second.acked(2)
		second.send(batch(3, "a=3", 0))
		second.acked(3)
		second.close()
	})
}

// Disconnect cannot end a link that is just opening.
func TestALinkWhoseBindingIsRemovedWhileItOpensIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newStore())
		defer func() { r.close() }()
		first, _ := r.open()
		r.store.mu.Lock()
		r.store.unbound = true
		r.store.mu.Unlock()
		second := r.dial()
		second.hello(link.Hello{Key: "key-1"})
		require.ErrorIs(t, <-first.ended, link.ErrReplaced)
		require.ErrorIs(t, <-second.ended, link.ErrRefused)
		require.False(t, r.hub.Link("press-1").Open)
	})
}
