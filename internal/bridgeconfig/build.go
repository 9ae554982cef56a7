package bridgeconfig

import (
	"context"
	"crypto/ed25519"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"time"

	"github.com/otkit/otkit/bridgehost"
	"github.com/otkit/otkit/discovery"
	"github.com/otkit/otkit/discovery/bridge"
	"github.com/otkit/otkit/discovery/license"
	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/discovery/mdns"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/internal/drivertypes"
	"github.com/otkit/otkit/internal/settings"
	"github.com/otkit/otkit/storage/bufferstore"
	"github.com/otkit/otkit/storage/sqlite"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/driverconfig"
	"github.com/otkit/otkit/tags/simdriver"
	"github.com/otkit/otkit/transport/accountsapi/accountspart"
	"github.com/otkit/otkit/transport/auditapi/auditpart"
	"github.com/otkit/otkit/transport/bridgeapi/bridgepart"
	"github.com/otkit/otkit/transport/bridgelink"
	"github.com/otkit/otkit/transport/metrics"
	"github.com/otkit/otkit/transport/oneport"
	"github.com/otkit/otkit/transport/remote"
	"github.com/otkit/otkit/transport/server"
)

// Build returns the options of a bridge by its settings, without stores, link and announcement. It reads the files that the settings name and
// needs no network. id is that of the bridge where the settings have none. What is wrong is added to p. certificates is nil without TLS.
func (b Bridge) Build(p *settings.Problems, id, version string, log *slog.Logger) (o bridgehost.Options, certificates *oneport.CertificateFiles) {
	if b.Bridge.ID != "" {
		id = b.Bridge.ID
	}
	if b.Bridge.Name == "" {
		b.Bridge.Name, _ = os.Hostname() // without a name the id has to do
	}
	o = bridgehost.Options{
		DataDir: b.Storage.DataDir, ID: id, Name: b.Bridge.Name, Location: b.Bridge.Location, TenantID: b.Bridge.TenantID,
		Server: server.Options{Version: version, Logger: log, Metrics: metrics.New(metrics.Options{Version: version}), MetricsToken: b.Metrics.Token,
			Listen: b.Server.Listen, MaxConns: b.Server.MaxConnections, MaxBodyBytes: b.Server.MaxBodyBytes,
			HeaderTimeout: b.Server.ReadHeaderTimeout, IdleTimeout: b.Server.IdleTimeout,
			CORSOrigins: b.Server.CORS.AllowedOrigins, AccessLog: b.Log.Requests, Access: b.access()},
		Driver: b.driver(p, id, log),
		Link: bridgehost.LinkOptions{EngineURL: b.CloudConnection.EngineURL, RetryInterval: seconds(b.CloudConnection.RetryIntervalSeconds),
			BindSecret: b.Bridge.BindSecret, Dial: b.CloudConnection.dial, DrainPerSecond: b.OfflineBuffer.DrainPerSecond},
		Buffer: bridgehost.BufferOptions{OnDisk: b.OfflineBuffer.Enabled, TTL: time.Duration(b.OfflineBuffer.MessageTTLHours) * time.Hour},
		Ingest: bridgepart.IngestOptions{Token: b.Ingest.Token, RatePerSecond: b.Ingest.RatePerSecond},
		Audit:  auditpart.Options{MaxAge: b.Audit.MaxAge, MaxEntries: b.Audit.MaxEntries},
		Accounts: accountspart.Options{AdminUsername: b.Auth.AdminUsername, AdminPassword: b.Auth.AdminPassword,
			AccessTTL: time.Duration(b.Auth.AccessTokenMinutes) * time.Minute, RefreshTTL: time.Duration(b.Auth.RefreshTokenHours) * time.Hour},
		Vendors:  b.License.vendors(),
		Settings: b.shown(log),
	}
	b.useMDNS(&o, log)
	o.Ingest.From, _ = remote.ParseNetworks(b.Ingest.AllowedCIDRs) // validated
	if files, err := b.Server.TLS.Certificates(log); err != nil && !p.Has("server.tls") {
		p.Add("server.tls", "is not usable: "+err.Error())
	} else if files != nil {
		o.Server.TLS, o.Server.Certificate, certificates = files.Config(), files.Status, files
	}
	return o, certificates
}

