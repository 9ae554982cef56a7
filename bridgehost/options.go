package bridgehost

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"os"
	"time"

	"github.com/otkit/otkit/discovery"
	"github.com/otkit/otkit/discovery/bridge"
	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/openapi"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/accountsapi/accountspart"
	"github.com/otkit/otkit/transport/auditapi/auditpart"
	"github.com/otkit/otkit/transport/bridgeapi/bridgepart"
	"github.com/otkit/otkit/transport/server"
)

// Options configure a Bridge. DataDir, Driver and Link.Dial are required; without stores everything but the binding, the license and the
// shell's configuration is kept in memory. Whoever opens a store closes it, after Close.
type Options struct {
	// DataDir has the signing keys, the binding, the license, the shell's configuration and the bridge's id. New creates it with mode 0700
	// if it is missing, and locks it: one bridge at a time. Required.
	DataDir string

	// Server is about the port, TLS, limits and logs. Its Authenticator may be nil; it is asked before the accounts.
	Server server.Options

	ID       string // unique in the network; default: made at the first start and kept in DataDir
	Name     string // for people; default: the name of the machine
	Location string // for people
	TenantID string

	Driver   Driver
	Link     LinkOptions
	Buffer   BufferOptions
	Ingest   bridgepart.IngestOptions
	Audit    auditpart.Options
	Accounts accountspart.Options // AdminPassword empty: the first account is made by POST /api/bridge/auth/setup
	Writes   tags.WriteLog        // default: the newest 10,000 in memory
	Vendors  []ed25519.PublicKey  // whose license keys are accepted
	Parts    []server.Part        // of the embedder; they drain after the others and close before them

	// Advertise announces the bridge under its id at a port. Nil: it is not announced.
	Advertise func(id string, port int, text []string) (Advertisement, error)
	// FindEngines looks for engines in the network until ctx ends. Nil: engines are not looked for.
	FindEngines func(ctx context.Context) ([]discovery.Found, error)

	// Settings returns the settings in force, without secrets, for GET /api/bridge/config. It may be nil.
	Settings func() map[string]any
	// Ping reports whether the stores can be used. It may be nil.
	Ping func(ctx context.Context) error
	// Shortage returns why the stores' disk has too little space; empty if it has enough. It may be nil.
	Shortage func() string
}

// Driver is the driver of a bridge. ID and Driver are required. Options.Tags are its tags; their names begin with the ID and a dot.
type Driver struct {
	ID, Type string
	Driver   tags.Driver
	Options  tags.DriverOptions
}

// LinkOptions are about the engine. Dial is required.
type LinkOptions struct {
	// Dial opens a connection to an engine, whose certificate must have one of the pins unless there are none.
	Dial           func(ctx context.Context, url string, pins []string) (link.BridgeConn, error)
	EngineURL      string        // replaces the address that the engine gives when it binds the bridge
	RetryInterval  time.Duration // longest wait between two attempts; default that of bridge.Options
	BindSecret     string        // an engine must have it to bind the bridge; empty: none is needed
	DrainPerSecond int           // default that of bridge.Options
}

// BufferOptions are about what waits for the engine.
type BufferOptions struct {
	Buffer bridge.Buffer // default: a small one in memory
	OnDisk bool          // Buffer survives a restart
	TTL    time.Duration // how long Buffer keeps entries, for monitoring
}

// Advertisement announces a bridge until it is closed. *mdns.Advertisement is one.
type Advertisement interface {
	SetText(text []string) error
	Close() error
}

func (o Options) withDefaults() (Options, error) {
	switch {
	case o.DataDir == "":
		return o, errors.New("bridgehost: Options.DataDir is required")
	case o.Driver.ID == "":
		return o, errors.New("bridgehost: Options.Driver.ID is required")
	case o.Driver.Driver == nil:
		return o, errors.New("bridgehost: Options.Driver.Driver is required")
	case o.Link.Dial == nil:
		return o, errors.New("bridgehost: Options.Link.Dial is required")
	}
	if o.Server.Document == nil {
		o.Server.Document = openapi.Bridge
	}
	if o.Name == "" {
		o.Name, _ = os.Hostname() // without a name the id has to do
	}
	o.Server.Inherit(&o.Audit.Now, &o.Audit.Logger)
	o.Server.Inherit(&o.Accounts.Now, &o.Accounts.Logger)
	o.Accounts.DataDir = cmp.Or(o.Accounts.DataDir, o.DataDir)
	o.Driver.Options.Type = cmp.Or(o.Driver.Options.Type, o.Driver.Type)
	return o, nil
}
