package discoverypart

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/discovery/link"
)

// brokenStore cannot be searched.
type brokenStore struct {
	*repository.Memory
	reads atomic.Int64
}

func (s *brokenStore) Find(context.Context, repository.Query) (repository.Page, error) {
	s.reads.Add(1)
	return repository.Page{}, errors.New("disk is full")
}

func TestShellsThatFailAreTriedLessAndLess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &brokenStore{Memory: repository.NewMemory()}
		service, err := repository.New(store, repository.Options{})
		require.NoError(t, err)
		s, err := newShells(service, slog.New(slog.DiscardHandler), everywhere, func(string, string) {})
		require.NoError(t, err)
		s.add(link.Manifest{BridgeID: "press-1"})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.run(ctx)
		}()
		time.Sleep(time.Hour)
		require.Greater(t, store.reads.Load(), int64(55))
		require.Less(t, store.reads.Load(), int64(75))
		before := store.reads.Load()
		s.add(link.Manifest{BridgeID: "press-1"})
		time.Sleep(time.Second)
		require.Equal(t, before+1, store.reads.Load(), "a change is tried soon")
		s.forget("press-1")
		time.Sleep(time.Hour)
		require.Equal(t, before+1, store.reads.Load(), "a bridge that is not bound any more has no shell made")
		cancel()
		<-done
	})
}

// everywhere is an engine that is alone.
func everywhere(string) bool { return true }

// A shell is made by the engine that looks after its bridge. The others know that it is the bridge's.
func TestShellsAreMadeByOneEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, err := repository.New(repository.NewMemory(), repository.Options{})
		require.NoError(t, err)
		var ours atomic.Bool
		s, err := newShells(service, slog.New(slog.DiscardHandler), func(string) bool { return ours.Load() }, func(string, string) {})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.run(ctx)
		}()
		made := func() bool {
			_, err := service.Shells.Get(t.Context(), ShellID("press-1"))
			return err == nil
		}
		m := link.Manifest{BridgeID: "press-1", DriverID: "press", DriverType: "Modbus"}
		s.add(m)
		time.Sleep(time.Minute)
		require.False(t, made())
		require.True(t, s.isShell(ShellID("press-1")))
		s.add(link.Manifest{BridgeID: "press-1", Shell: &link.Shell{ID: "urn:press", IDShort: "Press", AssetKind: "Instance", GlobalAssetID: "urn:asset"}})
		require.True(t, s.isShell("urn:press"))
		require.False(t, s.isShell(ShellID("press-1")))

		ours.Store(true)
		s.add(m)
		ours.Store(false) // it moves before its shell is made
		time.Sleep(time.Minute)
		require.False(t, made())
		ours.Store(true)
		s.add(m)
		time.Sleep(time.Second)
		require.True(t, made())
		cancel()
		<-done
	})
}

// house has the shells of bridges.
type house struct {
	t *testing.T
	*shells
	problems map[string]string
}

func newHouse(t *testing.T) *house {
	service, err := repository.New(repository.NewMemory(), repository.Options{})
	require.NoError(t, err)
	h := &house{t: t, problems: map[string]string{}}
	h.shells, err = newShells(service, slog.New(slog.DiscardHandler), everywhere, func(bridge, problem string) { h.problems[bridge] = problem })
	require.NoError(t, err)
	return h
}

// bring has a manifest of a bridge whose shell has an id, and what a bridge says about the tags that it has.
func (h *house) bring(bridge, shell string, active ...string) link.Manifest {
	h.t.Helper()
	m := link.Manifest{BridgeID: bridge, DriverID: "d" + bridge, DriverType: "Modbus", ActiveSubmodels: active,
		AvailableSubmodels: []string{"OperationalData", "TechnicalData", "Nameplate", "TimeSeries"},
		Tags:               []link.ManifestTag{{Name: "force", DataType: "Float"}},
		Shell:              &link.Shell{ID: shell, IDShort: "Press", AssetKind: "Instance", GlobalAssetID: "urn:asset:" + bridge}}
	h.bringAll(m)
	return m
}

func (h *house) bringAll(m link.Manifest) {
	h.t.Helper()
	h.add(m)
	for _, p := range h.take() {
		require.NoError(h.t, h.sync(h.t.Context(), p))
	}
}

// shell returns the ids of the submodels of a shell; nil if it is not there.
func (h *house) shell(id string) (submodels []string) {
	h.t.Helper()
	shell, err := h.service.Shells.Get(h.t.Context(), id)
	if errors.Is(err, repository.ErrShellNotFound) {
		return nil
	}
	require.NoError(h.t, err)
	submodels = []string{}
	for _, r := range shell.Submodels {
		submodels = append(submodels, target(r))
	}
	return submodels
}

