package tagmap_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/aas/tagmap"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/simdriver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func pump() []tags.Tag {
	return []tags.Tag{
		{Name: "plc.Flow rate", Driver: "plc", DataType: tags.Float, Unit: "m³/h", Description: "Flow behind the pump"},
		{Name: "plc.flow.rate", Driver: "plc", DataType: tags.Float},
		{Name: "plc.3phase", Driver: "plc", DataType: tags.Bool},
		{Name: "plc.serial_number", Driver: "plc", DataType: tags.String},
		{Name: "plc.rated_power", Driver: "plc", DataType: tags.Float, Unit: "kW"},
		{Name: "plc.setpoint", Driver: "plc", DataType: tags.Int, Access: tags.ReadWrite},
		{Name: "plc.image", Driver: "plc", DataType: tags.Bytes},
	}
}

// paths returns the elements of each submodel with the tags that they are bound to.
func paths(list []*aas.Submodel) map[string][]string {
	all := make(map[string][]string)
	for _, s := range list {
		s.Walk(func(p aas.Path, e aas.Element) bool {
			for _, q := range e.Common().Qualifiers {
				if q.Type == repository.LiveQualifier {
					all[s.IDShort] = append(all[s.IDShort], p.String()+"="+*q.Value)
				}
			}
			return true
		})
	}
	return all
}

func TestDefaultRules(t *testing.T) {
	m, err := tagmap.NewMapper(tagmap.Options{})
	require.NoError(t, err)
	list := m.Submodels(tagmap.Equipment{ShellID: "urn:shell:1", Tags: pump()})
	require.Equal(t, map[string][]string{
		"OperationalData": {"T3phase=plc.3phase", "Flow_rate=plc.Flow rate", "flow_rate_2=plc.flow.rate", "setpoint=plc.setpoint"},
		"TechnicalData":   {"TechnicalProperties.rated_power=plc.rated_power"},
		"Nameplate":       {"SerialNumber=plc.serial_number"},
	}, paths(list))
	require.Len(t, list, 4)
	require.Equal(t, "urn:shell:1:TimeSeries", list[3].ID)
	e, err := list[3].Element(path(t, "Segments.flow_rate_2.Endpoint"))
	require.NoError(t, err)
	require.Equal(t, "/api/v1/tags/plc.flow.rate/history", *e.(*aas.Property).Value)
	for _, s := range list {
		require.NoError(t, s.Validate(), s.IDShort)
	}
	flow, err := list[0].Element(path(t, "Flow_rate"))
	require.NoError(t, err)
	require.Equal(t, aas.DataType("xs:double"), flow.(*aas.Property).ValueType)
	require.Equal(t, "m³/h", flow.Common().EmbeddedDataSpecifications[0].Content.Unit)
	require.Equal(t, "Flow behind the pump", flow.Common().Description[0].Text)
}

func TestRulesOfTheCategoryComeFirst(t *testing.T) {
	rules := []tagmap.Rule{
		{Units: []string{"m³/h"}, Target: tagmap.TechnicalData, IDShort: "Neutral"},
		{Category: "Pump", Name: "flow%", Types: []tags.DataType{tags.Float}, Target: tagmap.OperationalData,
			Collection: "Hydraulics", IDShort: "Flow", SemanticID: "0173-1#02-AAB123#001"},
		{Access: []tags.AccessMode{tags.ReadWrite}, Target: tagmap.OperationalData, Collection: "Setpoints"},
	}
	m, err := tagmap.NewMapper(tagmap.Options{Rules: rules, WithoutDefaults: true,
		SubmodelID: func(shell string, target tagmap.Target) string { return shell + "#" + string(target) }})
	require.NoError(t, err)
	got := m.Submodels(tagmap.Equipment{ShellID: "s", Category: "pump", Tags: pump()})
	require.Equal(t, map[string][]string{"OperationalData": {
		"Hydraulics.Flow=plc.Flow rate", "Hydraulics.Flow_2=plc.flow.rate", "Setpoints.setpoint=plc.setpoint",
	}}, paths(got))
	require.Equal(t, "s#OperationalData", got[0].ID)
	got = m.Submodels(tagmap.Equipment{ShellID: "s", Tags: pump()})
	require.Equal(t, map[string][]string{"OperationalData": {"Setpoints.setpoint=plc.setpoint"}, "TechnicalData": {"Neutral=plc.Flow rate"}}, paths(got))
}

func TestBadRules(t *testing.T) {
	for _, r := range []tagmap.Rule{
		{}, {Target: "Else"}, {Target: tagmap.OperationalData, IDShort: "1a"}, {Target: tagmap.OperationalData, Collection: "a b"},
		{Target: tagmap.TimeSeries, Collection: "A"}, {Target: tagmap.OperationalData, Name: strings.Repeat("x", 300)},
	} {
		_, err := tagmap.NewMapper(tagmap.Options{Rules: []tagmap.Rule{r}})
		require.ErrorContains(t, err, "rule 1", "%+v", r)
	}
}

func path(t *testing.T, s string) aas.Path {
	t.Helper()
	p, err := aas.ParsePath(s)
	require.NoError(t, err)
	return p
}

