package engineconfig

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/otkit/otkit/cluster"
	"github.com/otkit/otkit/cluster/bus"
	"github.com/otkit/otkit/cluster/bus/natsbus"
	"github.com/otkit/otkit/cluster/bus/natsbus/embedded"
	"github.com/otkit/otkit/internal/serverconfig"
	"github.com/otkit/otkit/internal/settings"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/busstore"
	"github.com/otkit/otkit/transport/discoveryapi/discoverypart"
)

// Cluster is about engines that share a plant, and with it a database.
type Cluster struct {
	Name   string          `key:"name" doc:"What people call this engine among the others; empty for its host and the first characters of its id."`
	Labels json.RawMessage `key:"labels" doc:"What tells this engine from others, an object of texts, such as {hall: north}. A driver may require labels of the engine that runs it. Every engine has the label engine, which is its id."`
	URL    string          `key:"url" doc:"Where clients and bridges reach this engine, such as https://engine-1.example.com:5001, for others to see; empty for discovery.engineUrl."`
	Bus    Bus             `key:"bus" doc:"How engines send messages to each other: over NATS that is there (url), over a NATS server in the process of each engine (listen), or else over the database, which takes more of it and some milliseconds more."`
}

// Bus is how engines send messages to each other.
type Bus struct {
	URL       string   `key:"url" secret:"url" doc:"Servers of a NATS, such as nats://nats-1:4222, or several with commas: tls://nats-1:4222,tls://nats-2:4222. They must take messages of 512 KiB, as they do by default."`
	User      string   `key:"user" doc:"User of NATS."`
	Password  string   `key:"password" secret:"true" doc:"Password of the user of NATS. With listen, the password of the plant, the same on all its engines; without TLS it passes the network as it is."`
	Token     string   `key:"token" secret:"true" doc:"Token of NATS, instead of a user."`
	CredsFile string   `key:"credsFile" doc:"File with a JWT and its key for NATS, instead of a user."`
	CAFile    string   `key:"caFile" doc:"PEM file with the authorities of the certificates of NATS; empty for those of the system. With listen, those of the certificates of other engines."`
	CertFile  string   `key:"certFile" doc:"PEM file with the certificate of this engine and the intermediate ones, for a NATS that requires one. With listen, the engines use TLS, and each requires a certificate of the others that names their addresses. A change is taken over for new connections."`
	KeyFile   string   `key:"keyFile" doc:"PEM file with the private key of the certificate."`
	Listen    string   `key:"listen" rule:"address or empty" doc:"Address of the port for other engines, such as :6222, which starts a NATS server in the process of this engine; empty for none."`
	Advertise string   `key:"advertise" doc:"host:port where other engines reach listen; empty for the address that they see."`
	Routes    []string `key:"routes" doc:"host:port of listen of other engines. One that runs suffices: engines tell each other of the rest."`
	Prefix    string   `key:"prefix" default:"otkit" doc:"What the subjects of NATS begin with, for several plants on one NATS: letters, digits, -, _ and dots. The account of NATS must be allowed to publish and to subscribe to what is below it, such as otkit.>."`
}

// Validate implements settings.Validator.
func (c Cluster) Validate(p *settings.Problems) {
	if c.URL != "" {
		if err := discoverypart.CheckEngineURL(c.URL); err != nil {
			p.Add("url", err.Error())
		}
	}
	if _, err := c.LabelMap(); err != nil {
		p.Add("labels", err.Error())
	}
}

// maxEngineLabels is how many labels an engine may have.
const maxEngineLabels = 32

// LabelMap returns the labels.
func (c Cluster) LabelMap() (map[string]string, error) {
	labels, err := textMap(c.Labels, maxEngineLabels)
	for name, value := range labels {
		if name == "" || len(name) > 60 || len(value) > 200 {
			return nil, errors.New("must have names of 1 to 60 bytes and values of at most 200")
		}
		if strings.EqualFold(name, cluster.LabelEngine) {
			return nil, fmt.Errorf("must not have %s, which every engine has", cluster.LabelEngine)
		}
	}
	return labels, err
}

