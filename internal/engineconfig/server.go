package engineconfig

import (
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/otkit/otkit/internal/settings"
	"github.com/otkit/otkit/transport/oneport"
	"github.com/otkit/otkit/transport/remote"
	"github.com/otkit/otkit/transport/server"
)

// Server is the port of the engine.
type Server struct {
	Listen                   string        `key:"listen" default:":5001" rule:"address" doc:"Address of the one port for REST, gRPC, streams and health. Port 0 selects a free one."`
	DeviceListen             string        `key:"deviceListen" rule:"address or empty" doc:"Address of a second port with just the API of devices, /health/live and /health/ready; empty for none. The TLS, the limits and the access of the first port hold for it too, and an eighth of the connections is its own."`
	MaxBodyBytes             int64         `key:"maxBodyBytes" default:"8388608" rule:"1024..1073741824" doc:"Largest body of a request in bytes; larger ones are answered 413."`
	MaxConnections           int           `key:"maxConnections" default:"16384" rule:"1.." doc:"Open connections at the same time, but never so many that no open files are left for storage; a few more wait, the rest is dropped. With deviceListen that port has an eighth of them, the first port the others. /health/live answers all the same."`
	MaxConnectionsPerAddress int           `key:"maxConnectionsPerAddress" default:"1000" rule:"1..|-1 for no limit" doc:"Open connections of one address (of one IPv6 /64), trusted proxies not counted; each port counts for itself."`
	ReadHeaderTimeout        time.Duration `key:"readHeaderTimeout" default:"10s" rule:">0" doc:"Longest time for the header of a request."`
	IdleTimeout              time.Duration `key:"idleTimeout" default:"2m" rule:">0" doc:"How long a connection stays open between two requests or gRPC calls."`
	ShutdownTimeout          time.Duration `key:"shutdownTimeout" default:"30s" rule:">0" doc:"How long a stop waits for running requests."`
	TrustedProxies           []string      `key:"trustedProxies" doc:"Addresses and networks (CIDR) of proxies whose Forwarded or X-Forwarded-For says where a call comes from. Such a header from any other address makes a caller not loopback."`
	AllowedHosts             []string      `key:"allowedHosts" doc:"Names, besides localhost and those of this machine, that calls without a token may address the engine by; * alone for any."`
	RateLimit                RateLimit     `key:"rateLimit"`
	Hubs                     Hubs          `key:"hubs"`
	TLS                      TLS           `key:"tls"`
	CORS                     CORS          `key:"cors"`
}

// RateLimit limits the requests of callers.
type RateLimit struct {
	PerAddress int `key:"perAddress" default:"1000" rule:"1..|-1 for no limit" doc:"Requests a second of one address (of one IPv6 /64), ten times as many in a burst. Loopback addresses have no limit."`
	PerAccount int `key:"perAccount" default:"1000" rule:"1..|-1 for no limit" doc:"Requests a second of one account, ten times as many in a burst."`
}

// Hubs limits the connections to hubs.
type Hubs struct {
	MaxPerAccount int `key:"maxPerAccount" default:"100" rule:"1..|-1 for no limit" doc:"Connections of one account to each of /hubs/alarms and /hubs/demo."`
	MaxPerAddress int `key:"maxPerAddress" default:"1000" rule:"1..|-1 for no limit" doc:"Connections of one address (of one IPv6 /64) to each hub."`
}

// TLS turns transport security on.
type TLS struct {
	CertFile          string `key:"certFile" doc:"PEM file with the certificate and the intermediate ones. With it the port uses TLS. It is read again when it changes."`
	KeyFile           string `key:"keyFile" doc:"PEM file with the private key of the certificate."`
	ClientCAFile      string `key:"clientCaFile" doc:"PEM file with the authorities of client certificates; if empty, no client certificate is requested."`
	RequireClientCert bool   `key:"requireClientCert" default:"false" doc:"Refuse clients without a certificate."`
}

// CORS lists the web pages of other origins that may call.
type CORS struct {
	AllowedOrigins []string `key:"allowedOrigins" doc:"Origins such as https://hmi.example.com; * alone for any."`
}

// Validate implements settings.Validator.
func (s Server) Validate(p *settings.Problems) {
	p.Must(s.DeviceListen == "" || s.DeviceListen != s.Listen || strings.HasSuffix(s.Listen, ":0"), "deviceListen", "must differ from server.listen")
	networks(p, "trustedProxies", s.TrustedProxies)
	for i, host := range s.AllowedHosts {
		if host != "*" {
			p.Must(host != "" && !strings.ContainsAny(host, "/:*@ "), fmt.Sprintf("allowedHosts[%d]", i), "must be a name such as plant.example.com, without scheme and port")
		} else if len(s.AllowedHosts) > 1 {
			p.Add("allowedHosts", "must not have others beside *")
		}
	}
}

// Validate implements settings.Validator.
func (t TLS) Validate(p *settings.Problems) {
	together(p, "keyFile", t.KeyFile != "", "certFile", t.CertFile != "")
	together(p, "certFile", t.CertFile != "", "keyFile", t.KeyFile != "")
	together(p, "certFile", t.CertFile != "", "clientCaFile", t.ClientCAFile != "")
	together(p, "clientCaFile", t.ClientCAFile != "", "requireClientCert", t.RequireClientCert)
}

// Validate implements settings.Validator.
func (c CORS) Validate(p *settings.Problems) {
	for i, origin := range c.AllowedOrigins {
		if origin == "*" {
			if len(c.AllowedOrigins) > 1 {
				p.Add("allowedOrigins", "must not have others beside *")
			}
			continue
		}
		u, err := url.Parse(origin)
		p.Must(err == nil && u.Scheme != "" && u.Host != "" && origin == u.Scheme+"://"+u.Host,
			fmt.Sprintf("allowedOrigins[%d]", i), "must be scheme://host or scheme://host:port")
	}
}

// together adds a problem where a setting is missing that another one needs.
func together(p *settings.Problems, needed string, isSet bool, by string, bySet bool) {
	if bySet && !isSet {
		p.Needed(needed, by)
	}
}

// networks adds a problem for each text that is neither an address nor a CIDR.
func networks(p *settings.Problems, path string, texts []string) {
	for i, text := range texts {
		if _, err := remote.ParseNetwork(text); err != nil {
			p.Must(false, fmt.Sprintf("%s[%d]", path, i), err.Error())
		}
	}
}

// certificates opens the files of the certificate, nil without TLS.
func (t TLS) certificates(log *slog.Logger) (*oneport.CertificateFiles, error) {
	if t.CertFile == "" {
		return nil, nil
	}
	return oneport.OpenCertificates(oneport.CertificateOptions{CertFile: t.CertFile, KeyFile: t.KeyFile,
		ClientCAFile: t.ClientCAFile, RequireClientCert: t.RequireClientCert, Logger: log})
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