// engine runs a driver with a temperature that can be set and a counter.
func engine(t *testing.T) (*tags.Engine, []tags.Tag) {
	t.Helper()
	d, err := simdriver.New(simdriver.Options{Signals: []simdriver.Signal{
		{Name: "setpoint", Type: tags.Float, Access: tags.ReadWrite, Unit: "°C", Shape: simdriver.Hold, Min: 0, Max: 95, Initial: tags.FloatValue(65)},
		{Name: "mode", Type: tags.String, Shape: simdriver.Hold, Initial: tags.StringValue("auto")},
	}})
	require.NoError(t, err)
	list, err := d.Browse(t.Context())
	require.NoError(t, err)
	for i := range list {
		list[i].Driver, list[i].Name = "sim", "sim."+list[i].Name
	}
	e, err := tags.New(tags.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close(context.Background())) })
	require.NoError(t, e.AddDriver("sim", d, tags.DriverOptions{PollInterval: 5 * time.Millisecond, Tags: list}))
	require.Eventually(t, func() bool {
		s, err := e.Read("sim.setpoint")
		return err == nil && s.Sample.Quality == tags.Good
	}, time.Minute, time.Millisecond)
	return e, list
}

func TestLiveValues(t *testing.T) {
	e, list := engine(t)
	source, err := tagmap.NewSource(e, tagmap.SourceOptions{})
	require.NoError(t, err)
	s, err := repository.New(repository.NewMemory(), repository.Options{Values: source})
	require.NoError(t, err)
	shell := &aas.Shell{AssetInformation: aas.AssetInformation{AssetKind: aas.Instance, GlobalAssetID: "urn:asset"}}
	shell.ID, shell.IDShort = "urn:shell", "S"
	_, err = s.Shells.Create(t.Context(), shell)
	require.NoError(t, err)
	m, err := tagmap.NewMapper(tagmap.Options{})
	require.NoError(t, err)
	equipment := tagmap.Equipment{ShellID: "urn:shell", Tags: list}
	require.NoError(t, m.Sync(t.Context(), s, equipment))

	at, id := path(t, "setpoint"), "urn:shell:OperationalData"
	read := func() string {
		got, _, err := s.Element(t.Context(), id, at)
		require.NoError(t, err)
		return *got.(*aas.Property).Value
	}
	require.Equal(t, "65", read())
	_, err = s.SetValue(t.Context(), id, at, []byte(`"70.5"`), repository.Match{})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return read() == "70.5" }, time.Minute, time.Millisecond)
	sample, err := e.Read("sim.setpoint")
	require.NoError(t, err)
	require.Equal(t, tags.FloatValue(70.5), sample.Sample.Value)

	_, err = s.SetValue(t.Context(), id, at, []byte(`"200"`), repository.Match{})
	require.ErrorIs(t, err, tags.ErrInvalidValue, "outside of the tag's limits")
	_, err = s.SetValue(t.Context(), id, path(t, "mode"), []byte(`"manual"`), repository.Match{})
	require.ErrorIs(t, err, tags.ErrReadOnly)

	got, err := s.Shells.Get(t.Context(), "urn:shell")
	require.NoError(t, err)
	require.Len(t, got.Submodels, 2)
}

// strict returns a service as the engine has it, with one shell.
func strict(t *testing.T) *repository.Service {
	s, err := repository.New(repository.NewMemory(), repository.Options{})
	require.NoError(t, err)
	shell := &aas.Shell{AssetInformation: aas.AssetInformation{AssetKind: aas.Instance, GlobalAssetID: "urn:asset"}}
	shell.ID, shell.IDShort = "urn:shell", "Shell"
	_, err = s.Shells.Create(t.Context(), shell)
	require.NoError(t, err)
	return s
}

func TestEveryNameIsMapped(t *testing.T) {
	s := strict(t)
	m, err := tagmap.NewMapper(tagmap.Options{})
	require.NoError(t, err)
	long := strings.Repeat("a", 127)
	names := []string{"x", "X", "-", "_", "7", "é", "a---" + strings.Repeat("-", 130) + "b", long + "-b", long + "c", long + "cd", strings.Repeat("9", 200)}
	var list []tags.Tag
	for _, name := range names {
		list = append(list, tags.Tag{Name: "d." + name, Driver: "d", DataType: tags.Float})
	}
	require.NoError(t, m.Sync(t.Context(), s, tagmap.Equipment{ShellID: "urn:shell", Tags: list}))
	got, err := s.Submodels.Get(t.Context(), "urn:shell:OperationalData")
	require.NoError(t, err)
	require.Len(t, got.Elements, len(names))
}