// useMDNS has the bridge announced and engines looked for. A bridge that listens on a loopback address only is of no use to others.
func (b Bridge) useMDNS(o *bridgehost.Options, log *slog.Logger) {
	if !b.Discovery.Mdns {
		return
	}
	scanner := mdns.NewScanner(mdns.ScannerOptions{})
	o.FindEngines = func(ctx context.Context) ([]discovery.Found, error) {
		return scanner.Scan(ctx, discovery.EngineService)
	}
	host, _, _ := net.SplitHostPort(b.Server.Listen) // validated
	only, err := netip.ParseAddr(host)
	if host == "localhost" || only.IsLoopback() {
		return
	}
	var addresses []netip.Addr // none: those of all interfaces
	if err == nil && !only.IsUnspecified() {
		addresses = []netip.Addr{only}
	}
	o.Advertise = func(id string, port int, text []string) (bridgehost.Advertisement, error) {
		return mdns.Advertise(mdns.Service{Instance: id, Type: discovery.BridgeService, Port: port, Text: text, Addresses: addresses}, mdns.Options{Logger: log})
	}
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// access says where callers may come from and how much each may ask for.
func (b Bridge) access() server.AccessOptions {
	o := server.AccessOptions{AllowedHosts: b.Server.AllowedHosts, RequestsPerAddress: b.Server.RequestsPerAddress,
		ConnsPerAddress: b.Server.MaxConnectionsPerAddress, ProtectOpenSurfaces: b.Auth.ProtectOpenSurfaces}
	o.TrustedProxies, _ = remote.ParseNetworks(b.Server.TrustedProxies) // validated
	return o
}

// driver makes the driver, unless its settings are not valid.
func (b Bridge) driver(p *settings.Problems, bridgeID string, log *slog.Logger) bridgehost.Driver {
	d := driverconfig.Settings{ID: b.Driver.ID, Type: b.Driver.Type, IPAddress: b.Driver.IPAddress, Port: b.Driver.Port, Settings: b.Driver.Settings}
	if d.ID == "" {
		d.ID = bridgeID
	}
	types := drivertypes.Factories()
	if len(d.Settings) == 0 {
		types[simdriver.TypeName] = plant
	}
	out := bridgehost.Driver{ID: d.ID, Type: d.Type}
	if p.Has("driver") {
		return out
	}
	driver, list, err := types.Build(d, log)
	if err != nil {
		e, ok := fault.From(err)
		if !ok || len(e.Fields) == 0 {
			p.Add("driver", "is not usable: "+err.Error())
			return out
		}
		for _, f := range e.Fields {
			p.Add("driver."+f.Field, f.Message)
		}
		return out
	}
	out.Driver, out.Options = driver, tags.DriverOptions{Type: d.Type, Tags: list}
	return out
}

func (l License) vendors() (keys []ed25519.PublicKey) {
	for _, text := range l.PublicKeys {
		if key, err := license.ParsePublicKey(text); err == nil { // validated
			keys = append(keys, key)
		}
	}
	return keys
}

// shown returns what GET /api/bridge/config answers.
func (b Bridge) shown(log *slog.Logger) func() map[string]any {
	return func() map[string]any {
		values, err := settings.Values(b)
		if err != nil { // the settings were loaded with the same declaration
			log.Error("failed to show the settings", "error", err)
			return map[string]any{}
		}
		return values
	}
}

// dial opens a link to an engine.
func (c CloudConnection) dial(ctx context.Context, url string, pins []string) (link.BridgeConn, error) {
	return bridgelink.Dial(ctx, bridgelink.DialOptions{URL: url, Pins: pins, Gzip: c.Compress})
}

// OpenBuffer opens the offline buffer, which the caller closes after the bridge.
func (b Bridge) OpenBuffer(ctx context.Context, log *slog.Logger) (bridge.Buffer, error) {
	if !b.OfflineBuffer.Enabled {
		log.Info("offline buffer is off: samples wait in a small memory only, and the oldest are lost when it is full", "entries", bridge.DefaultMemoryEntries)
		return bridge.NewMemoryBuffer(0), nil
	}
	store, err := bufferstore.Open(ctx, sqlite.Files{}, bufferstore.Options{Path: b.BufferFile(), MaxBytes: b.OfflineBuffer.MaxSizeMb << 20,
		TTL: time.Duration(b.OfflineBuffer.MessageTTLHours) * time.Hour, Logger: log})
	if err != nil {
		return nil, err
	}
	return store, nil
}
