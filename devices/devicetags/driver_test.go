package devicetags_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/devices/devicetags"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/tagstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// nobody is a safety that is never asked.
type nobody struct{}

func (nobody) Check(devices.Situation) devices.Decision { return devices.Decision{} }

func newService(t testing.TB, ids ...string) *devices.Service {
	t.Helper()
	s, err := devices.New(t.Context(), devices.NewMemory(), devices.Options{Safety: nobody{}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.Background())) })
	for _, id := range ids {
		_, err := s.Create(t.Context(), id, "Robot", "")
		require.NoError(t, err)
	}
	return s
}

func full() devices.Telemetry {
	charge := 55.5
	return devices.Telemetry{State: devices.Working, Pose: &devices.Pose{Map: "hall", X: 1.5, Y: -2, Theta: 0.5}, Velocity: &devices.Velocity{X: 3, Y: 4},
		Battery: &charge, Charging: true, Stop: devices.LocalStop, Faults: []string{"a", "b"}, Loads: []string{"pallet"}}
}

func TestConformance(t *testing.T) {
	s := newService(t, "agv.1")
	require.NoError(t, s.Report("agv.1", full()))
	tagstest.TestDriver(t, tagstest.DriverHarness{
		New: func(t testing.TB) tags.Driver {
			d, err := devicetags.New(s, devicetags.Options{})
			require.NoError(t, err)
			return d
		},
		Readable: []tags.Point{{Address: "agv.1.x", Type: tags.Float}, {Address: "agv.1.state", Type: tags.String}, {Address: "agv.1.charging", Type: tags.Bool}},
		Refused: []tags.WriteItem{
			{Point: tags.Point{Address: "agv.1.x", Type: tags.Float}, Value: tags.FloatValue(1)},
		},
		Missing:   tags.Point{Address: "agv-2.x", Type: tags.Float},
		Malformed: tags.Point{Address: "agv.1", Type: tags.Float},
	})
}

// plant are devices with their tags in an engine. It is for use within a bubble.
type plant struct {
	t       *testing.T
	service *devices.Service
	engine  *tags.Engine
	defined atomic.Int64 // how often
}

func newPlant(t *testing.T, ids ...string) *plant {
	return newPlantOf(t, newService(t, ids...))
}

func newPlantOf(t *testing.T, service *devices.Service) *plant {
	p := &plant{t: t, service: service}
	driver, err := devicetags.New(p.service, devicetags.Options{Interval: 100 * time.Millisecond})
	require.NoError(t, err)
	p.engine, err = tags.New(tags.Options{})
	require.NoError(t, err)
	require.NoError(t, p.engine.AddDriver(devicetags.DriverID, driver, tags.DriverOptions{RefreshInterval: 10 * time.Second}))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		known := map[string]bool{}
		done <- driver.Follow(ctx, func(list []tags.Tag) {
			p.defined.Add(1)
			gone := known
			known = map[string]bool{}
			for _, tag := range list {
				known[tag.Name] = true
				delete(gone, tag.Name)
			}
			for name := range gone {
				p.engine.RemoveTags(name)
			}
			if err := p.engine.DefineTags(list...); err != nil {
				panic(err)
			}
		})
	}()
	t.Cleanup(func() {
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
		require.NoError(t, p.engine.Close(context.Background()))
	})
	pass(2 * time.Second)
	return p
}

// all returns the values of the tags of a device, those that are not good with their quality and reason.
func (p *plant) all(id string) map[string]string {
	p.t.Helper()
	list, _, err := p.engine.List(tags.ListQuery{Pattern: "devices." + id + ".%", PageSize: 100})
	require.NoError(p.t, err)
	found := map[string]string{}
	for _, s := range list {
		text := s.Sample.Value.String()
		if s.Sample.Quality != tags.Good {
			text = fmt.Sprintf("%s %s", s.Sample.Quality, s.Sample.Reason)
		}
		found[s.Tag.Name[len("devices."+id+"."):]] = text
	}
	return found
}

func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// run runs a test within a bubble.
func run(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}