func (h *house) elements(submodel string) (names []string) {
	h.t.Helper()
	m, err := h.service.Submodels.Get(h.t.Context(), submodel)
	if errors.Is(err, repository.ErrSubmodelNotFound) {
		return nil
	}
	require.NoError(h.t, err)
	names = []string{}
	for _, e := range m.Elements {
		name := e.Common().IDShort
		switch e := e.(type) {
		case *aas.Property:
			if e.Value != nil {
				name += "=" + *e.Value
			}
		case *aas.MultiLanguageProperty:
			name += "=" + e.Value[0].Text
		}
		names = append(names, name)
	}
	return names
}

// person adds a property to a submodel, which is made if need be.
func (h *house) person(submodel, idShort string) {
	h.t.Helper()
	p := &aas.Property{ValueType: "xs:string", Value: new("mine")}
	p.IDShort = idShort
	m := &aas.Submodel{Elements: []aas.Element{p}}
	m.ID, m.IDShort = submodel, "Own"
	_, err := h.service.Submodels.Update(h.t.Context(), submodel, repository.Match{}, func(m *aas.Submodel) error {
		m.Elements = append(m.Elements, p)
		return nil
	})
	if errors.Is(err, repository.ErrSubmodelNotFound) {
		_, err = h.service.Submodels.Create(h.t.Context(), m)
	}
	require.NoError(h.t, err)
}

func TestTheShellFollowsTheConfigurationOfTheBridge(t *testing.T) {
	h := newHouse(t)
	m := h.bring("1", "urn:press", "OperationalData", "TimeSeries")
	require.Equal(t, []string{"urn:press:OperationalData", "urn:press:TimeSeries"}, h.shell("urn:press"))
	require.True(t, h.isShell("urn:press"))
	require.Equal(t, []string{"force"}, h.elements("urn:press:OperationalData"))
	shell, err := h.service.Shells.Get(t.Context(), "urn:press")
	require.NoError(t, err)
	require.Equal(t, "Press", shell.IDShort)
	require.Equal(t, "urn:asset:1", shell.AssetInformation.GlobalAssetID)
	require.Contains(t, shell.AssetInformation.SpecificAssetIDs, aas.SpecificAssetID{Name: "bridgeId", Value: "1"})

	m.Shell.IDShort, m.Shell.GlobalAssetID, m.Shell.Nameplate = "Press7", "urn:asset:7", link.Nameplate{ManufacturerName: "Acme", SerialNumber: "7"}
	m.ActiveSubmodels = []string{"OperationalData", "Nameplate"}
	h.bringAll(m)
	require.Equal(t, []string{"urn:press:OperationalData", "urn:press:Nameplate"}, h.shell("urn:press"))
	require.Nil(t, h.elements("urn:press:TimeSeries"), "the submodel is gone too")
	require.Equal(t, []string{"ManufacturerName=Acme", "SerialNumber=7"}, h.elements("urn:press:Nameplate"))
	shell, err = h.service.Shells.Get(t.Context(), "urn:press")
	require.NoError(t, err)
	require.Equal(t, "Press7", shell.IDShort)
	require.Equal(t, "urn:asset:7", shell.AssetInformation.GlobalAssetID)

	h.person("urn:press:Nameplate", "Weight")
	m.Shell.Nameplate = link.Nameplate{ManufacturerName: "Acme Presses"}
	h.bringAll(m)
	require.Equal(t, []string{"ManufacturerName=Acme Presses", "Weight=mine"}, h.elements("urn:press:Nameplate"))
}

