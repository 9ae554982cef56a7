package archtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas/mqttevents"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/alerting/dispatch"
	"github.com/otkit/otkit/alerting/outbox"
	"github.com/otkit/otkit/alerting/silences"
	"github.com/otkit/otkit/audit"
	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/devices/vda5050"
	"github.com/otkit/otkit/discovery/bridge"
	bridgeends "github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/discovery/linked"
	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/storage/accountstore"
	"github.com/otkit/otkit/storage/bufferstore"
	"github.com/otkit/otkit/storage/sqlite"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/history"
	"github.com/otkit/otkit/transport/aasapi"
	"github.com/otkit/otkit/transport/health"
	"github.com/otkit/otkit/transport/signalr"
)

// closer is the one lifecycle of all domains.
type closer interface {
	Close(ctx context.Context) error
}

// Close may be called by several at the same time and again afterwards, also with a context that has ended.
func TestCloseMayBeCalledAgain(t *testing.T) {
	ctx := t.Context()
	store := alarms.NewMemory()
	plant, err := alarms.New(ctx, store, alarms.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, plant.Close(context.Background())) }()
	shells, err := repository.New(repository.NewMemory(), repository.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, shells.Close(context.Background())) }()
	quiet, err := silences.New(silences.NewMemory(), silences.Options{})
	require.NoError(t, err)
	bridgeTags, err := tags.New(tags.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, bridgeTags.Close(context.Background())) }()
	for name, open := range map[string]func() (closer, error){
		"alarms.Service": func() (closer, error) { return alarms.New(ctx, alarms.NewMemory(), alarms.Options{}) },
		"rules.Service":  func() (closer, error) { return rules.New(ctx, rules.NewMemory(store), plant, rules.Options{}) },
		"dispatch.Dispatcher": func() (closer, error) {
			d, err := dispatch.New(dispatch.Deps{Journal: plant, Outbox: outbox.NewMemory(), Silences: quiet}, dispatch.Options{})
			if err == nil {
				d.Start()
			}
			return d, err
		},
		"predictive.Service": func() (closer, error) {
			return predictive.New(predictive.Deps{History: struct{ predictive.History }{}, Inventory: struct{ predictive.Inventory }{},
				Records: new(predictive.MemoryRecords), Registry: new(predictive.MemoryRegistry)}, predictive.Options{})
		},
		"audit.Log": func() (closer, error) { return audit.New(audit.NewMemory(), audit.Options{}) },
		"devices.Service": func() (closer, error) {
			return devices.New(ctx, devices.NewMemory(), devices.Options{Safety: safe{}, Executor: func(string) devices.Executor { return nil }})
		},
		"storage.DB": func() (closer, error) {
			return sqlite.Open(ctx, sqlite.Options{Dir: t.TempDir()}, accountstore.Schema())
		},
		"bridge.Host": func() (closer, error) {
			return bridge.New(ctx, bridge.Options{ID: "b", Tags: bridgeTags, DriverID: "d", Buffer: bridge.NewMemoryBuffer(0),
				StateFile: t.TempDir() + "/binding.json", Dial: func(context.Context, string, []string) (bridgeends.BridgeConn, error) {
					return nil, errors.ErrUnsupported
				}})
		},
		"bufferstore.Store": func() (closer, error) {
			return bufferstore.Open(ctx, sqlite.Files{}, bufferstore.Options{Path: t.TempDir() + "/buffer.db"})
		},
		"linked.Hub":       func() (closer, error) { return linked.New(struct{ linked.Bindings }{}, linked.Options{}) },
		"tags.Engine":      func() (closer, error) { return tags.New(tags.Options{}) },
		"history.Recorder": func() (closer, error) { return history.NewRecorder(history.NewMemory(), history.RecorderOptions{}) },
		"repository.Service": func() (closer, error) {
			return repository.New(repository.NewMemory(), repository.Options{})
		},
		"aasapi.API":      func() (closer, error) { return aasapi.New(shells, aasapi.Options{}) },
		"health.Registry": func() (closer, error) { return health.New(health.Options{}) },
		"signalr.Hub":     func() (closer, error) { return signalr.New(signalr.Options{}) },
		"mqttevents.Publisher": func() (closer, error) {
			return mqttevents.Connect(shells, mqttevents.Options{URL: "mqtt://127.0.0.1:1", NewID: func() string { return "id" }})
		},
		"vda5050.Fleet": func() (closer, error) {
			return vda5050.Connect(ctx, vda5050.Options{URL: "mqtt://127.0.0.1:1", Reports: reports{},
				Vehicles: []vda5050.Vehicle{{DeviceID: "agv-1", Manufacturer: "maker", SerialNumber: "1"}}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := open()
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			errs := make(chan error, 2)
			for range cap(errs) {
				go func() { errs <- c.Close(ctx) }()
			}
			for range cap(errs) {
				require.NoError(t, <-errs)
			}
			require.NoError(t, c.Close(ctx))
			cancel()
			require.NotPanics(t, func() { _ = c.Close(ctx) })
		})
	}
}

// reports ignores what vehicles report.
type reports struct{}

func (reports) Report(string, devices.Telemetry) error { return nil }
func (reports) Connected(string) error                 { return nil }
func (reports) Disconnected(string) error              { return nil }

// safe refuses every command.
type safe struct{}

func (safe) Check(devices.Situation) devices.Decision { return devices.Decision{} }