func TestADeviceHasTheTagsOfWhatItReports(t *testing.T) {
	run(t, func(t *testing.T) {
		p := newPlant(t, "agv-1")
		require.Equal(t, map[string]string{"state": "Offline"}, p.all("agv-1"), "it has reported nothing")
		at := time.Now().Add(-time.Second)
		report := full()
		report.Time = at
		require.NoError(t, p.service.Report("agv-1", report))
		pass(2 * time.Second)
		require.Equal(t, map[string]string{"state": "Error", "emergencyStop": "true", "faults": "a; b", "loads": "pallet", "map": "hall", "x": "1.5", "y": "-2",
			"theta": "0.5", "speed": "5", "battery": "55.5", "charging": "true"}, p.all("agv-1"))
		units := map[string]string{}
		for _, tag := range devicetags.Tags(must(p.service.Get("agv-1"))) {
			require.NoError(t, tag.Validate())
			require.Equal(t, tags.ReadOnly, tag.Access)
			if tag.Unit != "" {
				units[tag.Name] = tag.Unit
			}
		}
		require.Equal(t, map[string]string{"devices.agv-1.x": "m", "devices.agv-1.y": "m", "devices.agv-1.theta": "rad", "devices.agv-1.speed": "m/s", "devices.agv-1.battery": "%"}, units)
		x, err := p.engine.Read("devices.agv-1.x")
		require.NoError(t, err)
		require.True(t, x.Sample.SourceTime.Equal(at), "the time of the report, not %v", x.Sample.SourceTime)

		require.NoError(t, p.service.Report("agv-1", devices.Telemetry{State: devices.Idle, Pose: &devices.Pose{Map: "hall", X: 2.5}}))
		pass(200 * time.Millisecond)
		now := p.all("agv-1")
		require.Equal(t, "2.5", now["x"])
		require.Equal(t, "true", now["emergencyStop"], "it is latched")
		require.Equal(t, "Bad DeviceError", now["battery"], "it was not in the report")
	})
}

func TestTagsOfASilentDeviceAreBad(t *testing.T) {
	run(t, func(t *testing.T) {
		p := newPlant(t, "agv-1")
		require.NoError(t, p.service.Report("agv-1", full()))
		pass(20 * time.Second)
		require.Equal(t, "1.5", p.all("agv-1")["x"])
		pass(time.Minute)
		require.Equal(t, "Bad NotConnected", p.all("agv-1")["x"])
		require.Equal(t, "Offline", p.all("agv-1")["state"], "that is known")
		x, err := p.engine.Read("devices.agv-1.x")
		require.NoError(t, err)
		require.Equal(t, tags.FloatValue(1.5), x.Sample.Value, "the last one known")
		require.NoError(t, p.service.Report("agv-1", full()))
		pass(200 * time.Millisecond)
		require.Equal(t, "1.5", p.all("agv-1")["x"])

		_, err = p.service.Change(t.Context(), "agv-1", devices.MaintenanceBegins)
		require.NoError(t, err)
		pass(time.Minute)
		require.Equal(t, "Bad NotConnected", p.all("agv-1")["x"], "also in maintenance, where it does not become Offline")
		require.Equal(t, "Maintenance", p.all("agv-1")["state"])
	})
}

func TestTagsComeAndGoWithTheirDevice(t *testing.T) {
	run(t, func(t *testing.T) {
		p := newPlant(t)
		for i := range 50 {
			id := fmt.Sprintf("agv-%d", i)
			_, err := p.service.Create(t.Context(), id, "Robot", "")
			require.NoError(t, err)
			require.NoError(t, p.service.Report(id, devices.Telemetry{State: devices.Idle}))
		}
		pass(2 * time.Second)
		require.Len(t, p.all("agv-7"), 4)
		require.LessOrEqual(t, p.defined.Load(), int64(2), "they are defined together")
		_, err := p.service.Change(t.Context(), "agv-7", devices.Decommission)
		require.NoError(t, err)
		pass(2 * time.Second)
		require.Empty(t, p.all("agv-7"))
		require.Len(t, p.all("agv-8"), 4)
		_, err = p.service.Change(t.Context(), "agv-7", devices.Provision)
		require.NoError(t, err)
		pass(2 * time.Second)
		require.Equal(t, map[string]string{"state": "Provisioned", "emergencyStop": "Bad NotConnected", "faults": "Bad NotConnected", "loads": "Bad NotConnected"}, p.all("agv-7"))
		defined := p.defined.Load()
		for range 100 {
			require.NoError(t, p.service.Report("agv-8", devices.Telemetry{State: devices.Idle}))
			pass(100 * time.Millisecond)
		}
		require.Equal(t, defined, p.defined.Load(), "reports alone define nothing")
	})
}

func TestTheDriverRefusesBadOptions(t *testing.T) {
	_, err := devicetags.New(nil, devicetags.Options{})
	require.ErrorContains(t, err, "source")
	_, err = devicetags.New(newService(t), devicetags.Options{Interval: -1})
	require.ErrorContains(t, err, "Interval")
	_, err = devicetags.New(newService(t), devicetags.Options{SilentAfter: -1})
	require.ErrorContains(t, err, "SilentAfter")
}