func TestAShellWithAnotherIDTakesThePlaceOfTheFormerOne(t *testing.T) {
	h := newHouse(t)
	h.bring("1", ShellID("1"), "OperationalData", "Nameplate", "TimeSeries")
	h.person("urn:own", "Manual")
	h.person(ShellID("1")+":Nameplate", "Weight")
	_, err := h.service.Shells.Update(t.Context(), ShellID("1"), repository.Match{}, func(s *aas.Shell) error {
		s.Submodels = append(s.Submodels, aas.RefTo("urn:own"))
		s.Description = []aas.LangString{{Language: "en", Text: "hall 3"}}
		return nil
	})
	require.NoError(t, err)

	h.bring("1", "https://example.com/press", "OperationalData", "Nameplate")
	require.Nil(t, h.shell(ShellID("1")))
	for _, name := range []string{"OperationalData", "Nameplate", "TimeSeries"} {
		require.Nil(t, h.elements(ShellID("1")+":"+name), name)
	}
	require.Equal(t, []string{"urn:own", "https://example.com/press/OperationalData", "https://example.com/press/Nameplate"}, h.shell("https://example.com/press"))
	require.Equal(t, []string{"Weight=mine"}, h.elements("https://example.com/press/Nameplate"), "what a person has added stays")
	require.Equal(t, []string{"Manual=mine"}, h.elements("urn:own"))
	shell, err := h.service.Shells.Get(t.Context(), "https://example.com/press")
	require.NoError(t, err)
	require.Equal(t, "hall 3", shell.Description[0].Text)
	require.Empty(t, h.problems["1"])
}

func TestTheShellOfSomebodyElseIsNotTouched(t *testing.T) {
	h := newHouse(t)
	mine := &aas.Shell{AssetInformation: aas.AssetInformation{AssetKind: aas.Instance, GlobalAssetID: "urn:asset:mine"}}
	mine.ID, mine.IDShort = "urn:mine", "Mine"
	_, err := h.service.Shells.Create(t.Context(), mine)
	require.NoError(t, err)
	before, err := h.service.Shells.Document(t.Context(), "urn:mine")
	require.NoError(t, err)
	h.bring("1", "urn:press", "OperationalData")

	h.bring("2", "urn:mine", "OperationalData")
	require.Contains(t, h.problems["2"], "urn:mine")
	require.Equal(t, []string{ShellID("2") + ":OperationalData"}, h.shell(ShellID("2")))
	h.bring("3", "urn:press", "OperationalData", "Nameplate")
	require.Contains(t, h.problems["3"], "urn:press")
	require.Equal(t, []string{"urn:press:OperationalData"}, h.shell("urn:press"))
	h.bring("1", "urn:mine", "OperationalData")
	require.Equal(t, []string{ShellID("1") + ":OperationalData"}, h.shell(ShellID("1")))
	require.Nil(t, h.shell("urn:press"))

	after, err := h.service.Shells.Document(t.Context(), "urn:mine")
	require.NoError(t, err)
	require.Equal(t, before, after)
	require.False(t, h.isShell("urn:mine"))

	h.forget("3")
	h.again(h.pending["2"], 0)
	h.again(pendingShell{manifest: link.Manifest{BridgeID: "3"}}, 0)
	require.NotContains(t, h.pending, "3", "it was unbound while its shell was made")
	require.NoError(t, h.service.Shells.Delete(t.Context(), "urn:mine", repository.Match{}))
	p := h.pending["2"]
	require.NoError(t, h.sync(t.Context(), p), "it is tried again")
	require.Empty(t, h.problems["2"])
	require.Equal(t, []string{"urn:mine:OperationalData"}, h.shell("urn:mine"))
	require.Nil(t, h.shell(ShellID("2")))
}

func TestASubmodelThatOthersHaveStays(t *testing.T) {
	h := newHouse(t)
	h.bring("1", "urn:press", "OperationalData", "TimeSeries", "Nameplate")
	h.person("urn:press:TechnicalData", "Power")
	line := &aas.Shell{AssetInformation: aas.AssetInformation{AssetKind: aas.Instance, GlobalAssetID: "urn:asset:line"}, Submodels: []aas.Reference{aas.RefTo("urn:press:TimeSeries")}}
	line.ID, line.IDShort = "urn:line", "Line"
	_, err := h.service.Shells.Create(t.Context(), line)
	require.NoError(t, err)
	_, err = h.service.Shells.Update(t.Context(), "urn:press", repository.Match{}, func(s *aas.Shell) error {
		s.Submodels = append(s.Submodels, aas.RefTo("urn:press:TechnicalData"))
		return nil
	})
	require.NoError(t, err)
	h.bring("1", "urn:press", "OperationalData")
	require.Equal(t, []string{"urn:press:OperationalData", "urn:press:TechnicalData"}, h.shell("urn:press"))
	require.NotNil(t, h.elements("urn:press:TimeSeries"), "another shell has it")
	require.NotNil(t, h.elements("urn:press:TechnicalData"), "a person has made it")
	require.Nil(t, h.elements("urn:press:Nameplate"))
}

