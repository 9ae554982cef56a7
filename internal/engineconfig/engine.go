package engineconfig

import (
	managed "github.com/otkit/otkit/tags/drivers"
	"log/slog"
	"os"

	"github.com/otkit/otkit/aas/mqttevents"
	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/engine"
	"github.com/otkit/otkit/internal/drivertypes"
	"github.com/otkit/otkit/internal/serverconfig"
	"github.com/otkit/otkit/internal/settings"
	"github.com/otkit/otkit/transport/alarmsapi/alarmspart"
	"github.com/otkit/otkit/transport/hubs/hubspart"
	"github.com/otkit/otkit/transport/metrics"
	"github.com/otkit/otkit/transport/oneport"
	"github.com/otkit/otkit/transport/server"
	"github.com/otkit/otkit/transport/tagsapi/derivedpart"
	"github.com/otkit/otkit/transport/tagsapi/tagspart"
)

// Engine holds the settings of the engine.
type Engine struct {
	Server     Server           `key:"server" doc:"The port and its limits."`
	Storage    Storage          `key:"storage" doc:"Where the engine stores its data."`
	Auth       Auth             `key:"auth" doc:"Accounts and tokens."`
	Console    Console          `key:"console" doc:"The web console."`
	Audit      Audit            `key:"audit" doc:"The audit log."`
	Metrics    Metrics          `key:"metrics" doc:"The page /metrics."`
	Log        serverconfig.Log `key:"log" doc:"The log, which is written to standard error."`
	Tracing    Tracing          `key:"tracing" doc:"OpenTelemetry traces."`
	Tags       Tags             `key:"tags" doc:"Tag configuration, history and the log of writes."`
	Alarms     Alarms           `key:"alarms" doc:"Alarms."`
	Alerting   Alerting         `key:"alerting" doc:"Alarm notifications, and alerts from other systems. A channel is configured by its first setting."`
	AAS        AAS              `key:"aas" doc:"Asset administration shells."`
	Devices    Devices          `key:"devices" doc:"Robots and automation devices, and the safety policies that commands to them must pass. The policies are a software pre-check and no certified safety function."`
	Predictive Predictive       `key:"predictive" doc:"Predictions of failures, remaining lives and anomalies."`
	Discovery  Discovery        `key:"discovery" doc:"Bridges, which deliver the values of equipment from other machines."`
	Cluster    Cluster          `key:"cluster" doc:"Engines that share a plant and the PostgreSQL with its data."`
	Drivers    []Driver         `key:"drivers" doc:"The devices that the engine reads, a list. A list in the file replaces the default; variables change items, or add the next one."`
}

// Defaults returns the settings of the engine when nothing is set.
func Defaults() Engine { return settings.Defaults[Engine]() }

// ProfileDefaults returns the defaults of the profile that is set.
func (e Engine) ProfileDefaults(d Engine) Engine {
	if e.Server.Profile == edge {
		d.Discovery.HeartbeatSeconds = 60
	}
	return d
}

// Read reads the settings of the engine from a file ("" for none), the environment and flags by their keys. See [settings.Inspect].
func Read(file string, flags map[string]any, origins settings.Origins) (Engine, *settings.Problems, []settings.Warning, error) {
	return settings.Inspect(Defaults(), settings.Options{File: file, Environ: os.Environ(), Flags: flags, Origins: origins})
}

// Parts is what an engine is made of, by its settings.
type Parts struct {
	Options      engine.Options            // without stores
	Certificates *oneport.CertificateFiles // nil without TLS
	Events       *mqttevents.Options       // of changed shells; nil for none
}

// Build makes the parts. It reads the files that the settings name and needs no network. What is wrong is added to p.
func (e Engine) Build(p *settings.Problems, version string, log *slog.Logger, m *metrics.Metrics) Parts {
	o := engine.Options{
		DataDir: e.Storage.DataDir, Name: e.Server.Name,
		Server: server.Options{Version: version, Logger: log, Metrics: m, MetricsToken: e.Metrics.Token, Tracing: e.Tracing.options(version, log),
			Listen: e.Server.Listen, PartListeners: e.Server.partListeners(), MaxConns: e.Server.MaxConnections, MaxBodyBytes: e.Server.MaxBodyBytes,
			HeaderTimeout: e.Server.ReadHeaderTimeout, IdleTimeout: e.Server.IdleTimeout,
			CORSOrigins: e.Server.CORS.AllowedOrigins, AccessLog: e.Log.Requests, Access: e.access()},
		Console:  e.Console.Enabled,
		Audit:    e.Audit.options(),
		Accounts: e.Auth.options(p),
		Tags: tagspart.Options{ModelPath: e.Tags.ModelPath, MaxConfigured: e.Tags.MaxConfigured, Drivers: drivers(e.Drivers, log, p), History: e.Tags.History.options(),
			DriverTypes:    drivertypes.Polling(),
			MaxImportBytes: e.Tags.MaxImportBytes, DriverOptions: managed.Options{MaxDrivers: e.Tags.MaxDrivers},
			WriteLogMaxAge: e.Tags.WriteLogMaxAge, MaxWithoutToken: e.Tags.MaxWithoutToken},
		Derived:    derivedpart.Options{MaxTags: e.Tags.MaxDerived},
		Alarms:     alarmspart.Options{MaxAge: e.Alarms.MaxAge, Limits: alarms.Limits(e.Alarms.Analytics), Drivers: e.Alarms.DriverOffline.options()},
		Alerting:   e.Alerting.options(p),
		Devices:    e.Devices.options(log, p),
		Discovery:  e.Discovery.options(log, p),
		Predictive: e.Predictive.options(log, p),
		Hubs:       hubspart.Options{MaxPerPrincipal: e.Server.Hubs.MaxPerAccount, MaxPerAddress: e.Server.Hubs.MaxPerAddress},
	}
	e.AAS.options(&o, p)
	e.Cluster.check(p, e.Storage)
	parts := Parts{Options: o, Events: e.AAS.Events.options(log, p)}
	if files, err := e.Server.TLS.Certificates(log); err != nil && !p.Has("server.tls") {
		p.Add("server.tls", "is not usable: "+err.Error())
	} else if files != nil {
		parts.Certificates, parts.Options.Server.TLS, parts.Options.Server.Certificate = files, files.Config(), files.Status
	}
	return parts
}
