package devicespart_test

import (
	"bytes"
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/simdriver"
	"github.com/otkit/otkit/transport/aasapi/aaspart"
	"github.com/otkit/otkit/transport/alarmsapi/alarmspart"
	"github.com/otkit/otkit/transport/devicesapi/devicespart"
	"github.com/otkit/otkit/transport/server"
	"github.com/otkit/otkit/transport/tagsapi/tagspart"
)

// house is a server's parts that know of devices. It is for use within a bubble.
type house struct {
	t       *testing.T
	tags    *tagspart.Tags
	alarms  *alarmspart.Alarms
	aas     *aaspart.AAS
	part    *devicespart.Devices
	service *devices.Service
	log     bytes.Buffer
	stop    func() // the jobs
}

func newHouse(t *testing.T, stores repository.Store, list devices.Store, o devicespart.Options, drivers ...tagspart.Driver) *house {
	t.Helper()
	h := &house{t: t}
	log := slog.New(slog.NewTextHandler(&h.log, nil))
	var err error
	h.tags, err = tagspart.New(t.Context(), tagspart.Options{ModelPath: filepath.Join(t.TempDir(), "model.json"), Drivers: drivers})
	require.NoError(t, err)
	h.alarms, err = alarmspart.New(t.Context(), h.tags, alarmspart.Options{})
	require.NoError(t, err)
	h.aas, err = aaspart.New(t.Context(), h.tags, aaspart.Options{Store: stores})
	require.NoError(t, err)
	o.Store, o.Logger = list, log
	h.part, err = devicespart.New(t.Context(), h.tags, h.alarms, h.aas, o)
	require.NoError(t, err)
	h.service = h.part.Service()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	jobs := h.part.Part().Jobs
	for _, job := range jobs {
		go func() { job(ctx); done <- struct{}{} }()
	}
	h.stop = func() {
		cancel()
		for range jobs {
			<-done
		}
		cancelled := context.Background()
		parts := []server.Part{h.tags.Part(), h.alarms.Part(), h.aas.Part(), h.part.Part()}
		require.NoError(t, server.CloseParts(cancelled, parts...))
	}
	return h
}

func (h *house) create(id, name string) {
	h.t.Helper()
	_, err := h.service.Create(h.t.Context(), id, name, "")
	require.NoError(h.t, err)
}

func (h *house) report(id string, r devices.Telemetry) {
	h.t.Helper()
	require.NoError(h.t, h.service.Report(id, r))
}

// elements returns the values of the operational data of a device.
func (h *house) elements(id string) map[string]string {
	h.t.Helper()
	m, err := h.aas.Service().Submodels.Get(h.t.Context(), devicespart.ShellID(id)+":OperationalData")
	require.NoError(h.t, err)
	found := map[string]string{}
	for _, e := range m.Elements {
		p := e.(*aas.Property)
		found[p.IDShort] = ""
		if p.Value != nil {
			found[p.IDShort] = *p.Value
		}
	}
	return found
}

func (h *house) shell(id string) *aas.Shell {
	h.t.Helper()
	s, err := h.aas.Service().Shells.Get(h.t.Context(), devicespart.ShellID(id))
	require.NoError(h.t, err)
	return s
}

func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func idle(x float64) devices.Telemetry {
	return devices.Telemetry{State: devices.Idle, Pose: &devices.Pose{Map: "hall", X: x}}
}

func TestDevicesShowInTheHouse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, repository.NewMemory(), devices.NewMemory(), devicespart.Options{})
		defer h.stop()
		require.False(t, h.tags.Engine().HasDriver("devices"), "there is none without devices")
		h.create("agv:1", "Robot")
		h.report("agv:1", idle(1.5))
		pass(5 * time.Second)

		x, known := h.tags.Current("devices.agv:1.x")
		require.True(t, known)
		require.Equal(t, tags.FloatValue(1.5), x.Sample.Value)
		require.Equal(t, tags.Good, x.Sample.Quality)

		s := h.shell("agv:1")
		require.NoError(t, s.Validate())
		require.Equal(t, "agv_1", s.IDShort)
		require.Equal(t, "Robot", s.DisplayName[0].Text)
		require.Len(t, s.Submodels, 1)
		require.Equal(t, map[string]string{"state": "Idle", "emergencyStop": "false", "faults": "", "loads": "", "map": "hall", "positionX": "1.5", "positionY": "0", "theta": "0"},
			h.elements("agv:1"))
		h.report("agv:1", idle(2.5))
		pass(2 * time.Second)
		require.Equal(t, "2.5", h.elements("agv:1")["positionX"], "it is live")

		broken := idle(2.5)
		broken.Faults = []string{"drive blocked"}
		h.report("agv:1", broken)
		pass(2 * time.Second)
		active, err := h.alarms.Service().Active(t.Context())
		require.NoError(t, err)
		require.Len(t, active, 1)
		require.Equal(t, "agv:1", active[0].Source)
		require.True(t, h.part.IsShell("urn:otkit:device:agv:1"))
		require.False(t, h.part.IsShell("urn:otkit:device:agv:2"))

		_, err = h.service.Change(t.Context(), "agv:1", devices.Decommission)
		require.NoError(t, err)
		pass(5 * time.Second)
		_, known = h.tags.Current("devices.agv:1.x")
		require.False(t, known, "its tags are gone")
		require.Len(t, h.shell("agv:1").Submodels, 1, "the shell stays")
		require.Contains(t, h.elements("agv:1"), "positionX")
		active, err = h.alarms.Service().Active(t.Context())
		require.NoError(t, err)
		require.Empty(t, active)
	})
}

func TestWhatPeopleHaveChangedInAShellStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shells, list := repository.NewMemory(), devices.NewMemory()
		h := newHouse(t, shells, list, devicespart.Options{})
		h.create("1", "\x01")
		h.create("agv-2", "Robot 2")
		h.create("gone", "Robot 3")
		pass(5 * time.Second)
		require.Equal(t, "Device_1", h.shell("1").IDShort)
		require.Empty(t, h.shell("1").DisplayName, "a name that no document can hold")
		require.Equal(t, map[string]string{"state": "Offline"}, h.elements("agv-2"))

		service := h.aas.Service()
		_, err := service.Shells.Update(t.Context(), devicespart.ShellID("agv-2"), repository.Match{}, func(s *aas.Shell) error {
			s.IDShort = "Renamed"
			return nil
		})
		require.NoError(t, err)
		_, err = service.Submodels.Update(t.Context(), devicespart.ShellID("agv-2")+":OperationalData", repository.Match{}, func(m *aas.Submodel) error {
			p := &aas.Property{ValueType: "xs:string", Value: new("Ann")}
			p.IDShort = "owner"
			m.Elements = append(m.Elements, p)
			return nil
		})
		require.NoError(t, err)
		require.NoError(t, service.Shells.Delete(t.Context(), devicespart.ShellID("gone"), repository.Match{}))
		h.report("agv-2", idle(1))
		h.report("gone", idle(1))
		pass(5 * time.Second)
		require.Equal(t, "Renamed", h.shell("agv-2").IDShort)
		require.Equal(t, "Ann", h.elements("agv-2")["owner"])
		require.Equal(t, "1", h.elements("agv-2")["positionX"], "what it reports now has been added")
		_, err = service.Shells.Get(t.Context(), devicespart.ShellID("gone"))
		require.ErrorIs(t, err, repository.ErrShellNotFound)
		h.stop()
		require.NotContains(t, h.log.String(), "level=ERROR")

		h = newHouse(t, shells, list, devicespart.Options{})
		defer h.stop()
		pass(5 * time.Second)
		require.Equal(t, "Renamed", h.shell("agv-2").IDShort)
		require.Equal(t, "Ann", h.elements("agv-2")["owner"])
		require.Equal(t, "gone", h.shell("gone").IDShort, "a shell that is missing at the start is made")
	})
}

func TestTagsAndShellsCanBeSwitchedOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, repository.NewMemory(), devices.NewMemory(), devicespart.Options{WithoutTags: true})
		h.create("agv-1", "Robot")
		h.report("agv-1", idle(1))
		pass(5 * time.Second)
		require.Empty(t, h.shell("agv-1").Submodels)
		require.False(t, h.tags.Engine().HasDriver("devices"))
		h.stop()

		h = newHouse(t, repository.NewMemory(), devices.NewMemory(), devicespart.Options{WithoutShells: true})
		defer h.stop()
		h.create("agv-1", "Robot")
		pass(5 * time.Second)
		_, err := h.aas.Service().Shells.Get(t.Context(), devicespart.ShellID("agv-1"))
		require.ErrorIs(t, err, repository.ErrShellNotFound)
		require.True(t, h.tags.Engine().HasDriver("devices"))
	})
}

func TestAnotherDriverOfTheSameID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own, err := simdriver.New(simdriver.Options{DeviceCount: 1, TagsPerDevice: 1})
		require.NoError(t, err)
		h := newHouse(t, repository.NewMemory(), devices.NewMemory(), devicespart.Options{}, tagspart.Driver{ID: "devices", Driver: own})
		defer h.stop()
		h.create("agv-1", "Robot")
		pass(5 * time.Second)
		h.report("agv-1", idle(1))
		pass(5 * time.Second)
		_, known := h.tags.Current("devices.agv-1.x")
		require.False(t, known)
		require.Equal(t, 1, bytes.Count(h.log.Bytes(), []byte("failed to show devices as tags")), "said once: %s", h.log.String())
	})
}
