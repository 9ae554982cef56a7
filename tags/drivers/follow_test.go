package drivers_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/drivers"
)

// followed starts a service that follows the changes of others.
func followed(t *testing.T, repo drivers.Repository) *rig {
	r := start(t, repo)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { r.Follow(ctx) })
	t.Cleanup(func() { cancel(); wg.Wait() })
	return r
}

func TestEnginesFollowEachOthersDrivers(t *testing.T) {
	repo := drivers.NewMemory()
	a, b := followed(t, repo), followed(t, repo)
	made, err := a.Create(t.Context(), drivers.Definition{ID: "x", Type: "Secretive", Enabled: true, PollInterval: 10 * time.Millisecond,
		Requires: map[string]string{"network": "hall-1"}, Settings: settings(`{"Host": "one", "Tags": ["t"]}`)})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"network": "hall-1"}, made.Requires)
	b.Look()
	b.good(t, "x.t")

	def := made.Definition
	def.Settings = settings(`{"Host": "two", "Tags": ["t", "u"]}`)
	changed, err := b.Update(t.Context(), def, only(made.Revision))
	require.NoError(t, err)
	a.Look()
	a.good(t, "x.u")
	require.Eventually(t, func() bool { i, err := a.Get("x"); return err == nil && i.Revision == changed.Revision }, time.Minute, time.Millisecond)

	require.NoError(t, a.Delete(t.Context(), "x", nil))
	b.Look()
	require.Eventually(t, func() bool { _, err := b.Get("x"); return err != nil }, time.Minute, time.Millisecond)
	_, err = b.engine.Read("x.u")
	require.ErrorIs(t, err, tags.ErrTagNotFound)
}

// What another engine has created can be changed before it was followed.
func TestADriverOfAMomentAgoCanBeRemoved(t *testing.T) {
	repo := drivers.NewMemory()
	a, b := start(t, repo), start(t, repo)
	_, err := a.Create(t.Context(), drivers.Definition{ID: "x", Type: "Simulation", Enabled: true})
	require.NoError(t, err)
	require.NoError(t, b.Delete(t.Context(), "x", nil))
	require.ErrorIs(t, a.Delete(t.Context(), "x", nil), drivers.ErrNotFound)
	require.Empty(t, a.List(), "what the repository has is the truth")
}

func TestSettingsAreDeclared(t *testing.T) {
	repo := drivers.NewMemory()
	a, b := start(t, repo), start(t, repo)
	press := drivers.Definition{ID: "press", Type: "secretive", Settings: settings(`{"Host": "one", "Tags": ["t"]}`), PollInterval: 10 * time.Millisecond}
	oven := drivers.Definition{ID: "oven", Type: "Simulation"}
	require.NoError(t, a.Declare(t.Context(), []drivers.Definition{press, oven}, false))
	a.good(t, "press.t")
	same := press
	same.Settings = settings(`{"Tags":["t"],  "Host":"one"}`)
	require.NoError(t, b.Declare(t.Context(), []drivers.Definition{same}, false), "the same in another form; the file of this engine may have fewer")
	b.good(t, "press.t")
	got, err := b.Get("press")
	require.NoError(t, err)
	require.Equal(t, drivers.FromSettings, got.Origin)
	_, err = b.SetEnabled(t.Context(), "press", false, nil)
	require.ErrorIs(t, err, drivers.ErrFromSettings)
	require.ErrorIs(t, b.Delete(t.Context(), "press", nil), drivers.ErrFromSettings)

	moved := press
	moved.IPAddress = "10.0.0.9"
	err = b.Declare(t.Context(), []drivers.Definition{{ID: "new", Type: "Simulation"}, moved}, false)
	require.ErrorIs(t, err, drivers.ErrContradicts)
	require.EqualError(t, err, `the settings and the database have different drivers: press: ipAddress is "10.0.0.9" in the settings and "" in the database`)
	for text, change := range map[string]func(*drivers.Definition){
		"type is Simulation in the settings and Secretive in the database": func(d *drivers.Definition) { d.Type, d.Settings = "Simulation", nil },
		"port is 7 in the settings and 0 in the database":                  func(d *drivers.Definition) { d.Port = 7 },
		"pollIntervalMs is 20 in the settings and 10 in the database":      func(d *drivers.Definition) { d.PollInterval = 20 * time.Millisecond },
		"timeoutMs is 5 in the settings and 0 in the database":             func(d *drivers.Definition) { d.Timeout = 5 * time.Millisecond },
		"backoffMaxMs is 6 in the settings and 0 in the database":          func(d *drivers.Definition) { d.MaxBackoff = 6 * time.Millisecond },
		"requires is [hall:9] in the settings and [] in the database":      func(d *drivers.Definition) { d.Requires = map[string]string{"hall": "9"} },
		"its own settings differ":                                          func(d *drivers.Definition) { d.Settings = settings(`{"Host":"one","Code":"4711"}`) },
	} {
		other := press
		change(&other)
		require.EqualError(t, b.Declare(t.Context(), []drivers.Definition{other}, false), "the settings and the database have different drivers: press: "+text)
	}
	_, err = b.Get("new")
	require.ErrorIs(t, err, drivers.ErrNotFound, "nothing is stored")

	require.NoError(t, b.Declare(t.Context(), []drivers.Definition{moved}, true))
	got, err = b.Get("press")
	require.NoError(t, err)
	require.Equal(t, "10.0.0.9", got.IPAddress)
	_, err = b.Get("oven")
	require.ErrorIs(t, err, drivers.ErrNotFound, "it is not in the file any more")

	_, err = b.Create(t.Context(), drivers.Definition{ID: "made", Type: "Simulation", Enabled: true})
	require.NoError(t, err)
	require.ErrorIs(t, b.Declare(t.Context(), []drivers.Definition{{ID: "made", Type: "Simulation", Port: 7}}, true), drivers.ErrContradicts)
}
