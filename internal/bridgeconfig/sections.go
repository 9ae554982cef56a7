package bridgeconfig

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/discovery/license"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/internal/serverconfig"
	"github.com/otkit/otkit/internal/settings"
)

// Server is the port of the bridge.
type Server struct {
	Listen                   string            `key:"listen" default:":5100" rule:"address" doc:"Address of the one port. Port 0 selects a free one."`
	Profile                  string            `key:"profile" default:"standard" rule:"standard|edge" doc:"Set of defaults. edge is for small machines: offlineBuffer.maxSizeMb is 512 and offlineBuffer.messageTtlHours is 48."`
	MaxBodyBytes             int64             `key:"maxBodyBytes" default:"8388608" rule:"1024..1073741824" doc:"Largest body of a request in bytes; larger ones are answered 413."`
	MaxConnections           int               `key:"maxConnections" default:"1024" rule:"1.." doc:"Open connections at the same time; a few more wait, the rest is dropped. /health/live answers all the same."`
	MaxConnectionsPerAddress int               `key:"maxConnectionsPerAddress" default:"256" rule:"1..|-1 for no limit" doc:"Open connections of one address (of one IPv6 /64), trusted proxies not counted."`
	ReadHeaderTimeout        time.Duration     `key:"readHeaderTimeout" default:"10s" rule:">0" doc:"Longest time for the header of a request."`
	IdleTimeout              time.Duration     `key:"idleTimeout" default:"2m" rule:">0" doc:"How long a connection stays open between two requests."`
	ShutdownTimeout          time.Duration     `key:"shutdownTimeout" default:"30s" rule:">0" doc:"How long a stop waits for running requests."`
	TrustedProxies           []string          `key:"trustedProxies" doc:"Addresses and networks (CIDR) of proxies whose Forwarded or X-Forwarded-For says where a call comes from. Such a header from any other address makes a caller not loopback."`
	AllowedHosts             []string          `key:"allowedHosts" doc:"Names, besides localhost and those of this machine, that calls without a token may address the bridge by; * alone for any."`
	RequestsPerAddress       int               `key:"requestsPerAddress" default:"1000" rule:"1..|-1 for no limit" doc:"Requests a second of one address (of one IPv6 /64), ten times as many in a burst. Loopback addresses have no limit."`
	TLS                      serverconfig.TLS  `key:"tls"`
	CORS                     serverconfig.CORS `key:"cors"`
}

// Validate implements settings.Validator.
func (s Server) Validate(p *settings.Problems) {
	serverconfig.Networks(p, "trustedProxies", s.TrustedProxies)
	serverconfig.Hosts(p, "allowedHosts", s.AllowedHosts)
}

// Identity is what the bridge is called.
type Identity struct {
	ID         string `key:"id" doc:"Id of the bridge, unique in the network; if empty, one is made at the first start and kept in the data directory."`
	Name       string `key:"name" doc:"Friendly name for people; if empty, the name of the machine."`
	Location   string `key:"location" doc:"Where the bridge is, for people."`
	TenantID   string `key:"tenantId" doc:"Tenant that the bridge belongs to."`
	BindSecret string `key:"bindSecret" secret:"true" rule:"token" doc:"An engine must send it in the header X-Bind-Secret to bind the bridge; if empty, any engine may bind a free bridge."`
}

// maxText is how long a text of the identity may be: it travels in an announcement of the network.
const maxText = 200

// Validate implements settings.Validator.
func (b Identity) Validate(p *settings.Problems) {
	p.Must(len(b.ID) <= 64 && !strings.ContainsFunc(b.ID, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._:-", r)
	}), "id", "must be up to 64 letters, digits and ._:-")
	for _, t := range []struct{ key, text string }{{"name", b.Name}, {"location", b.Location}, {"tenantId", b.TenantID}} {
		p.Must(len(t.text) <= maxText && !strings.ContainsFunc(t.text, unicode.IsControl), t.key,
			fmt.Sprintf("must be up to %d bytes without control characters", maxText))
	}
}

// Driver is the device that the bridge reads.
type Driver struct {
	ID        string          `key:"id" doc:"Id of the driver, the prefix of its tags' names in the engine, unique among its bridges; if empty, the id of the bridge."`
	Type      string          `key:"type" default:"Simulation" rule:"required" doc:"Type of driver: Modbus, Passive or Simulation."`
	IPAddress string          `key:"ipAddress" doc:"Address or host name of the device, for types that have one."`
	Port      int             `key:"port" rule:"1..65535|0 for the type's default" doc:"Port of the device."`
	Settings  json.RawMessage `key:"settings" doc:"Settings that the type of driver defines, tags included. A Simulation without any has one device with eight tags, a setpoint that can be written and a temperature that follows it."`
}

// Validate implements settings.Validator.
func (d Driver) Validate(p *settings.Problems) {
	p.Must(!strings.ContainsFunc(d.ID, func(r rune) bool { return r == '/' || unicode.IsControl(r) }), "id", "must not contain / or control characters")
}

// CloudConnection is the link to the engine.
type CloudConnection struct {
	Transport            string `key:"transport" default:"Grpc" doc:"Protocol of the link: Grpc."`
	EngineURL            string `key:"engineUrl" doc:"Address at which the bridge reaches the engine, such as http://engine:5001; if empty, the one that the engine gives when it binds the bridge."`
	Compress             bool   `key:"compress" default:"true" doc:"Compress what is sent: a half to three quarters less travels, and a sample takes about 0.4 µs of a processor more."`
	RetryIntervalSeconds int    `key:"retryIntervalSeconds" default:"5" rule:"1..3600" doc:"Longest wait between two attempts to open the link, in seconds; each is a little shorter, by chance."`
}

