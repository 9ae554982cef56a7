package server_test

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/audit"
	"github.com/otkit/otkit/cluster"
	"github.com/otkit/otkit/cluster/bus"
	"github.com/otkit/otkit/engine"
	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/tags/drivers"
	"github.com/otkit/otkit/transport/clusterapi/clusterpart"
)

const enginesPath = "/api/v1/engines"

// sharedKeys is an accounts.KeyStore in memory.
type sharedKeys struct {
	mu  sync.Mutex
	all []accounts.PublicKey
}

func (k *sharedKeys) PublishKeys(_ context.Context, list []accounts.PublicKey, _ time.Time) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all = slices.DeleteFunc(k.all, func(old accounts.PublicKey) bool {
		return slices.ContainsFunc(list, func(n accounts.PublicKey) bool { return n.ID == old.ID })
	})
	k.all = append(k.all, list...)
	return nil
}

func (k *sharedKeys) PublishedKeys(context.Context) ([]accounts.PublicKey, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.all), nil
}

// sharing starts engines that share a plant, with the names of labels.
func sharing(t *testing.T, labels ...map[string]string) (list []*platform) {
	t.Helper()
	store, line, definitions, shared := cluster.NewMemory(), bus.NewMemory(), drivers.NewMemory(), &sharedKeys{}
	models := struct {
		*predictive.MemoryRegistry
		*predictive.MemoryJobs
	}{new(predictive.MemoryRegistry), new(predictive.MemoryJobs)}
	for i, have := range labels {
		list = append(list, start(t, withTypes, func(o *engine.Options) {
			o.Tags.Drivers, o.Tags.DriverStore, o.Predictive.Registry = nil, definitions, models
			o.Shared = &engine.Shared{Keys: shared, Cluster: &clusterpart.Options{Store: store, Bus: line.Join(),
				Name: string(rune('a' + i)), Host: "host", URL: "http://10.0.0.1:5001", Labels: have}}
		}))
	}
	return list
}

type engineList struct {
	Unassigned []struct {
		Kind, ID string
		Since    time.Time
		Requires map[string]string
		Reasons  []struct{ EngineID, EngineName, Reason string }
	}
	UnassignedCount int
	Engines         []engineStatus
	Bus             *struct {
		Kind         string
		Up           bool
		LostMessages int64
	}
	Database struct {
		Up    bool
		Error string
	}
}

type engineStatus struct {
	ID, Name, Host, URL, Version string
	Self, Draining               bool
	StartedAt                    time.Time
	Labels                       map[string]string
	Owned                        map[string]int
	Works                        []struct {
		Kind, ID string
		Epoch    int64
	}
	Unable []struct{ Kind, ID, Reason string }
	LagMs  float64
}

func (p *platform) engines() (list engineList) {
	p.t.Helper()
	a := p.call(accounts.Viewer, http.MethodGet, enginesPath, nil)
	require.Equal(p.t, 200, a.status, "%s", a.body)
	a.into(p.t, &list)
	return list
}

func TestAnEngineThatIsAloneIsInItsList(t *testing.T) {
	t.Parallel()
	broken := false
	p := start(t, func(o *engine.Options) {
		o.Ping = func(context.Context) error {
			if broken {
				return context.DeadlineExceeded
			}
			return nil
		}
	})
	list := p.engines()
	require.Empty(t, list.Unassigned)
	require.Nil(t, list.Bus)
	require.True(t, list.Database.Up)
	require.Len(t, list.Engines, 1)
	self := list.Engines[0]
	require.True(t, self.Self)
	require.NotEmpty(t, self.ID)
	require.NotEmpty(t, self.Name)
	require.Equal(t, "1.2.3", self.Version)
	require.Equal(t, map[string]int{"driver": 4}, self.Owned)
	require.Empty(t, self.Works, "only where one engine is read")

	var one engineStatus
	p.call(accounts.Viewer, http.MethodGet, enginesPath+"/"+self.ID, nil).into(t, &one)
	require.Len(t, one.Works, 4)
	require.Equal(t, "driver", one.Works[0].Kind)
	require.Equal(t, "away", one.Works[0].ID)
	requireProblem(t, p.call(accounts.Viewer, http.MethodGet, enginesPath+"/"+url.PathEscape("a/b %"), nil), 404, "ENGINE_NOT_FOUND")
	requireProblem(t, p.call(accounts.Admin, http.MethodPut, enginesPath+"/"+self.ID+"/drain", nil), 409, "NO_OTHER_ENGINE")
	requireProblem(t, p.call(accounts.Admin, http.MethodPut, enginesPath+"/nobody/drain", nil), 404, "ENGINE_NOT_FOUND")
	require.Equal(t, 204, p.call(accounts.Admin, http.MethodDelete, enginesPath+"/"+self.ID+"/drain", nil).status)
	broken = true
	database := p.engines().Database
	require.False(t, database.Up)
	require.Equal(t, "the database does not answer", database.Error)
}

