package archtest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas/mqttevents"
	"github.com/otkit/otkit/aas/netcompliance"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/aas/tagmap"
	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/bridgealarms"
	"github.com/otkit/otkit/alarms/devicealarms"
	"github.com/otkit/otkit/alarms/driveralarms"
	"github.com/otkit/otkit/alarms/enginealarms"
	"github.com/otkit/otkit/alarms/predictivealarms"
	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/alerting/alertsource"
	"github.com/otkit/otkit/alerting/dispatch"
	"github.com/otkit/otkit/alerting/history"
	"github.com/otkit/otkit/alerting/silences"
	"github.com/otkit/otkit/audit"
	"github.com/otkit/otkit/bridgehost"
	"github.com/otkit/otkit/cluster/bus"
	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/devices/devicetags"
	"github.com/otkit/otkit/discovery"
	"github.com/otkit/otkit/discovery/bridge"
	"github.com/otkit/otkit/discovery/linked"
	"github.com/otkit/otkit/engine"
	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/predictive/alarmfailures"
	"github.com/otkit/otkit/predictive/monitor"
	"github.com/otkit/otkit/predictive/predictivetags"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/aasstore"
	"github.com/otkit/otkit/storage/accountstore"
	"github.com/otkit/otkit/storage/alarmstore"
	"github.com/otkit/otkit/storage/alertstore"
	"github.com/otkit/otkit/storage/auditstore"
	"github.com/otkit/otkit/storage/bindingstore"
	"github.com/otkit/otkit/storage/bufferstore"
	"github.com/otkit/otkit/storage/busstore"
	"github.com/otkit/otkit/storage/clusterstore"
	"github.com/otkit/otkit/storage/derivedstore"
	"github.com/otkit/otkit/storage/devicestore"
	"github.com/otkit/otkit/storage/driverstore"
	"github.com/otkit/otkit/storage/historystore"
	"github.com/otkit/otkit/storage/maintenancestore"
	"github.com/otkit/otkit/storage/modelstore"
	"github.com/otkit/otkit/storage/tagconfigstore"
	"github.com/otkit/otkit/storage/tagstore"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/derived"
	tagdrivers "github.com/otkit/otkit/tags/drivers"
	taghistory "github.com/otkit/otkit/tags/history"
	"github.com/otkit/otkit/tags/mirror"
	"github.com/otkit/otkit/tags/tagconfig"
	"github.com/otkit/otkit/tags/tagtemplate"
	"github.com/otkit/otkit/transport/aasapi"
	"github.com/otkit/otkit/transport/aasapi/aasgrpc"
	"github.com/otkit/otkit/transport/aasapi/aaspart"
	"github.com/otkit/otkit/transport/aasapi/aasv1"
	"github.com/otkit/otkit/transport/accountsapi"
	"github.com/otkit/otkit/transport/accountsapi/accountspart"
	"github.com/otkit/otkit/transport/alarmsapi"
	"github.com/otkit/otkit/transport/alarmsapi/alarmsgrpc"
	"github.com/otkit/otkit/transport/alarmsapi/alarmspart"
	"github.com/otkit/otkit/transport/alertingapi"
	"github.com/otkit/otkit/transport/alertingapi/alertingpart"
	"github.com/otkit/otkit/transport/auditapi"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/bridgeapi"
	"github.com/otkit/otkit/transport/bridgeapi/bridgepart"
	"github.com/otkit/otkit/transport/bridgelink"
	"github.com/otkit/otkit/transport/clusterapi"
	"github.com/otkit/otkit/transport/clusterapi/clusterpart"
	"github.com/otkit/otkit/transport/console"
	"github.com/otkit/otkit/transport/devicesapi"
	"github.com/otkit/otkit/transport/devicesapi/devicespart"
	"github.com/otkit/otkit/transport/discoveryapi"
	"github.com/otkit/otkit/transport/discoveryapi/discoverypart"
	"github.com/otkit/otkit/transport/hubs"
	"github.com/otkit/otkit/transport/hubs/hubspart"
	"github.com/otkit/otkit/transport/middleware"
	"github.com/otkit/otkit/transport/predictiveapi"
	"github.com/otkit/otkit/transport/predictiveapi/predictivepart"
	"github.com/otkit/otkit/transport/recorder"
	"github.com/otkit/otkit/transport/server"
	"github.com/otkit/otkit/transport/tagsapi"
	"github.com/otkit/otkit/transport/tagsapi/derivedapi"
	"github.com/otkit/otkit/transport/tagsapi/derivedpart"
	"github.com/otkit/otkit/transport/tagsapi/driversapi"
	"github.com/otkit/otkit/transport/tagsapi/tagconfigapi"
	"github.com/otkit/otkit/transport/tagsapi/tagsgrpc"
	"github.com/otkit/otkit/transport/tagsapi/tagspart"
)

