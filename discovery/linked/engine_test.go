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

// plant is a tag engine with the driver of the bridge press-1.
func plant(t *testing.T, r *rig) *tags.Engine {
	engine, err := tags.New(tags.Options{Store: func(_ context.Context, changes []tags.Change) error {
		if err := r.store.failure(); err != nil {
			return err
		}
		for _, c := range changes {
			r.store.note("history %s=%v", c.Tag.Name, c.Value)
		}
		return nil
	}})
	require.NoError(t, err)
	require.NoError(t, engine.AddDriver("press", r.hub.Driver("press-1"), tags.DriverOptions{MaxBackoff: time.Second}))
	for _, name := range []string{"a", "b", "c"} {
		require.NoError(t, engine.DefineTags(tags.Tag{Name: "press." + name, Driver: "press", Address: name, DataType: tags.Int, Access: tags.ReadWrite}))
	}
	return engine
}

func current(t *testing.T, e *tags.Engine, name string) tags.Sample {
	s, err := e.Read(name)
	require.NoError(t, err)
	return s.Sample
}

// pongs keeps the link open in the background: frames that are no pings go to handle.
func (p *peer) pongs(handle func(link.FromEngine)) {
	go func() {
		for {
			f, err := p.recv()
			if err != nil {
				return
			}
			handle(f)
		}
	}()
}

// To the tag engine a bridge is a driver: values are current while the link is open and Bad while it is not, and nothing is lost in between.
func TestTheTagEngineHasTheBridgeAsADriver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newStore())
		defer r.close()
		engine := plant(t, r)
		defer func() { require.NoError(t, engine.Close(context.Background())) }()
		p, _ := r.open()
		p.pongs(func(link.FromEngine) {})
		p.send(liveFrame("a=1 b=2")) // what a bridge sends first
		synctest.Wait()
		require.Equal(t, tags.Good, current(t, engine, "press.a").Quality)
		require.Equal(t, tags.IntValue(2), current(t, engine, "press.b").Value)
		p.send(batch(1, "a=1 b=2 a=3", 2))
		synctest.Wait()
		require.Equal(t, tags.IntValue(3), current(t, engine, "press.a").Value)
		require.Equal(t, []string{"open true", "history press.a=1", "history press.b=2", "history press.a=3"}, r.store.noted())

		time.Sleep(time.Hour) // nothing changes on the machine
		require.Equal(t, tags.Good, current(t, engine, "press.a").Quality)

		p.close()
		synctest.Wait()
		require.Equal(t, tags.Bad, current(t, engine, "press.a").Quality)
		require.Equal(t, tags.ReasonNotConnected, current(t, engine, "press.a").Reason)

		time.Sleep(time.Hour)
		p, _ = r.open()
		p.pongs(func(link.FromEngine) {})
		p.send(liveFrame("a=9 b=2"))
		p.send(batch(4, "a=5 a=9", 2))
		time.Sleep(5 * time.Second) // the tag engine connects again with backoff
		require.Equal(t, tags.Good, current(t, engine, "press.b").Quality)
		require.Equal(t, tags.IntValue(9), current(t, engine, "press.a").Value)
		require.Equal(t, uint64(5), r.hub.Link("press-1").Position)
		p.close()
	})
}

// Writes of the tag engine have the outcome that the bridge reports; without one, it is unknown.
func TestTheTagEngineWritesThroughTheLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newStore())
		defer r.close()
		engine := plant(t, r)
		defer func() { require.NoError(t, engine.Close(context.Background())) }()
		write := func(tag string, v int64) func() tags.WriteState {
			w, err := engine.Write(t.Context(), tags.WriteRequest{Tag: tag, Value: tags.IntValue(v)})
			require.NoError(t, err)
			return func() tags.WriteState {
				w, err := engine.GetWrite(t.Context(), w.ID)
				require.NoError(t, err)
				return w.State
			}
		}
		p, _ := r.open()
		p.pongs(func(f link.FromEngine) {
			if f.Write == nil {
				return
			}
			r.store.note("write %s=%v", f.Write.Tag, f.Write.Value)
			switch f.Write.Tag {
			case "a":
				_ = p.conn.Send(link.FromBridge{Written: &link.Written{ID: f.Write.ID, Outcome: link.OutcomeDone}})
			case "b":
				_ = p.conn.Send(link.FromBridge{Written: &link.Written{ID: f.Write.ID, Outcome: link.OutcomeFailed, Error: "device refused"}})
			}
		})
		time.Sleep(5 * time.Second)
		done, failed, unknown := write("press.a", 7), write("press.b", 8), write("press.c", 9)
		time.Sleep(time.Minute)
		require.Equal(t, tags.WriteDone, done())
		require.Equal(t, tags.WriteFailed, failed())
		require.Equal(t, tags.WriteUnknown, unknown())
		require.Equal(t, []string{"open true", "write a=7", "write b=8", "write c=9"}, r.store.noted())
		p.close()
	})
}
