package engineconfig

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/otkit/otkit/internal/serverconfig"
	"github.com/otkit/otkit/internal/settings"
	"github.com/otkit/otkit/transport/remote"
	"github.com/otkit/otkit/transport/server"
)

// Server is the port of the engine.
type Server struct {
	Listen                   string            `key:"listen" default:":5001" rule:"address" doc:"Address of the one port for REST, gRPC, streams and health. Port 0 selects a free one."`
	Name                     string            `key:"name" doc:"Name of the engine, such as that of its plant, at most 60 characters. The console shows it, also in the title of the page; if it is empty, it shows its address."`
	Profile                  string            `key:"profile" default:"standard" rule:"standard|edge" doc:"Set of defaults. edge is for small machines: discovery.heartbeatSeconds is 60."`
	DeviceListen             string            `key:"deviceListen" rule:"address or empty" doc:"Address of a second port with just the API of devices, /health/live and /health/ready; empty for none. The TLS, the limits and the access of the first port hold for it too, and an eighth of the connections is its own."`
	MaxBodyBytes             int64             `key:"maxBodyBytes" default:"8388608" rule:"1024..1073741824" doc:"Largest body of a request or message of gRPC in bytes; larger ones are answered 413. Bridges send messages of up to 1 MiB: below that, the link of a bridge with many tags may fail."`
	MaxConnections           int               `key:"maxConnections" default:"16384" rule:"1.." doc:"Open connections at the same time, but never so many that no open files are left for storage; a few more wait, the rest is dropped. With deviceListen that port has an eighth of them, the first port the others. /health/live answers all the same."`
	MaxConnectionsPerAddress int               `key:"maxConnectionsPerAddress" default:"1000" rule:"1..|-1 for no limit" doc:"Open connections of one address (of one IPv6 /64), trusted proxies not counted; each port counts for itself."`
	ReadHeaderTimeout        time.Duration     `key:"readHeaderTimeout" default:"10s" rule:">0" doc:"Longest time for the header of a request."`
	IdleTimeout              time.Duration     `key:"idleTimeout" default:"2m" rule:">0" doc:"How long a connection stays open between two requests or gRPC calls."`
	ShutdownTimeout          time.Duration     `key:"shutdownTimeout" default:"30s" rule:">0" doc:"How long a stop waits for running requests."`
	TrustedProxies           []string          `key:"trustedProxies" doc:"Addresses and networks (CIDR) of proxies whose Forwarded or X-Forwarded-For says where a call comes from. Such a header from any other address makes a caller not loopback."`
	AllowedHosts             []string          `key:"allowedHosts" doc:"Names, besides localhost and those of this machine, that calls without a token may address the engine by; * alone for any."`
	RateLimit                RateLimit         `key:"rateLimit"`
	Hubs                     Hubs              `key:"hubs"`
	TLS                      serverconfig.TLS  `key:"tls"`
	CORS                     serverconfig.CORS `key:"cors"`
}

// edge is the value of server.profile for small machines.
const edge = "edge"

// RateLimit limits the requests of callers.
type RateLimit struct {
	PerAddress int `key:"perAddress" default:"1000" rule:"1..|-1 for no limit" doc:"Requests a second of one address (of one IPv6 /64), ten times as many in a burst. Loopback addresses have no limit."`
	PerAccount int `key:"perAccount" default:"1000" rule:"1..|-1 for no limit" doc:"Requests a second of one account, ten times as many in a burst."`
}

// Hubs limits the connections to hubs.
type Hubs struct {
	MaxPerAccount int `key:"maxPerAccount" default:"100" rule:"1..|-1 for no limit" doc:"Connections of one account to each of /hubs/alarms, /hubs/console and /hubs/demo."`
	MaxPerAddress int `key:"maxPerAddress" default:"1000" rule:"1..|-1 for no limit" doc:"Connections of one address (of one IPv6 /64) to each hub."`
}

// Validate implements settings.Validator.
func (s Server) Validate(p *settings.Problems) {
	p.Must(s.DeviceListen == "" || s.DeviceListen != s.Listen || strings.HasSuffix(s.Listen, ":0"), "deviceListen", "must differ from server.listen")
	p.Must(utf8.RuneCountInString(s.Name) <= 60 && !strings.ContainsFunc(s.Name, unicode.IsControl), "name", "must have at most 60 characters, and no control characters")
	serverconfig.Networks(p, "trustedProxies", s.TrustedProxies)
	serverconfig.Hosts(p, "allowedHosts", s.AllowedHosts)
}

// partListeners are the ports beside the first one.
func (s Server) partListeners() []server.PartListener {
	if s.DeviceListen == "" {
		return nil
	}
	return []server.PartListener{{Listen: s.DeviceListen, Parts: []string{"devices"}}}
}

// access says where callers may come from and how much each may ask for.
func (e Engine) access() server.AccessOptions {
	o := server.AccessOptions{
		AllowedHosts:       e.Server.AllowedHosts,
		RequestsPerAddress: e.Server.RateLimit.PerAddress, RequestsPerPrincipal: e.Server.RateLimit.PerAccount,
		ConnsPerAddress:     e.Server.MaxConnectionsPerAddress,
		ProtectOpenSurfaces: e.Auth.ProtectOpenSurfaces,
		NameSettings:        true,
	}
	o.OpenSurfacesFrom, _ = remote.ParseNetworks(e.Auth.OpenSurfacesFrom) // validated
	o.TrustedProxies, _ = remote.ParseNetworks(e.Server.TrustedProxies)   // validated
	return o
}