// Validate implements settings.Validator.
func (c CloudConnection) Validate(p *settings.Problems) {
	p.Must(strings.EqualFold(c.Transport, "Grpc"), "transport", "must be Grpc, the only transport of this version")
	if c.EngineURL == "" {
		return
	}
	u, err := url.Parse(c.EngineURL)
	p.Must(err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil && (u.Path == "" || u.Path == "/") && u.RawQuery == "",
		"engineUrl", "must be http or https, a host and a port")
}

// OfflineBuffer is what is stored for the engine.
type OfflineBuffer struct {
	Enabled         bool   `key:"enabled" default:"true" doc:"Store entries on disk. Without, a small buffer in memory bridges short cuts of the link only, and a restart loses it."`
	DBPath          string `key:"dbPath" default:"buffer.db" rule:"required" doc:"File of the buffer, relative to the data directory."`
	MaxSizeMb       int64  `key:"maxSizeMb" default:"500" rule:"8..1048576" doc:"Size of all files of the buffer in MiB beyond which the oldest entries are removed."`
	MessageTTLHours int    `key:"messageTtlHours" default:"72" rule:"1..87600" doc:"Age in hours at which entries are removed."`
	DrainPerSecond  int    `key:"drainPerSecond" default:"100000" rule:"100..10000000" doc:"Entries by which a backlog shrinks in a second at most, so that the rest of the link is not crowded out."`
}

// Ingest is about data that devices send.
type Ingest struct {
	Token         string   `key:"token" secret:"true" rule:"token" doc:"Bearer token that senders need; if empty, only loopback addresses may send, without a token."`
	AllowedCIDRs  []string `key:"allowedCidrs" doc:"Addresses and networks (CIDR) from which data is taken; if empty, from everywhere."`
	RatePerSecond int      `key:"ratePerSecond" default:"100" rule:"1..100000" doc:"Requests a second of all senders together, as many in a burst; others are answered 429."`
}

// Validate implements settings.Validator.
func (i Ingest) Validate(p *settings.Problems) {
	serverconfig.Networks(p, "allowedCidrs", i.AllowedCIDRs)
}

// Auth is about local accounts and tokens.
type Auth struct {
	AdminUsername       string `key:"adminUsername" default:"admin" doc:"Name of the account that the first start creates if adminPassword is set."`
	AdminPassword       string `key:"adminPassword" secret:"true" doc:"Password of that account; if empty, the first account is made by POST /api/bridge/auth/setup."`
	AccessTokenMinutes  int    `key:"accessTokenMinutes" default:"60" rule:"1..1440" doc:"Lifetime of an access token in minutes."`
	RefreshTokenHours   int    `key:"refreshTokenHours" default:"168" rule:"1..8760" doc:"Lifetime of a login without a refresh, in hours."`
	ProtectOpenSurfaces bool   `key:"protectOpenSurfaces" default:"false" doc:"Require a token for /metrics also from loopback addresses."`
}

// Validate implements settings.Validator.
func (a Auth) Validate(p *settings.Problems) {
	p.Must(accounts.ValidName(a.AdminUsername), "adminUsername", "must be 1 to 64 ASCII letters, digits and ._@-")
	if a.AdminPassword != "" {
		if f, ok := fault.From(accounts.ValidatePassword(a.AdminUsername, a.AdminPassword, accounts.Admin)); ok {
			for _, field := range f.Fields {
				p.Add("adminPassword", field.Message)
			}
		}
	}
}

// Audit is about the audit log.
type Audit struct {
	MaxAge     time.Duration `key:"maxAge" default:"9600h" rule:"720h.." doc:"Retention of entries."`
	MaxEntries int64         `key:"maxEntries" default:"200000" rule:"10000.." doc:"Entries beyond which the oldest are removed. An act has two entries, of about 0.5 KB each."`
}

// License is about licenses.
type License struct {
	PublicKeys []string `key:"publicKeys" doc:"Ed25519 public keys of the vendors whose license keys are accepted, each 32 bytes as base64."`
}

// Validate implements settings.Validator.
func (l License) Validate(p *settings.Problems) {
	for i, key := range l.PublicKeys {
		_, err := license.ParsePublicKey(key)
		p.Must(err == nil, fmt.Sprintf("publicKeys[%d]", i), "must be an Ed25519 public key: 32 bytes as base64")
	}
}

// Discovery is how engines find the bridge.
type Discovery struct {
	Mdns bool `key:"mdns" default:"true" doc:"Announce the bridge in the network by mDNS, and look for engines while it is free."`
}

// Metrics is the page for Prometheus.
type Metrics struct {
	Token string `key:"token" secret:"true" rule:"token" doc:"Bearer token that /metrics accepts besides those of accounts, from everywhere."`
}

// Storage is where the bridge stores its data.
type Storage struct {
	DataDir string `key:"dataDir" default:"bridge-data" rule:"required" doc:"Directory of the keys, the database, the buffer, the binding and the license."`
	Reserve int64  `key:"reserve" default:"0" doc:"Bytes of a reserve on the disk for logins and the audit log when the disk is full; 0 for a fiftieth of the disk, at most 64 MiB; negative for none."`
}

// BufferFile returns the path of the offline buffer.
func (b Bridge) BufferFile() string {
	if filepath.IsAbs(b.OfflineBuffer.DBPath) {
		return b.OfflineBuffer.DBPath
	}
	return filepath.Join(b.Storage.DataDir, b.OfflineBuffer.DBPath)
}