func TestABridgeDoesNotTakeTheShellOfAnother(t *testing.T) {
	h := newHouse(t)
	h.bring("1", "urn:press", "OperationalData")
	h.bring("2", ShellID("1"), "OperationalData")
	require.Contains(t, h.problems["2"], "the id "+ShellID("1")+" is that of the shell of bridge 1")
	require.NotNil(t, h.shell(ShellID("2")))
	h.bring("1", ShellID("1"), "OperationalData")
	require.Empty(t, h.problems["1"])
	require.Equal(t, []string{ShellID("1") + ":OperationalData"}, h.shell(ShellID("1")))
	h.bring("2", ShellID("2")+":7", "OperationalData")
	require.Empty(t, h.problems["2"])
}

// A bridge that starts without its device may have no tags at first.
func TestASubmodelWhoseTagsAreMissingComesBackWithWhatPeopleHaveAdded(t *testing.T) {
	h := newHouse(t)
	m := h.bring("1", "urn:press", "OperationalData", "Nameplate", "TimeSeries")
	h.person("urn:press:OperationalData", "Limit")
	h.person("urn:press:Nameplate", "Weight")
	full := m
	m.Tags, m.AvailableSubmodels, m.ActiveSubmodels = nil, []string{"Nameplate"}, []string{}
	h.bringAll(m)
	require.Empty(t, h.shell("urn:press"))
	require.Nil(t, h.elements("urn:press:Nameplate"), "it was deactivated")
	h.bringAll(full)
	require.Equal(t, []string{"urn:press:OperationalData", "urn:press:Nameplate", "urn:press:TimeSeries"}, h.shell("urn:press"))
	require.Equal(t, []string{"force", "Limit=mine"}, h.elements("urn:press:OperationalData"))

	other := *m.Shell
	m.Shell, other.ID = &other, "urn:press:7"
	h.bringAll(m)
	require.Empty(t, h.shell("urn:press:7"))
	require.Equal(t, []string{"force", "Limit=mine"}, h.elements("urn:press:OperationalData"))
}

// A person may have made the shell that the bridge is then configured to have.
func TestTheShellThatAPersonHasMadeTakesOverWhatPeopleHaveAdded(t *testing.T) {
	h := newHouse(t)
	h.bring("1", "urn:press", "OperationalData", "TimeSeries")
	require.True(t, h.isShell("urn:press"))
	h.person("urn:own", "Manual")
	h.person("urn:press:OperationalData", "Limit")
	h.person("urn:new:OperationalData", "Setpoint")
	_, err := h.service.Shells.Update(t.Context(), "urn:press", repository.Match{}, func(s *aas.Shell) error {
		s.Submodels = append(s.Submodels, aas.RefTo("urn:own"))
		return nil
	})
	require.NoError(t, err)
	mine := &aas.Shell{AssetInformation: aas.AssetInformation{AssetKind: aas.Instance, GlobalAssetID: "urn:asset:1", SpecificAssetIDs: []aas.SpecificAssetID{bridgeAsset("1")}}}
	mine.ID, mine.IDShort = "urn:new", "Mine"
	_, err = h.service.Shells.Create(t.Context(), mine)
	require.NoError(t, err)

	h.bring("1", "urn:new", "OperationalData", "TimeSeries")
	require.Empty(t, h.problems["1"])
	require.Nil(t, h.shell("urn:press"))
	require.Equal(t, []string{"urn:new:OperationalData", "urn:new:TimeSeries", "urn:own"}, h.shell("urn:new"))
	require.Equal(t, []string{"Setpoint=mine", "force"}, h.elements("urn:new:OperationalData"))
	require.Equal(t, []string{"force", "Limit=mine"}, h.elements("urn:press:OperationalData"), "it could not be brought")
	require.Nil(t, h.elements("urn:press:TimeSeries"))
	require.True(t, h.isShell("urn:new"))
	require.False(t, h.isShell("urn:press"))
	h.forget("1")
	h.note("urn:new", "1")
	require.False(t, h.isShell("urn:new"), "it was unbound while its shell was made")
}

func TestAShellThatIsNotValidHasItsDefaultID(t *testing.T) {
	h := newHouse(t)
	h.bring("1", "", "OperationalData", "Service log")
	require.Contains(t, h.problems["1"], "not valid")
	require.Equal(t, []string{ShellID("1") + ":OperationalData", ShellID("1") + ":Service log"}, h.shell(ShellID("1")))
	m := h.bring("2", ".", "OperationalData")
	require.NotEmpty(t, h.problems["2"])
	require.NotNil(t, h.shell(ShellID("2")))
	m.Shell = nil
	h.bringAll(m)
	require.Empty(t, h.problems["2"])
}
