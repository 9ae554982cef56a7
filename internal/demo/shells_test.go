package demo_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/netcompliance"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/aas/tagmap"
	"github.com/otkit/otkit/internal/demo"
	"github.com/otkit/otkit/tags"
)

// shells are the demo's shells over its plant.
func shells(t *testing.T) (s *repository.Service, fill func()) {
	t.Helper()
	driver, list, err := demo.NewDriver(nil)
	require.NoError(t, err)
	engine, err := tags.New(tags.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, engine.Close(context.Background())) })
	require.NoError(t, engine.AddDriver(demo.DriverID, driver, tags.DriverOptions{PollInterval: 20 * time.Millisecond, Tags: list}))
	require.Eventually(t, func() bool {
		snapshot, err := engine.Read("sim.recipe")
		return err == nil && snapshot.Sample.Quality == tags.Good
	}, time.Minute, 5*time.Millisecond)

	source, err := tagmap.NewSource(engine, tagmap.SourceOptions{})
	require.NoError(t, err)
	s, err = repository.New(repository.NewMemory(), repository.Options{Values: source})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.Background())) })
	mapper, err := tagmap.NewMapper(tagmap.Options{})
	require.NoError(t, err)
	fill = func() { require.NoError(t, demo.FillShells(t.Context(), s, mapper, list)) }
	fill()
	return s, fill
}

func TestThreeShellsWithTheirSubmodels(t *testing.T) {
	s, _ := shells(t)
	count := 0
	for shell, err := range s.Shells.All(t.Context(), repository.Query{}) {
		require.NoError(t, err)
		count++
		require.NoError(t, shell.Validate())
		list, err := s.SubmodelsOf(t.Context(), shell.ID)
		require.NoError(t, err)
		require.Len(t, list, len(shell.Submodels), "every reference leads somewhere")
		names := map[string]bool{}
		for _, item := range list {
			m, err := aas.Decode[aas.Submodel](item.Document.JSON)
			require.NoError(t, err)
			require.NoError(t, m.Validate(), "with live values too")
			require.NotNil(t, m.SemanticID)
			require.NotEmpty(t, m.Elements)
			names[m.IDShort] = true
		}
		for _, name := range []string{"Nameplate", "TechnicalData", "OperationalData"} {
			require.True(t, names[name], "%s has no %s", shell.IDShort, name)
		}
	}
	require.Equal(t, 3, count)
}

func TestOperationalDataAreLive(t *testing.T) {
	s, _ := shells(t)
	for submodel, elements := range map[string]map[string]aas.DataType{
		"ReactorR101":     {"setpoint": "xs:double", "temperature": "xs:double", "speed": "xs:long"},
		"PumpP102":        {"pressure": "xs:double", "vibration": "xs:double"},
		"FillingLineL201": {"counter": "xs:long", "running": "xs:boolean", "recipe": "xs:string"},
	} {
		id := "https://demo.otkit.example/aas/" + submodel + "/OperationalData"
		m, err := s.Submodels.Get(t.Context(), id)
		require.NoError(t, err)
		require.Len(t, m.Elements, len(elements))
		for idShort, valueType := range elements {
			e, err := m.Element(aas.Path{{IDShort: idShort}})
			require.NoError(t, err)
			p := e.(*aas.Property)
			require.Equal(t, valueType, p.ValueType)
			require.NotNil(t, p.Value, idShort)
			require.NoError(t, aas.ValidateLexical(p.ValueType, *p.Value))
		}
	}
	value := func() string {
		m, err := s.Submodels.Get(t.Context(), "https://demo.otkit.example/aas/ReactorR101/OperationalData")
		require.NoError(t, err)
		e, err := m.Element(aas.Path{{IDShort: "speed"}})
		require.NoError(t, err)
		return *e.(*aas.Property).Value
	}
	_, err := s.SetValue(t.Context(), "https://demo.otkit.example/aas/ReactorR101/OperationalData", aas.Path{{IDShort: "speed"}}, []byte(`"1234"`), repository.Match{})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return value() == "1234" }, time.Minute, 5*time.Millisecond)
}

func TestShellsAreFoundAsUsersLookForThem(t *testing.T) {
	s, _ := shells(t)
	for _, q := range []repository.Search{
		{IDShort: "pump"}, {GlobalAssetID: "https://demo.otkit.example/asset/P102-2023-2206"},
		{AssetIDs: []aas.SpecificAssetID{{Name: "serialNumber", Value: "P102-2023-2206"}}},
		{AssetIDs: []aas.SpecificAssetID{{Name: "equipmentCategory", Value: "Pump"}}, AssetKind: aas.Instance, SubmodelType: "nameplate"},
	} {
		q.Limit = 10
		page, err := s.Search(t.Context(), q)
		require.NoError(t, err)
		require.Equal(t, 1, page.Total, "%+v", q)
		require.Equal(t, "PumpP102", page.Documents[0].IDShort)
	}
}

func TestShellsAreFilledInOnce(t *testing.T) {
	s, fill := shells(t)
	const id = "https://demo.otkit.example/aas/PumpP102"
	_, err := s.Shells.Update(t.Context(), id, repository.Match{}, func(shell *aas.Shell) error {
		shell.IDShort = "Renamed"
		return nil
	})
	require.NoError(t, err)
	fill()
	shell, err := s.Shells.Get(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, "Renamed", shell.IDShort, "what people have changed stays")

	for shell, err := range s.Shells.All(t.Context(), repository.Query{}) {
		require.NoError(t, err)
		require.NoError(t, s.Shells.Delete(t.Context(), shell.ID, repository.Match{}))
		fill()
		_, err = s.Shells.Get(t.Context(), shell.ID)
		require.ErrorIs(t, err, repository.ErrShellNotFound, "and what they have removed stays away")
	}
}

func TestTheNetworkOfEveryShellIsKnown(t *testing.T) {
	s, _ := shells(t)
	provider, err := netcompliance.New(netcompliance.SourceFunc(demo.NetworkFacts), netcompliance.Options{})
	require.NoError(t, err)
	levels := map[string]bool{}
	for shell, err := range s.Shells.All(t.Context(), repository.Query{}) {
		require.NoError(t, err)
		list, err := provider.Submodels(t.Context(), shell)
		require.NoError(t, err)
		require.Len(t, list, 1, shell.IDShort)
		var item struct {
			Elements []struct{ IDShort, Value string }
		}
		require.NoError(t, json.Unmarshal(list[0].JSON, &item))
		require.Equal(t, "OverallLevel", item.Elements[0].IDShort)
		levels[item.Elements[0].Value] = true
	}
	require.Equal(t, map[string]bool{"Compliant": true, "PartlyCompliant": true, "NonCompliant": true}, levels, "one of each to look at")
}