// textMap returns an object of at most so many texts. Numbers and truth values are texts, too: from the environment there are no others.
func textMap(object json.RawMessage, most int) (map[string]string, error) {
	if len(object) == 0 {
		return nil, nil
	}
	var raw map[string]any
	d := json.NewDecoder(bytes.NewReader(object))
	d.UseNumber()
	if err := d.Decode(&raw); err != nil {
		return nil, err
	}
	if len(raw) > most {
		return nil, fmt.Errorf("must be at most %d, not %d", most, len(raw))
	}
	texts := make(map[string]string, len(raw))
	for name, value := range raw {
		switch v := value.(type) {
		case string:
			texts[name] = v
		case json.Number:
			texts[name] = v.String()
		case bool:
			texts[name] = strconv.FormatBool(v)
		default:
			return nil, fmt.Errorf("must be texts: %s is not", name)
		}
	}
	return texts, nil
}

// Validate implements settings.Validator.
func (b Bus) Validate(p *settings.Problems) {
	nats, own := b.URL != "", b.Listen != ""
	p.Must(bus.CheckSubject(b.Prefix) == nil && len(b.Prefix) <= 100, "prefix", "must have 1 to 100 letters, digits, - and _, in words separated by dots")
	if nats && own {
		p.Add("listen", "must be empty with cluster.bus.url")
	}
	for _, text := range b.urls() {
		u, err := url.Parse(text)
		switch {
		case err == nil && u.User != nil:
			p.Add("url", "must have no user; set cluster.bus.user and cluster.bus.password, or cluster.bus.token")
		case err != nil || u.Host == "" || !slices.Contains([]string{"nats", "tls", "ws", "wss"}, u.Scheme):
			p.Add("url", "must be like nats://nats-1:4222 or tls://nats-1:4222,tls://nats-2:4222")
		}
	}
	serverconfig.Together(p, "url", nats, "user", b.User != "")
	serverconfig.Together(p, "url", nats, "token", b.Token != "")
	serverconfig.Together(p, "url", nats, "credsFile", b.CredsFile != "")
	serverconfig.Together(p, "listen", own, "advertise", b.Advertise != "")
	serverconfig.Together(p, "listen", own, "routes", len(b.Routes) > 0)
	serverconfig.Together(p, "keyFile", b.KeyFile != "", "certFile", b.CertFile != "")
	serverconfig.Together(p, "certFile", b.CertFile != "", "keyFile", b.KeyFile != "")
	if !nats && !own {
		serverconfig.Together(p, "url", false, "password", b.Password != "")
		serverconfig.Together(p, "url", false, "caFile", b.CAFile != "")
		serverconfig.Together(p, "url", false, "certFile", b.CertFile != "")
	}
	b.validateAccess(p, nats, own)
	for i, route := range b.Routes {
		p.Must(isPeer(route), fmt.Sprintf("routes[%d]", i), "must be host:port, such as engine-2:6222")
	}
	p.Must(b.Advertise == "" || isPeer(b.Advertise), "advertise", "must be host:port, such as engine-1:6222")
}

// urls returns the servers of url.
func (b Bus) urls() (list []string) {
	if b.URL == "" {
		return nil
	}
	for text := range strings.SplitSeq(b.URL, ",") {
		list = append(list, strings.TrimSpace(text))
	}
	return list
}

// validateAccess validates how others are kept out.
func (b Bus) validateAccess(p *settings.Problems, nats, own bool) {
	if nats {
		serverconfig.Together(p, "user", b.User != "", "password", b.Password != "")
		ways := 0
		for _, way := range []string{b.User, b.Token, b.CredsFile} {
			if way != "" {
				ways++
			}
		}
		if ways > 1 {
			p.Add("url", "must have only one of user, token and credsFile")
		}
	}
	if own {
		serverconfig.Together(p, "caFile", b.CAFile != "", "certFile", b.CertFile != "")
		serverconfig.Together(p, "certFile", b.CertFile != "", "caFile", b.CAFile != "")
		if host, _, err := net.SplitHostPort(b.Listen); err == nil && !isLoopback(host) && b.Password == "" && b.CertFile == "" {
			p.Add("password", "is needed with cluster.bus.listen, or certFile, keyFile and caFile are: who reaches the port could write to devices")
		}
	}
}

