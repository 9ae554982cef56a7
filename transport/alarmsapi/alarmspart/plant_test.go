package alarmspart

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/enginealarms"
	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/cluster"
	"github.com/otkit/otkit/internal/plantest"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/tagsapi/tagspart"
)

// away is a driver whose device cannot be reached.
type away struct{}

func (away) Connect(context.Context) error                            { return errors.New("connection refused") }
func (away) Read(context.Context, []tags.Point, []tags.Reading) error { return tags.ErrNotConnected }
func (away) Write(context.Context, []tags.WriteItem, []error) error   { return tags.ErrNotConnected }
func (away) Close() error                                             { return nil }

// trims counts the trims of alarms.
type trims struct {
	*alarms.Memory
	n atomic.Int32
}

func (s *trims) Trim(context.Context, time.Time) error {
	s.n.Add(1)
	return nil
}

func TestEnginesOfAPlantRaiseTheAlarmOfADriverOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plant, store := plantest.New(t), &trims{Memory: alarms.NewMemory()}
		ruleStore := rules.NewMemory(store.Memory)
		var able atomic.Pointer[string]
		var services []*alarms.Service
		for _, id := range []string{"a", "b"} {
			e := plant.Join(id)
			e.Cluster.Handle("driver", func(ctx context.Context, _ string, _ *cluster.Held) error {
				if who := able.Load(); who == nil || *who != id {
					return errors.New("the driver type is not known")
				}
				<-ctx.Done()
				return nil
			})
			e.Cluster.Set("driver", []cluster.Work{{Name: "press"}})
			t1, err := tagspart.New(t.Context(), tagspart.Options{ModelPath: filepath.Join(t.TempDir(), "model.json"),
				Drivers: []tagspart.Driver{{ID: "press", Driver: away{}, Options: tags.DriverOptions{Type: "Fake"}}}})
			require.NoError(t, err)
			a, err := New(t.Context(), t1, Options{Alarms: store, Resolutions: store.Memory, Rules: ruleStore, RuleStates: ruleStore, Poll: time.Second, Cluster: e.Cluster})
			require.NoError(t, err)
			t.Cleanup(func() {
				require.NoError(t, t1.Part().Drain(context.Background()))
				require.NoError(t, errors.Join(a.drain(context.Background()), a.close(context.Background())))
			})
			services = append(services, a.Service())
			e.Start(a.Part())
		}
		time.Sleep(40 * time.Second)
		active := func() []alarms.Occurrence {
			list, err := services[0].Active(t.Context())
			require.NoError(t, err)
			return list
		}
		require.Len(t, active(), 1)
		require.Equal(t, "Driver press (Fake) is offline: no engine runs it (a: the driver type is not known; b: the driver type is not known)", active()[0].Message)
		require.NotContains(t, active()[0].Labels, "engine")
		b := "b"
		able.Store(&b)
		time.Sleep(2 * time.Minute)
		require.Len(t, active(), 1)
		require.Equal(t, "b", active()[0].Labels["engine"])
		require.Contains(t, active()[0].Message, "connection refused")
		time.Sleep(time.Hour)
		events, err := services[1].Events(t.Context(), 0, 100)
		require.NoError(t, err)
		require.Len(t, events, 2, "raised, and updated when an engine ran the driver")
		require.EqualValues(t, 1, store.n.Load())
	})
}

func TestWhyNamesTheLabelsThatEnginesLack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		group := plantest.New(t)
		var last *plantest.Engine
		for _, id := range []string{"a", "b"} {
			last = group.Join(id)
			last.Cluster.Handle("driver", func(ctx context.Context, _ string, _ *cluster.Held) error {
				<-ctx.Done()
				return nil
			})
			last.Cluster.Set("driver", []cluster.Work{{Name: "press", Requires: map[string]string{"network": "hall-1"}}})
			last.Start()
		}
		time.Sleep(10 * time.Second)
		p := plant{cluster: last.Cluster}
		require.Equal(t, "a: it does not have the label network=hall-1; b: it does not have the label network=hall-1", p.Why("press"))
		require.Empty(t, p.Why("mixer"))
	})
}

// Of three engines two are lost, one of them the one that raises such alarms.
func TestEnginesOfAPlantRaiseAnAlarmForEachThatIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		group, memory := plantest.New(t), alarms.NewMemory()
		ruleStore := rules.NewMemory(memory)
		engines := map[string]*plantest.Engine{}
		services := map[string]*alarms.Service{}
		for _, id := range []string{"a", "b", "c"} {
			e := group.Join(id)
			t1, err := tagspart.New(t.Context(), tagspart.Options{ModelPath: filepath.Join(t.TempDir(), "model.json")})
			require.NoError(t, err)
			a, err := New(t.Context(), t1, Options{Alarms: memory, Resolutions: memory, Rules: ruleStore, RuleStates: ruleStore, Poll: time.Second, Cluster: e.Cluster})
			require.NoError(t, err)
			t.Cleanup(func() {
				require.NoError(t, t1.Part().Drain(context.Background()))
				require.NoError(t, errors.Join(a.drain(context.Background()), a.close(context.Background())))
			})
			e.Start(a.Part())
			engines[id], services[id] = e, a.Service()
		}
		time.Sleep(20 * time.Second)
		owner, _, ok := engines["a"].Cluster.Owner("job", "driver-alarms")
		require.True(t, ok)
		ids := []string{"a", "b", "c"}
		ids = slices.DeleteFunc(ids, func(id string) bool { return id == owner.Engine })
		second, last := ids[0], ids[1]
		active := func() (keys []string) {
			list, err := services[last].Active(t.Context())
			require.NoError(t, err)
			for i := range list {
				keys = append(keys, list[i].Key)
			}
			return keys
		}
		require.Empty(t, active())
		lost := func(id string) string { return enginealarms.LostKey + id }

		late := func(id string) error {
			_, err := onDuty{services[id], engines[id].Cluster}.Apply(t.Context(), []alarms.Signal{{Key: lost("d"), Reset: true}})
			return err
		}
		require.NoError(t, late(owner.Engine))
		require.ErrorIs(t, late(second), alarms.ErrSignalLapsed)

		engines[owner.Engine].Cut(true)
		time.Sleep(6 * time.Second)
		require.Equal(t, []string{lost(owner.Engine)}, active())
		require.ErrorIs(t, late(owner.Engine), alarms.ErrSignalLapsed, "it may have hung before")
		engines[second].Cut(true)
		time.Sleep(6 * time.Second)
		require.ElementsMatch(t, []string{lost(owner.Engine), lost(second)}, active())

		engines[owner.Engine].Cut(false)
		time.Sleep(6 * time.Second)
		require.Equal(t, []string{lost(second)}, active())
		_, err := services[last].Acknowledge(t.Context(), alarms.ByKey(lost(second)), "mina", "sold")
		require.NoError(t, err)
		engines[last].Leave() // which gives its work to the one that was lost before
		time.Sleep(time.Minute)
		journal := func() []alarms.Event {
			events, err := services[last].Events(t.Context(), 0, 100)
			require.NoError(t, err)
			return events
		}
		require.Len(t, journal(), 4, "both were raised, one was cleared and the other acknowledged")
		engines[second].Cut(false)
		time.Sleep(6 * time.Second)
		require.Len(t, journal(), 5)
		require.Equal(t, alarms.Cleared, journal()[4].Kind)
	})
}