// No constructor accepts nil and panics later: it returns an error that names what is missing.
func TestConstructorsNameWhatIsMissing(t *testing.T) {
	ctx := t.Context()
	memory, shells := alarms.NewMemory(), repository.NewMemory()
	service, err := alarms.New(ctx, memory, alarms.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, service.Close(ctx)) }()
	repo, err := repository.New(shells, repository.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, repo.Close(t.Context())) }()
	quiet, err := silences.New(silences.NewMemory(), silences.Options{})
	require.NoError(t, err)
	tagEngine, err := tags.New(tags.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, tagEngine.Close(ctx)) }()
	people := accounts.NewMemory()
	table, err := auth.NewTable()
	require.NoError(t, err)
	for _, c := range []struct {
		name, missing string
		make          func() (any, error)
	}{
		{"mqttevents.Connect", "service", func() (any, error) { return mqttevents.Connect(nil, mqttevents.Options{}) }},
		{"netcompliance.New", "source", func() (any, error) { return netcompliance.New(nil, netcompliance.Options{}) }},
		{"repository.New", "store", func() (any, error) { return repository.New(nil, repository.Options{}) }},
		{"tagmap.NewSource", "engine", func() (any, error) { return tagmap.NewSource(nil, tagmap.SourceOptions{}) }},
		{"accounts.New", "store", func() (any, error) { return accounts.New(nil, people, accounts.Options{}) }},
		{"accounts.New sessions", "sessions", func() (any, error) { return accounts.New(people, nil, accounts.Options{}) }},
		{"audit.New", "store", func() (any, error) { return audit.New(nil, audit.Options{}) }},
		{"alarms.New", "store", func() (any, error) { return alarms.New(ctx, nil, alarms.Options{}) }},
		{"bridgealarms.New", "target", func() (any, error) { return bridgealarms.New(nil, bridgealarms.Options{}) }},
		{"devicealarms.New", "source", func() (any, error) { return devicealarms.New(nil, service, devicealarms.Options{}) }},
		{"predictivealarms.New", "source", func() (any, error) { return predictivealarms.New(nil, service, predictivealarms.Options{}) }},
		{"predictivealarms.New target", "target", func() (any, error) { return predictivealarms.New(new(monitor.Latest), nil, predictivealarms.Options{}) }},
		{"enginealarms.New", "plant", func() (any, error) { return enginealarms.New(nil, service, enginealarms.Options{}) }},
		{"driveralarms.New", "source", func() (any, error) { return driveralarms.New(nil, service, driveralarms.Options{}) }},
		{"rules.New", "store", func() (any, error) { return rules.New(ctx, nil, service, rules.Options{}) }},
		{"rules.New target", "target", func() (any, error) { return rules.New(ctx, rules.NewMemory(memory), nil, rules.Options{}) }},
		{"alertsource.New", "alarms", func() (any, error) { return alertsource.New(nil, history.NewMemory(), quiet, alertsource.Options{}) }},
		{"alertsource.New history", "history", func() (any, error) { return alertsource.New(service, nil, quiet, alertsource.Options{}) }},
		{"alertsource.New silences", "silences", func() (any, error) { return alertsource.New(service, history.NewMemory(), nil, alertsource.Options{}) }},
		{"dispatch.New", "journal", func() (any, error) { return dispatch.New(dispatch.Deps{}, dispatch.Options{}) }},
		{"history.New", "store", func() (any, error) { return history.New(nil) }},
		{"silences.New", "store", func() (any, error) { return silences.New(nil, silences.Options{}) }},
		{"predictive.New", "History", func() (any, error) { return predictive.New(predictive.Deps{}, predictive.Options{}) }},
		{"alarmfailures.New", "Journal", func() (any, error) { return alarmfailures.New(alarmfailures.Deps{}, alarmfailures.Options{}) }},
		{"monitor.New", "predictor", func() (any, error) { return monitor.New(nil, new(monitor.Latest), monitor.Options{}) }},
		{"monitor.NewRetrainer", "trainer", func() (any, error) { return monitor.NewRetrainer(nil, monitor.RetrainOptions{}) }},
		{"predictivetags.New", "source", func() (any, error) { return predictivetags.New(nil, predictivetags.Options{}) }},
		{"predictivepart.New", "tags", func() (any, error) { return predictivepart.New(ctx, nil, nil, predictivepart.Options{}) }},
		{"predictivepart.NewInventory", "engine", func() (any, error) {
			return predictivepart.NewInventory(nil, predictivepart.InventoryOptions{})
		}},
		{"engine.New", "DataDir", func() (any, error) { return engine.New(ctx, engine.Options{}) }},
		{"engine.New login", "Authenticator", func() (any, error) {
			return engine.New(ctx, engine.Options{DataDir: t.TempDir(), WithoutAccounts: true})
		}},
		{"storage.New", "dialect", func() (any, error) { return storage.New(ctx, nil, nil, storage.Options{}) }},
		{"aasstore.New", "db", func() (any, error) { return aasstore.New(nil) }},
		{"accountstore.New", "db", func() (any, error) { return accountstore.New(nil) }},
		{"alarmstore.New", "db", func() (any, error) { return alarmstore.New(nil) }},
		{"alertstore.New", "db", func() (any, error) { return alertstore.New(nil) }},
		{"devices.New", "store", func() (any, error) { return devices.New(ctx, nil, devices.Options{}) }},
		{"devicetags.New", "source", func() (any, error) { return devicetags.New(nil, devicetags.Options{}) }},
		{"linked.New", "bindings", func() (any, error) { return linked.New(nil, linked.Options{}) }},
		{"bridgelink.NewServer", "hub", func() (any, error) { return bridgelink.NewServer(nil) }},
		{"discovery.New", "store", func() (any, error) { return discovery.New(ctx, discovery.Deps{}, discovery.Options{}) }},
		{"discovery.New bridges", "bridges", func() (any, error) {
			return discovery.New(ctx, discovery.Deps{Store: discovery.NewMemory()}, discovery.Options{})
		}},
		{"bridge.New", "ID", func() (any, error) { return bridge.New(ctx, bridge.Options{}) }},
		{"bridge.New tags", "Tags", func() (any, error) { return bridge.New(ctx, bridge.Options{ID: "b"}) }},
		{"bridge.New buffer", "Buffer", func() (any, error) { return bridge.New(ctx, bridge.Options{ID: "b", Tags: tagEngine, DriverID: "d"}) }},
		{"bufferstore.Open", "files", func() (any, error) { return bufferstore.Open(ctx, nil, bufferstore.Options{}) }},
		{"driverstore.New", "db", func() (any, error) { return driverstore.New(nil) }},
		{"drivers.New", "Host", func() (any, error) { return tagdrivers.New(t.Context(), tagdrivers.Deps{}, tagdrivers.Options{}) }},
		{"driversapi.New", "service", func() (any, error) { return driversapi.New(nil, driversapi.Options{}) }},
		{"bindingstore.New", "db", func() (any, error) { return bindingstore.New(nil) }},
		{"modelstore.New", "db", func() (any, error) { return modelstore.New(nil, modelstore.Options{}) }},
		{"mirror.New", "engine", func() (any, error) { return mirror.New(nil, bus.NewMemory().Join(), mirror.Options{}) }},
		{"mirror.New bus", "bus", func() (any, error) { return mirror.New(tagEngine, nil, mirror.Options{}) }},
		{"clusterstore.New", "db", func() (any, error) { return clusterstore.New(nil) }},
		{"busstore.New", "db", func() (any, error) { return busstore.New(ctx, nil, busstore.Options{}) }},
		{"derived.New", "tags", func() (any, error) { return derived.New(ctx, nil, derived.Options{}) }},
		{"tagtemplate.New", "derived", func() (any, error) { return tagtemplate.New(ctx, nil, tagtemplate.Options{}) }},
		{"derivedapi.New", "service", func() (any, error) { return derivedapi.New(nil, nil, derivedapi.Options{}) }},
		{"derivedpart.New", "tags", func() (any, error) { return derivedpart.New(ctx, nil, derivedpart.Options{}) }},
		{"derivedstore.New", "db", func() (any, error) { return derivedstore.New(nil) }},
		{"devicestore.New", "db", func() (any, error) { return devicestore.New(nil) }},
		{"auditstore.New", "db", func() (any, error) { return auditstore.New(nil) }},
		{"maintenancestore.New", "db", func() (any, error) { return maintenancestore.New(nil) }},
		{"tagconfigstore.New", "db", func() (any, error) { return tagconfigstore.New(nil) }},
		{"historystore.New", "db", func() (any, error) { return historystore.New(nil, historystore.Options{}) }},
		{"tagstore.New", "db", func() (any, error) { return tagstore.New(nil) }},
		{"tags.AddDriver", "driver", func() (any, error) { return nil, tagEngine.AddDriver("a", nil, tags.DriverOptions{}) }},
		{"history.NewRecorder", "store", func() (any, error) { return taghistory.NewRecorder(nil, taghistory.RecorderOptions{}) }},
		{"tagconfig.NewBinder", "engine", func() (any, error) { return tagconfig.NewBinder(nil, nil) }},
		{"aasapi.New", "service", func() (any, error) { return aasapi.New(nil, aasapi.Options{}) }},
		{"aasgrpc.New", "service", func() (any, error) { return aasgrpc.New(nil) }},
		{"aasv1.New", "service", func() (any, error) { return aasv1.New(nil, aasv1.Options{}) }},
		{"aaspart.New with a mapping", "tags", func() (any, error) {
			return aaspart.New(ctx, nil, aaspart.Options{TagMapping: aaspart.TagMapping{Equipment: make([]aaspart.MappedEquipment, 1)}})
		}},
		{"accountsapi.New", "authority", func() (any, error) { return accountsapi.New(nil, nil, accountsapi.Options{}) }},
		{"accountspart.New", "DataDir", func() (any, error) { return accountspart.New(ctx, accountspart.Options{}) }},
		{"alarmsapi.New", "service", func() (any, error) { return alarmsapi.New(nil, nil, alarmsapi.Options{}) }},
		{"alarmsapi.New rules", "rules", func() (any, error) { return alarmsapi.New(service, nil, alarmsapi.Options{}) }},
		{"alarmsgrpc.New", "service", func() (any, error) { return alarmsgrpc.New(nil, alarmsgrpc.Options{}) }},
		{"alarmspart.New", "tags", func() (any, error) { return alarmspart.New(ctx, nil, alarmspart.Options{}) }},
		{"alertingapi.New", "silences", func() (any, error) { return alertingapi.New(alertingapi.Deps{}, alertingapi.Options{}) }},
		{"alertingpart.New", "alarms", func() (any, error) { return alertingpart.New(ctx, nil, alertingpart.Options{}) }},
		{"auditapi.New", "log", func() (any, error) { return auditapi.New(nil, auditapi.Options{}) }},
		{"auth.New", "accounts", func() (any, error) { return auth.New(nil, nil, auth.Options{}) }},
		{"auth.NewGuard", "authenticator", func() (any, error) { return auth.NewGuard(nil, table, auth.GuardOptions{}) }},
		{"bridgeapi.New", "host", func() (any, error) { return bridgeapi.New(bridgeapi.Deps{}, bridgeapi.Options{}) }},
		{"bridgepart.New", "host", func() (any, error) { return bridgepart.New(bridgepart.Deps{}, bridgepart.Options{}) }},
		{"bridgehost.New", "DataDir", func() (any, error) { return bridgehost.New(ctx, bridgehost.Options{}) }},
		{"clusterapi.New", "plant", func() (any, error) { return clusterapi.New(nil, clusterapi.Options{}) }},
		{"clusterpart.NewEngines", "Engine", func() (any, error) { return clusterpart.NewEngines(nil, clusterpart.EnginesOptions{}) }},
		{"console.New", "files", func() (any, error) { return console.New(nil) }},
		{"hubs.NewDashboard", "hub", func() (any, error) { return hubs.NewDashboard(nil, service, quiet, hubs.DashboardOptions{}) }},
		{"hubs.NewConsole", "tags", func() (any, error) { return hubs.NewConsole(nil, service, hubs.ConsoleOptions{}) }},
		{"hubs.NewDemo", "hub", func() (any, error) { return hubs.NewDemo(nil, service) }},
		{"hubspart.New", "tags", func() (any, error) { return hubspart.New(ctx, nil, nil, nil, nil, nil, hubspart.Options{}) }},
		{"middleware.NewServer", "handler", func() (any, error) { return middleware.NewServer(nil, middleware.ServerOptions{}) }},
		{"recorder.New", "log", func() (any, error) { return recorder.New(nil, recorder.Options{}) }},
		{"server.New", "Authenticator", func() (any, error) { return server.New(ctx, server.Options{}) }},
		{"devicesapi.New", "service", func() (any, error) { return devicesapi.New(nil, devicesapi.Options{}) }},
		{"devicespart.New", "Fleets[0].Name", func() (any, error) {
			return devicespart.New(ctx, nil, nil, nil, devicespart.Options{Fleets: make([]devicespart.Fleet, 1)})
		}},
		{"discoveryapi.New", "service", func() (any, error) { return discoveryapi.New(nil, discoveryapi.Options{}) }},
		{"discoverypart.New", "tags", func() (any, error) { return discoverypart.New(ctx, nil, nil, nil, discoverypart.Options{}) }},
		{"predictiveapi.New", "service", func() (any, error) { return predictiveapi.New(nil, nil, predictiveapi.Options{}) }},
		{"tagsapi.New", "engine", func() (any, error) { return tagsapi.New(nil, tagsapi.Options{}) }},
		{"tagconfigapi.New", "store", func() (any, error) { return tagconfigapi.New(nil, tagconfigapi.Options{}) }},
		{"tagsgrpc.New", "engine", func() (any, error) { return tagsgrpc.New(nil, tagsgrpc.Options{}) }},
		{"tagspart.New", "ModelPath", func() (any, error) { return tagspart.New(ctx, tagspart.Options{}) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			var err error
			require.NotPanics(t, func() { _, err = c.make() })
			require.Error(t, err)
			require.Contains(t, strings.ToLower(err.Error()), strings.ToLower(c.missing))
		})
	}
}