// isPeer reports whether a text is an address of another engine.
func isPeer(text string) bool {
	host, port, err := net.SplitHostPort(text)
	n, bad := strconv.ParseUint(port, 10, 16)
	return err == nil && bad == nil && n > 0 && host != ""
}

// check validates what depends on other sections and on files.
func (c Cluster) check(p *settings.Problems, s Storage) {
	for _, one := range []struct {
		key string
		set bool
	}{{"url", c.Bus.URL != ""}, {"listen", c.Bus.Listen != ""}} {
		if one.set && s.Driver != "postgres" {
			p.Add("cluster.bus."+one.key, "is for engines that share a database; set storage.driver to postgres")
		}
	}
	if p.Has("cluster.bus") {
		return
	}
	if _, err := c.Bus.tls(); err != nil {
		p.Add("cluster.bus", "is not usable: "+err.Error())
	}
}

// OpenBus opens the bus of the engines that share db, which must be a PostgreSQL.
func (c Cluster) OpenBus(ctx context.Context, db *storage.DB, log *slog.Logger) (bus.Bus, error) {
	secure, err := c.Bus.tls()
	if err != nil {
		return nil, fmt.Errorf("cluster.bus: %w", err)
	}
	var b bus.Bus
	switch {
	case c.Bus.URL != "":
		c.Bus.warn(log)
		b, err = natsbus.Connect(ctx, natsbus.Options{URLs: c.Bus.urls(), User: c.Bus.User, Password: c.Bus.Password, Token: c.Bus.Token,
			CredsFile: c.Bus.CredsFile, TLS: secure, Prefix: c.Bus.Prefix, Logger: log})
	case c.Bus.Listen != "":
		if host, _, _ := net.SplitHostPort(c.Bus.Listen); secure == nil && !isLoopback(host) {
			log.Warn("messages among engines are not encrypted: cluster.bus.certFile is not set")
		}
		b, err = embedded.Start(ctx, embedded.Options{Listen: c.Bus.Listen, Advertise: c.Bus.Advertise, Routes: c.Bus.Routes, Password: c.Bus.Password,
			TLS: secure, Prefix: c.Bus.Prefix, Logger: log})
	default:
		log.Info("engines send messages over PostgreSQL: neither cluster.bus.url nor cluster.bus.listen is set")
		b, err = busstore.New(ctx, db, busstore.Options{Logger: log})
	}
	if err != nil { // not b, which may be a nil pointer of its type
		return nil, fmt.Errorf("cluster.bus: %w", err)
	}
	return b, nil
}

// warn says what is not safe about a NATS that is there. Who may publish what engines do may write to devices.
func (b Bus) warn(log *slog.Logger) {
	plain, away := false, false
	for _, text := range b.urls() {
		if u, err := url.Parse(text); err == nil {
			plain = plain || (u.Scheme == "nats" || u.Scheme == "ws") && b.CAFile == "" && b.CertFile == ""
			away = away || !isLoopback(u.Hostname())
		}
	}
	if away && plain {
		log.Warn("messages among engines are not encrypted: cluster.bus.url is not tls://")
	}
	if away && b.User == "" && b.Token == "" && b.CredsFile == "" && b.CertFile == "" {
		log.Warn("who reaches the NATS of the engines can write to devices: none of cluster.bus.user, token, credsFile and certFile is set")
	}
}

// ClusterURL returns where clients and bridges reach the engine, empty if that is not set.
func (e Engine) ClusterURL() string { return cmp.Or(e.Cluster.URL, e.Discovery.EngineURL) }