func TestOneBadElementDoesNotStopTheOthers(t *testing.T) {
	s := strict(t)
	m, err := tagmap.NewMapper(tagmap.Options{})
	require.NoError(t, err)
	e := tagmap.Equipment{ShellID: "urn:shell", Tags: []tags.Tag{
		{Name: "d.bad", Driver: "d", DataType: tags.Float, Description: "no XML holds \x01"}, {Name: "d.good", Driver: "d", DataType: tags.Float},
		{Name: "d.rated_bad", Driver: "d", DataType: tags.Bool, Unit: "\x02"}, {Name: "d.rated_good", Driver: "d", DataType: tags.Bool},
	}}
	for range 2 { // new, and renewed
		err = m.Sync(t.Context(), s, e)
		require.ErrorIs(t, err, aas.ErrInvalidRequest)
		require.ErrorContains(t, err, "left out")
		for id, want := range map[string][]string{"urn:shell:OperationalData": {"good"}, "urn:shell:TimeSeries": {"Metadata", "Segments"}} {
			got, err := s.Submodels.Get(t.Context(), id)
			require.NoError(t, err)
			require.Len(t, got.Elements, len(want))
			for _, name := range want {
				_, err := got.Element(path(t, name))
				require.NoError(t, err)
			}
		}
		got, err := s.Submodels.Get(t.Context(), "urn:shell:TechnicalData")
		require.NoError(t, err)
		_, err = got.Element(path(t, "TechnicalProperties.rated_good"))
		require.NoError(t, err)
		_, err = got.Element(path(t, "TechnicalProperties.rated_bad"))
		require.ErrorIs(t, err, aas.ErrElementNotFound)
		shell, err := s.Shells.Get(t.Context(), "urn:shell")
		require.NoError(t, err)
		require.Len(t, shell.Submodels, 3)
	}
}

func TestSyncKeepsWhatPeopleAdded(t *testing.T) {
	s, err := repository.New(repository.NewMemory(), repository.Options{})
	require.NoError(t, err)
	m, err := tagmap.NewMapper(tagmap.Options{})
	require.NoError(t, err)
	e := tagmap.Equipment{ShellID: "urn:shell", Tags: pump()[:1]}
	require.ErrorIs(t, m.Sync(t.Context(), s, e), repository.ErrShellNotFound)
	shell := &aas.Shell{AssetInformation: aas.AssetInformation{AssetKind: aas.Instance, GlobalAssetID: "urn:asset"}}
	shell.ID, shell.IDShort = "urn:shell", "S"
	_, err = s.Shells.Create(t.Context(), shell)
	require.NoError(t, err)
	require.NoError(t, m.Sync(t.Context(), s, e))

	note := &aas.Property{ValueType: "xs:string", Value: new("by hand")}
	note.IDShort = "Note"
	_, err = s.InsertElement(t.Context(), "urn:shell:OperationalData", aas.Path{}, note, repository.Match{})
	require.NoError(t, err)
	before, err := s.Submodels.Document(t.Context(), "urn:shell:OperationalData")
	require.NoError(t, err)
	require.NoError(t, m.Sync(t.Context(), s, e))
	same, err := s.Submodels.Document(t.Context(), "urn:shell:OperationalData")
	require.NoError(t, err)
	require.Equal(t, before.Version, same.Version, "nothing differs, so nothing is written")

	e.Tags = append(pump()[5:6], e.Tags...)
	e.Tags[1].Unit = "l/s"
	require.NoError(t, m.Sync(t.Context(), s, e))
	now, err := s.Submodels.Get(t.Context(), "urn:shell:OperationalData")
	require.NoError(t, err)
	for _, want := range []string{"Flow_rate", "Note", "setpoint"} {
		_, err := now.Element(path(t, want))
		require.NoError(t, err, want)
	}
	flow, err := now.Element(path(t, "Flow_rate"))
	require.NoError(t, err)
	require.Equal(t, "l/s", flow.Common().EmbeddedDataSpecifications[0].Content.Unit)
}

func TestTheSourceTellsATagWithoutAValueFromNone(t *testing.T) {
	e, _ := engine(t)
	require.NoError(t, e.DefineTags(tags.Tag{Name: "plc.late", Driver: "plc", DataType: tags.Float}))
	source, err := tagmap.NewSource(e, tagmap.SourceOptions{})
	require.NoError(t, err)
	got, err := source.Values(t.Context(), []string{"sim.setpoint", "plc.late", "none"})
	require.NoError(t, err)
	require.Equal(t, repository.LiveValue{Value: "65", Known: true, Quality: "Good", At: got[0].At}, got[0])
	require.WithinDuration(t, time.Now(), got[0].At, time.Minute)
	require.True(t, got[1].Known && got[1].Empty)
	require.Equal(t, "Bad", got[1].Quality)
	require.NotEmpty(t, got[1].Reason)
	require.Zero(t, got[2])
}

func TestTheSourceReportsChanges(t *testing.T) {
	e, _ := engine(t)
	source, err := tagmap.NewSource(e, tagmap.SourceOptions{})
	require.NoError(t, err)
	notices, err := source.Notify([]string{"sim.setpoint", "none"})
	require.NoError(t, err)
	defer notices.Close()
	names, err := notices.Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"sim.setpoint"}, names, "first what there is")
	require.NoError(t, source.Write(t.Context(), "sim.setpoint", "66"))
	names, err = notices.Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"sim.setpoint"}, names)
	notices.Close()
	_, err = notices.Next(t.Context())
	require.ErrorIs(t, err, tags.ErrClosed)

	none, err := source.Notify([]string{"none"})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err = none.Next(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	none.Close()
}
