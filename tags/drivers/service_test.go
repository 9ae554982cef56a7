package drivers_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/drivers"
)

func only(revision int64) func(int64) error {
	return func(is int64) error {
		if is != revision {
			return drivers.ErrChanged
		}
		return nil
	}
}

func TestADriverIsCreatedChangedAndRemoved(t *testing.T) {
	repo := drivers.NewMemory()
	r := start(t, repo)
	sub, err := r.engine.Subscribe(tags.SubscribeOptions{Patterns: []string{"%"}})
	require.NoError(t, err)
	defer sub.Close()

	made, err := r.Create(t.Context(), drivers.Definition{ID: "a", Type: "secretive", Enabled: true, PollInterval: 10 * time.Millisecond,
		Settings: settings(`{"Host": "one", "Tags": ["x", "y"]}`)})
	require.NoError(t, err)
	require.Equal(t, "Secretive", made.Type, "as the type is written")
	require.Equal(t, drivers.FromAPI, made.Origin)
	require.NotZero(t, made.Revision)
	r.good(t, "a.x")
	r.good(t, "a.y")

	// Another definition: y goes, z comes, x stays.
	def := made.Definition
	def.Settings = settings(`{"Host": "two", "Tags": ["x", "z"]}`)
	changed, err := r.Update(t.Context(), def, only(made.Revision))
	require.NoError(t, err)
	require.Greater(t, changed.Revision, made.Revision)
	r.good(t, "a.x")
	r.good(t, "a.z")
	require.Equal(t, "two", r.secret.last(t).Host)
	require.Equal(t, made.CreatedAt, changed.CreatedAt)

	off, err := r.SetEnabled(t.Context(), "a", false, nil)
	require.NoError(t, err)
	require.Equal(t, tags.DriverStopped, off.Status.State)
	require.Empty(t, off.Status.LastError)
	require.Equal(t, tags.ReasonNoDriver, r.value(t, "a.x").Reason)
	require.False(t, r.engine.HasDriver("a"))
	_, err = r.SetEnabled(t.Context(), "a", true, nil)
	require.NoError(t, err)
	r.good(t, "a.x")

	require.NoError(t, r.Delete(t.Context(), "a", nil))
	require.Empty(t, r.List())
	_, err = r.engine.Read("a.x")
	require.ErrorIs(t, err, tags.ErrTagNotFound)
	_, err = r.Get("a")
	require.ErrorIs(t, err, drivers.ErrNotFound)
	require.ErrorIs(t, r.Delete(t.Context(), "a", nil), drivers.ErrNotFound)
	left, _, err := repo.Load(t.Context())
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestOfTwoChangesAtTheSameTimeOneIsRefused(t *testing.T) {
	r := start(t, nil)
	made, err := r.Create(t.Context(), drivers.Definition{ID: "a", Type: "Secretive", Enabled: true, Settings: settings(`{"Host": "one"}`)})
	require.NoError(t, err)
	var wg sync.WaitGroup
	var done, refused atomic.Int32
	for range 8 {
		wg.Go(func() {
			def := made.Definition
			def.Settings = settings(`{"Host": "two"}`)
			switch _, err := r.Update(context.Background(), def, only(made.Revision)); {
			case err == nil:
				done.Add(1)
			case errors.Is(err, drivers.ErrChanged):
				refused.Add(1)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1, done.Load())
	require.EqualValues(t, 7, refused.Load())

	// Removed and created again it is not the one that was read before.
	require.NoError(t, r.Delete(t.Context(), "a", nil))
	_, err = r.Create(t.Context(), made.Definition)
	require.NoError(t, err)
	_, err = r.Update(t.Context(), made.Definition, only(made.Revision))
	require.ErrorIs(t, err, drivers.ErrChanged)
	require.ErrorIs(t, r.Delete(t.Context(), "a", only(made.Revision)), drivers.ErrChanged)
}

func TestWhatIsWrongWithADefinitionIsNamed(t *testing.T) {
	r := start(t, nil)
	for field, def := range map[string]drivers.Definition{
		"id":                       {Type: "Simulation"},
		"type":                     {ID: "a"},
		"port":                     {ID: "a", Type: "Simulation", Port: 65536},
		"pollIntervalMs":           {ID: "a", Type: "Simulation", PollInterval: -1},
		"timeoutMs":                {ID: "a", Type: "Simulation", Timeout: 25 * time.Hour},
		"settings.TagsPerDevice":   {ID: "a", Type: "Simulation", Settings: settings(`{"TagsPerDevice": -1}`)},
		"settings.Host":            {ID: "a", Type: "Secretive"},
		"settings.Tags[1].Address": {ID: "a", Type: "Modbus", IPAddress: "10.0.0.1", Settings: settings(`{"Tags": [{"Name": "a", "Address": "40001", "Type": "Int16"}, {"Name": "b", "Address": "x", "Type": "Int16"}]}`)},
		"ipAddress":                {ID: "a", Type: "Modbus"},
		"settings":                 {ID: "a", Type: "Simulation", Settings: settings(`{"Seed": `)},
	} {
		_, err := r.Create(t.Context(), def)
		require.ErrorIs(t, err, drivers.ErrInvalid, field)
		f, _ := fault.From(err)
		require.NotEmpty(t, f.Fields, field)
		require.Equal(t, field, f.Fields[0].Field)
	}
	for _, id := range []string{"a/b", ".", "..", "a\n", strings.Repeat("x", 129), "\xff"} {
		_, err := r.Create(t.Context(), drivers.Definition{ID: id, Type: "Simulation"})
		require.ErrorIs(t, err, drivers.ErrInvalid, id)
	}
	_, err := r.Create(t.Context(), drivers.Definition{ID: "a", Type: "Profinet"})
	f, _ := fault.From(err)
	require.Equal(t, fault.Invalid, f.Kind)
	require.Contains(t, err.Error(), "Modbus", "the known types are named")
	_, err = r.Create(t.Context(), drivers.Definition{ID: "a", Type: "Secretive", Settings: settings(`{"Host": "panic"}`)})
	require.ErrorIs(t, err, drivers.ErrInvalid)
	require.Empty(t, r.List())

	_, err = r.Create(t.Context(), drivers.Definition{ID: "a", Type: "Simulation"})
	require.NoError(t, err)
	_, err = r.Create(t.Context(), drivers.Definition{ID: "a", Type: "Simulation"})
	require.ErrorIs(t, err, drivers.ErrExists)
}

func TestSecretsAreNotShownAndKeptWhenTheMaskComesBack(t *testing.T) {
	repo := drivers.NewMemory()
	r := start(t, repo)
	made, err := r.Create(t.Context(), drivers.Definition{ID: "a", Type: "Secretive", Enabled: true, Settings: settings(
		`{"host": "h", "code": "s3cret", "Devices": [{"Name": "p", "Key": "kp"}, {"Name": "q", "Key": ""}, {"Name": "r", "Key": "kr"}]}`)})
	require.NoError(t, err)
	for _, shown := range []drivers.Info{made, r.List()[0]} {
		require.JSONEq(t, `{"host": "h", "code": "********", "Devices": [{"Name": "p", "Key": "********"}, {"Name": "q", "Key": ""}, {"Name": "r", "Key": "********"}]}`,
			string(shown.Settings))
	}
	// Sent back with another order of the devices, one less and one secret that is new.
	def := made.Definition
	def.Settings = settings(`{"Host": "h2", "Code": "********", "Devices": [{"Name": "r", "Key": "********"}, {"Name": "p", "Key": "new"}]}`)
	_, err = r.Update(t.Context(), def, nil)
	require.NoError(t, err)
	now := r.secret.last(t)
	require.Equal(t, "s3cret", now.Code)
	require.Equal(t, "kr", now.Devices[0].Key)
	require.Equal(t, "new", now.Devices[1].Key)
	stored, err := repo.Get(t.Context(), "a")
	require.NoError(t, err)
	require.Contains(t, string(stored.Settings), "s3cret")

	// The mask of nothing is no secret.
	def.Settings = settings(`{"Host": "h", "Devices": [{"Name": "new", "Key": "********"}]}`)
	_, err = r.Update(t.Context(), def, nil)
	require.ErrorIs(t, err, drivers.ErrInvalid)
	// A stored secret is for its device: nobody gets it sent to another one.
	def.Settings = settings(`{"Host": "h", "Code": "********"}`)
	for _, moved := range []drivers.Definition{{IPAddress: "10.9.9.9"}, {Port: 4711}} {
		moved.ID, moved.Type, moved.Settings = "a", "Secretive", def.Settings
		_, err = r.Update(t.Context(), moved, nil)
		require.ErrorContains(t, err, "must have the secret itself for another ipAddress or port")
		_, err = r.Test(t.Context(), moved, 0)
		require.ErrorContains(t, err, "must have the secret itself for another ipAddress or port")
		moved.Settings = settings(`{"Host": "h", "Code": "again"}`)
		_, err = r.Test(t.Context(), moved, 0)
		require.NoError(t, err)
		require.Equal(t, "again", r.secret.last(t).Code)
	}
	_, err = r.Create(t.Context(), drivers.Definition{ID: "b", Type: "Secretive", Settings: settings(`{"Host": "h", "Code": "********"}`)})
	require.ErrorIs(t, err, drivers.ErrInvalid)
	// A trial has the stored secrets as well.
	_, err = r.Test(t.Context(), drivers.Definition{ID: "a", Type: "Secretive", Settings: settings(`{"Host": "try", "Code": "********"}`)}, 0)
	require.NoError(t, err)
	require.Equal(t, "s3cret", r.secret.last(t).Code)
	require.Nil(t, r.Masked("none such", settings(`{"Code": "x"}`)))
	// The audit log has refused calls as well, and a secret under a wrong name is a secret.
	require.JSONEq(t, `{"Host": "h", "Cude": "********", "Devices": [{"Name": "p", "Kee": "********"}]}`,
		string(r.Masked("Secretive", settings(`{"Host": "h", "Cude": "s3cret", "Devices": [{"Name": "p", "Kee": "kp"}]}`))))
}

func TestTheStoreIsTheTruthAtTheNextStart(t *testing.T) {
	repo := drivers.NewMemory()
	for _, d := range []drivers.Definition{
		{ID: "good", Type: "Simulation", Enabled: true, PollInterval: 10 * time.Millisecond, Revision: 1},
		{ID: "off", Type: "Secretive", Settings: settings(`{"Host": "h", "Tags": ["x"]}`), Revision: 1},
		{ID: "unknown", Type: "Profinet", Enabled: true, Settings: settings(`{"Password": "x"}`), Revision: 1},
		{ID: "old", Type: "Simulation", Enabled: true, Settings: settings(`{"Removed": 1}`), Revision: 1},
		{ID: "both", Type: "Simulation", Enabled: true, Revision: 1},
	} {
		require.NoError(t, repo.Insert(t.Context(), d))
	}
	r := start(t, repo, func(d *drivers.Deps, _ *drivers.Options) {
		d.Fixed = []drivers.Fixed{{Definition: drivers.Definition{ID: "both", Type: "Secretive", Settings: settings(`{"Host": "h", "Code": "c"}`)}}}
	})
	r.good(t, "good.device1.tag1")
	require.Equal(t, tags.ReasonNoDriver, r.value(t, "off.x").Reason, "a driver that is disabled has its tags")
	byID := map[string]drivers.Info{}
	for _, i := range r.List() {
		byID[i.ID] = i
	}
	require.Len(t, byID, 5)
	require.Contains(t, byID["unknown"].Status.LastError, "Profinet")
	require.Nil(t, byID["unknown"].Settings, "nobody knows what is secret there")
	require.Contains(t, byID["old"].Status.LastError, "settings.Removed")
	require.Equal(t, tags.DriverStopped, byID["old"].Status.State)
	require.Equal(t, drivers.FromSettings, byID["both"].Origin)
	require.Equal(t, "Simulation", byID["both"].Shadowed.Type)
	require.JSONEq(t, `{"Host": "h", "Code": "********"}`, string(byID["both"].Settings))
	problems := r.Problems()
	require.Len(t, problems, 3)
	require.Contains(t, problems["both"], "settings")

	// What does not start can be mended, and what the settings have cannot be changed.
	_, err := r.Update(t.Context(), drivers.Definition{ID: "old", Type: "Simulation", Enabled: true}, nil)
	require.NoError(t, err)
	r.good(t, "old.device1.tag1")
	require.NoError(t, r.Delete(t.Context(), "unknown", nil))
	require.Len(t, r.Problems(), 1)
	_, err = r.Update(t.Context(), drivers.Definition{ID: "both", Type: "Simulation"}, nil)
	require.ErrorIs(t, err, drivers.ErrFromSettings)
	require.ErrorIs(t, r.Delete(t.Context(), "both", nil), drivers.ErrFromSettings)
	_, err = r.Create(t.Context(), drivers.Definition{ID: "both", Type: "Simulation"})
	require.ErrorIs(t, err, drivers.ErrExists)
}

func TestDriversOfOtherPartsAreShownOnly(t *testing.T) {
	r := start(t, nil)
	require.NoError(t, r.engine.AddDriver("bridge", &device{of: r.secret}, tags.DriverOptions{Type: "Bridge"}))
	list := r.List()
	require.Len(t, list, 1)
	require.Equal(t, drivers.FromPart, list[0].Origin)
	_, err := r.Update(t.Context(), drivers.Definition{ID: "bridge", Type: "Simulation"}, nil)
	require.ErrorIs(t, err, drivers.ErrFromPart)
	require.ErrorIs(t, r.Delete(t.Context(), "bridge", nil), drivers.ErrFromPart)
	_, err = r.Create(t.Context(), drivers.Definition{ID: "bridge", Type: "Simulation"})
	require.ErrorIs(t, err, drivers.ErrExists)
	require.False(t, r.Has("bridge"))
}

func TestARepositoryThatFailsChangesNothingOrWhatItHasStored(t *testing.T) {
	for _, late := range []bool{false, true} {
		repo := &broken{Repository: drivers.NewMemory(), late: late}
		r := start(t, repo)
		simulation := drivers.Definition{ID: "a", Type: "Secretive", Enabled: true, Settings: settings(`{"Host": "one", "Tags": ["x"]}`)}
		repo.fails = true
		_, err := r.Create(t.Context(), simulation)
		require.ErrorIs(t, err, errBroken)
		require.Equal(t, late, r.engine.HasDriver("a"))
		repo.fails = false
		if !late {
			_, err = r.Create(t.Context(), simulation)
			require.NoError(t, err)
		}
		repo.fails = true
		simulation.Settings = settings(`{"Host": "two", "Tags": ["x"]}`)
		_, err = r.Update(t.Context(), simulation, nil)
		require.ErrorIs(t, err, errBroken)
		now, err := r.Get("a")
		require.NoError(t, err)
		require.Equal(t, late, strings.Contains(string(now.Settings), "two"))
		stored, err := repo.Get(t.Context(), "a")
		require.NoError(t, err)
		require.Equal(t, stored.Revision, now.Revision, "or no later change would be taken")
		require.ErrorIs(t, r.Delete(t.Context(), "a", nil), errBroken)
		require.Equal(t, !late, r.engine.HasDriver("a"))
		require.Equal(t, !late, r.Has("a"))
	}
}

func TestThereIsALimit(t *testing.T) {
	r := start(t, nil, func(_ *drivers.Deps, o *drivers.Options) { o.MaxDrivers = 1 })
	_, err := r.Create(t.Context(), drivers.Definition{ID: "a", Type: "Simulation"})
	require.NoError(t, err)
	_, err = r.Create(t.Context(), drivers.Definition{ID: "b", Type: "Simulation"})
	require.ErrorIs(t, err, drivers.ErrTooMany)
}

func TestIdsOfPartsOfTheEngineAreReserved(t *testing.T) {
	r := start(t, nil)
	for _, id := range []string{"derived", "devices", "predictive", "~", "~templates"} {
		_, err := r.Create(t.Context(), drivers.Definition{ID: id, Type: "Secretive", Enabled: true, Settings: settings(`{"Host": "one"}`)})
		require.ErrorIs(t, err, drivers.ErrInvalid, id)
		f, _ := fault.From(err)
		require.Len(t, f.Fields, 1)
		require.Equal(t, "id", f.Fields[0].Field)
		require.Contains(t, f.Fields[0].Message, "is reserved")
	}
	for _, id := range []string{"derived1", "Devices", "a~"} {
		_, err := r.Create(t.Context(), drivers.Definition{ID: id, Type: "Secretive", Enabled: true, Settings: settings(`{"Host": "one"}`)})
		require.NoError(t, err, id)
	}
}