func TestEnginesShowWhoDoesWhatAndAreDrained(t *testing.T) {
	t.Parallel()
	two := sharing(t, nil, map[string]string{"network": "hall-1"})
	a, b := two[0], two[1]
	add := func(id string, requires map[string]string) {
		t.Helper()
		made := a.call(accounts.Admin, http.MethodPost, driversPath, map[string]any{"id": id, "type": "Simulation", "requires": requires})
		require.Equal(t, 201, made.status, "%s", made.body)
	}
	add("pump", map[string]string{"network": "hall-1"})
	add("oven", map[string]string{"network": "hall-2"})
	var list engineList
	require.Eventually(t, func() bool {
		list = a.engines()
		return len(list.Engines) == 2 && list.Engines[1].Owned["driver"] == 1 && list.UnassignedCount == 1
	}, patience, 10*time.Millisecond)
	first, second := list.Engines[0], list.Engines[1]
	require.Equal(t, "a", first.Name)
	require.True(t, first.Self)
	require.False(t, second.Self)
	require.Equal(t, "b", second.Name)
	require.Equal(t, "http://10.0.0.1:5001", second.URL)
	require.Equal(t, map[string]string{"network": "hall-1"}, second.Labels)
	require.Equal(t, "memory", list.Bus.Kind)
	require.True(t, list.Bus.Up)
	require.True(t, list.Database.Up)
	lacking := list.Unassigned[0]
	require.Equal(t, "driver", lacking.Kind)
	require.Equal(t, "oven", lacking.ID)
	require.Equal(t, map[string]string{"network": "hall-2"}, lacking.Requires)
	require.WithinDuration(t, time.Now(), lacking.Since, patience)
	require.Len(t, lacking.Reasons, 2)
	for i, name := range []string{"a", "b"} {
		require.Equal(t, name, lacking.Reasons[i].EngineName)
		require.Equal(t, "it does not have the label network=hall-2", lacking.Reasons[i].Reason)
	}

	// Each engine says which one runs a driver.
	for _, p := range two {
		require.Eventually(t, func() bool {
			return p.call(accounts.Viewer, http.MethodGet, driversPath+"/pump", nil).object(t)["status"].(map[string]any)["engine"] == "b"
		}, patience, 10*time.Millisecond)
	}
	shown := a.call(accounts.Viewer, http.MethodGet, driversPath+"/pump", nil)
	require.Equal(t, map[string]any{"network": "hall-1"}, shown.object(t)["requires"])
	body := shown.object(t)
	body["pollIntervalMs"] = 700
	require.Equal(t, 200, a.conditional(http.MethodPut, driversPath+"/pump", shown.header.Get("ETag"), body).status, "what was shown can be sent back")
	body["requires"] = map[string]string{}
	changed := a.call(accounts.Admin, http.MethodPut, driversPath+"/pump", body)
	require.Equal(t, 200, changed.status, "%s", changed.body)
	require.NotContains(t, changed.object(t), "requires")

	// One drains the other.
	path := enginesPath + "/" + second.ID + "/drain"
	require.Equal(t, 204, a.call(accounts.Admin, http.MethodPut, path, nil).status)
	require.Eventually(t, func() bool {
		list = a.engines()
		return list.Engines[1].Draining && list.Engines[1].Owned["driver"] == 0 && list.Engines[0].Owned["driver"] == 2 // that of predictions, too
	}, patience, 10*time.Millisecond)
	require.FileExists(t, filepath.Join(b.dir, engine.DrainFile))
	requireProblem(t, b.call(accounts.Admin, http.MethodPut, enginesPath+"/"+first.ID+"/drain", nil), 409, "NO_OTHER_ENGINE")
	var one engineStatus
	a.call(accounts.Viewer, http.MethodGet, enginesPath+"/"+first.ID, nil).into(t, &one)
	i := slices.IndexFunc(one.Works, func(w struct {
		Kind, ID string
		Epoch    int64
	}) bool {
		return w.Kind == "driver" && w.ID == "pump"
	})
	require.GreaterOrEqual(t, i, 0)
	require.GreaterOrEqual(t, one.Works[i].Epoch, int64(2))

	records, _, err := a.Audit().List(t.Context(), audit.Query{Action: "drainEngine", Limit: 10})
	require.NoError(t, err)
	require.Len(t, records, 1)
	require.Equal(t, []string{second.ID}, records[0].Objects)
	require.Equal(t, "admin", records[0].Actor)

	require.Equal(t, 204, a.call(accounts.Admin, http.MethodDelete, path, nil).status)
	require.Eventually(t, func() bool { return !a.engines().Engines[1].Draining }, patience, 10*time.Millisecond)
	_, err = os.Stat(filepath.Join(b.dir, engine.DrainFile))
	require.ErrorIs(t, err, os.ErrNotExist)

	health := a.call(nobody, http.MethodGet, "/health", nil).object(t)["results"].(map[string]any)["cluster"].(map[string]any)
	require.Contains(t, health["description"], "2 engines")
	require.Contains(t, string(a.call(nobody, http.MethodGet, "/metrics", nil).body), `otkit_cluster_engines{state="active"} 2`)
}

func TestLabelsOfADriverAreChecked(t *testing.T) {
	t.Parallel()
	p := start(t, withTypes)
	for _, requires := range []any{map[string]any{"": "x"}, map[string]any{"network": 5}, []string{"network=hall-1"}} {
		a := p.callWrong(accounts.Admin, http.MethodPost, driversPath, map[string]any{"id": "made", "type": "Simulation", "requires": requires})
		require.Equal(t, 400, a.status, "%s", a.body)
	}
}
