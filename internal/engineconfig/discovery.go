package engineconfig

import (
	"crypto/x509"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/otkit/otkit/alarms/bridgealarms"
	"github.com/otkit/otkit/discovery/bridgeclient"
	"github.com/otkit/otkit/discovery/mdns"
	"github.com/otkit/otkit/internal/settings"
	"github.com/otkit/otkit/transport/discoveryapi/discoverypart"
)

// Discovery is about bridges.
type Discovery struct {
	HeartbeatSeconds int    `key:"heartbeatSeconds" default:"30" rule:"1..3600" doc:"Seconds between two heartbeats of a bound bridge whose link is not open. After three that are missed the bridge is offline, and is looked for with mDNS. 60 with server.profile=edge."`
	MDNS             bool   `key:"mdns" default:"true" doc:"Look for bridges with mDNS, and announce the engine as _platform-engine._tcp."`
	Name             string `key:"name" doc:"Name of the engine for people, as it is announced."`
	EngineURL        string `key:"engineUrl" doc:"Where bridges reach the engine, such as https://engine.example.com:5001; empty for the address of this machine in the network of the bridge, and the port of server.listen. Needed behind NAT or a proxy."`
	BindSecret       string `key:"bindSecret" secret:"true" doc:"What bridges with the setting Bridge__BindSecret want of those who bind them."`
	CAFile           string `key:"caFile" doc:"PEM file with the authorities of the certificates of bridges that are called over https; empty for those of the system."`
	Alarms           bool   `key:"alarms" default:"true" doc:"Raise alarms for bridges that are offline or have dropped samples, and for their drivers."`
	Shells           bool   `key:"shells" default:"true" doc:"Make an asset administration shell for each bridge."`
}

// Validate implements settings.Validator.
func (d Discovery) Validate(p *settings.Problems) {
	if d.EngineURL != "" {
		if err := discoverypart.CheckEngineURL(d.EngineURL); err != nil {
			p.Add("engineUrl", err.Error())
		}
	}
}

func (d Discovery) options(log *slog.Logger, p *settings.Problems) discoverypart.Options {
	o := discoverypart.Options{Heartbeat: time.Duration(d.HeartbeatSeconds) * time.Second, EngineURL: d.EngineURL, BindSecret: d.BindSecret, Name: d.Name,
		Alarms: bridgealarms.Options{Disabled: !d.Alarms}, WithoutShells: !d.Shells, Client: bridgeclient.Options{RootCAs: d.authorities(p)}}
	if d.MDNS {
		o.Scanner = mdns.NewScanner(mdns.ScannerOptions{})
		o.Advertise = func(a discoverypart.Announcement) (io.Closer, error) {
			return mdns.Advertise(mdns.Service{Instance: a.Instance, Type: a.Type, Port: a.Port, Text: a.Text, Addresses: a.Addresses}, mdns.Options{Logger: log})
		}
	}
	return o
}

// authorities reads the file of authorities; nil for those of the system.
func (d Discovery) authorities(p *settings.Problems) *x509.CertPool {
	if d.CAFile == "" {
		return nil
	}
	text, err := os.ReadFile(d.CAFile)
	if err != nil {
		p.Add("discovery.caFile", "cannot be read: "+err.Error())
		return nil
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		p.Add("discovery.caFile", "has no certificate in PEM form")
	}
	return pool
}
