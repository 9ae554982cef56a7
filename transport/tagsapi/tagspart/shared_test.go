package tagspart

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/plantest"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/driverconfig"
	"github.com/otkit/otkit/tags/drivers"
	"github.com/otkit/otkit/tags/history"
	"github.com/otkit/otkit/tags/tagconfig"
)

// A driver whose settings change stays with its engine and runs again at once.
func TestADriverThatIsReplacedStaysWithItsEngine(t *testing.T) {
	for _, ids := range [][]string{{"a"}, {"a", "b"}} {
		synctest.Test(t, func(t *testing.T) {
			plant := plantest.New(t)
			config, definitions := tagconfig.NewMemory(), drivers.NewMemory()
			log := &sharedLog{MemoryWriteLog: tags.NewMemoryWriteLog(1)}
			types := driverconfig.Types{{Name: "PLC", New: func(driverconfig.Settings, *slog.Logger) (tags.Driver, []tags.Tag, error) {
				return still{}, nil, nil
			}, Schema: func() json.RawMessage { return json.RawMessage(`{}`) }}}
			var engines []*plantest.Engine
			var parts []*Tags
			for _, id := range ids {
				e := plant.Join(id)
				p, err := New(t.Context(), Options{Config: config, DriverStore: definitions, DriverTypes: types, Writes: log, HistoryStore: history.NewMemory(), Cluster: e.Cluster})
				require.NoError(t, err)
				t.Cleanup(func() {
					e.Leave()
					require.NoError(t, p.drain(context.Background()))
				})
				e.Start(p.Part())
				engines, parts = append(engines, e), append(parts, p)
			}
			made, err := parts[0].DriverService().Create(t.Context(), drivers.Definition{ID: "press", Type: "PLC", Enabled: true, IPAddress: "10.0.0.1", PollInterval: 100 * time.Millisecond})
			require.NoError(t, err)
			time.Sleep(20 * time.Second)
			before, epoch, _ := engines[0].Cluster.Owner(kindDriver, "press")
			def := made.Definition
			for range 3 {
				def.PollInterval += 100 * time.Millisecond
				_, err = parts[0].DriverService().Update(t.Context(), def, nil)
				require.NoError(t, err)
				time.Sleep(4 * time.Second) // the other engine looks every two
				after, same, owned := engines[0].Cluster.Owner(kindDriver, "press")
				require.True(t, owned)
				require.Equal(t, before.Engine, after.Engine)
				require.Equal(t, epoch, same)
				for _, p := range parts {
					s, _ := p.Engine().Driver("press")
					require.Equal(t, tags.DriverOnline, s.State)
				}
			}
			def.Enabled = false
			_, err = parts[0].DriverService().Update(t.Context(), def, nil)
			require.NoError(t, err)
			time.Sleep(4 * time.Second)
			_, _, owned := engines[0].Cluster.Owner(kindDriver, "press")
			require.False(t, owned)
			def.Enabled = true
			_, err = parts[0].DriverService().Update(t.Context(), def, nil)
			require.NoError(t, err)
			time.Sleep(4 * time.Second)
			s, _ := parts[0].Engine().Driver("press")
			require.Equal(t, tags.DriverOnline, s.State)
		})
	}
}
