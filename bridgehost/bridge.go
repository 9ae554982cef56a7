package bridgehost

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/otkit/otkit/aas/shellconfig"
	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/audit"
	"github.com/otkit/otkit/discovery/bridge"
	"github.com/otkit/otkit/discovery/license"
	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/internal/dirlock"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/accountsapi/accountspart"
	"github.com/otkit/otkit/transport/auditapi/auditpart"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/bridgeapi"
	"github.com/otkit/otkit/transport/bridgeapi/bridgepart"
	"github.com/otkit/otkit/transport/console"
	"github.com/otkit/otkit/transport/server"
)

// Bridge is a bridge with all parts. Make it with New, then Run it; or Start it, serve its Handler, and Close it.
type Bridge struct {
	*server.Server
	opts      Options
	setupCode string // for the first account, when there is none

	audit    *auditpart.Audit
	accounts *accountspart.Accounts
	tags     *tags.Engine
	shell    *shellconfig.Store
	host     *bridge.Host
	part     *bridgepart.Part
	changed  chan struct{} // something in the announcement may have changed
}

// New returns a bridge. It creates and locks the data directory, opens the signing keys and the binding, creates the first account if
// Options have its password, starts the driver and opens the port that Options name, if any. The context bounds New alone; the bridge
// runs until Close.
//
// Call Start, Run or Serve next. Before that the bridge does not deliver; the Handler answers, and health is Unhealthy. If New fails, it
// closes what it has opened.
func New(ctx context.Context, o Options) (*Bridge, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	b := &Bridge{opts: o, changed: make(chan struct{}, 1)}
	parts, err := b.parts(ctx)
	if err != nil {
		return nil, errors.Join(err, server.CloseParts(context.WithoutCancel(ctx), parts...))
	}
	so := b.opts.Server
	so.Audit, so.HealthMembers = b.audit.Log(), b.part.HealthMembers
	so.Authenticator = b.part.Authenticator()
	if o.Server.Authenticator != nil {
		so.Authenticator = auth.First(o.Server.Authenticator, so.Authenticator)
	}
	if b.Server, err = server.New(ctx, so, append(parts, o.Parts...)...); err != nil {
		return nil, err
	}
	return b, nil
}

// parts makes the parts, each with those that it needs. The order is that in which they drain: the driver stops, and what it has read
// is stored.
func (b *Bridge) parts(ctx context.Context) (list []server.Part, err error) {
	o := &b.opts
	if !dirlock.IsHeld(ctx, o.DataDir) {
		unlock, err := dirlock.Lock(o.DataDir)
		if err != nil {
			return nil, fmt.Errorf("bridgehost: Options.DataDir: %w", err)
		}
		list = append(list, server.Part{Name: "data directory", Close: func(context.Context) error { return unlock() }})
	}
	if o.ID == "" {
		if o.ID, err = EnsureID(o.DataDir); err != nil {
			return list, err
		}
	}
	if b.audit, err = auditpart.New(o.Audit); err != nil {
		return list, err
	}
	list = append(list, withoutRoutes(b.audit.Part()))
	if err := b.openAccounts(ctx); err != nil {
		return list, err
	}
	list = append(list, withoutRoutes(b.accounts.Part()))
	if b.tags, err = tags.New(tags.Options{Logger: o.Server.Logger, Now: o.Server.Now, Writes: o.Writes}); err != nil {
		return list, err
	}
	list = append(list, server.Part{Name: "driver", Drain: b.tags.Close})
	if err := b.tags.AddDriver(o.Driver.ID, o.Driver.Driver, o.Driver.Options); err != nil {
		return list, fmt.Errorf("driver %s: %w", o.Driver.ID, err)
	}
	o.Driver.Options.Tags = nil // the engine has its own
	if err := b.openShell(); err != nil {
		return list, err
	}
	if b.host, err = b.newHost(ctx); err != nil {
		return list, err
	}
	if err := b.newPart(); err != nil {
		return append(list, server.Part{Name: "bridge", Close: b.host.Close}), err
	}
	page, err := console.New(console.BridgeAssets())
	if err != nil {
		return append(list, b.part.Part()), err
	}
	return append(list, b.part.Part(), b.own(), page.Part()), nil
}

// withoutRoutes leaves out what the bridge serves at paths of its own.
func withoutRoutes(p server.Part) server.Part {
	p.Operations, p.Routes, p.GRPC, p.Audited = nil, nil, nil, nil
	return p
}

// openAccounts opens the accounts, creates the first one if its password is set, and else makes the set-up code.
func (b *Bridge) openAccounts(ctx context.Context) (err error) {
	o := &b.opts
	own := o.Accounts.OnLogin
	o.Accounts.OnLogin = func(ctx context.Context, e accounts.LoginEvent) {
		b.audit.OnLogin(ctx, e)
		if own != nil {
			own(ctx, e)
		}
	}
	if o.Accounts.Issuer == "" {
		o.Accounts.Issuer = "otkit-bridge:" + o.ID
	}
	if b.accounts, err = accountspart.New(ctx, o.Accounts); err != nil {
		return err
	}
	if o.Accounts.AdminPassword != "" {
		_, err := b.accounts.EnsureAdmin(ctx)
		return err
	}
	list, err := b.accounts.Service().List(ctx)
	if err == nil && len(list) == 0 {
		b.setupCode = rand.Text()[:16] // 80 bits
	}
	return err
}

func (b *Bridge) openShell() (err error) {
	shell := link.DefaultShell(b.opts.ID)
	b.shell, err = shellconfig.New(shellconfig.Options{
		File:     filepath.Join(b.opts.DataDir, "aas.json"),
		Default:  shellconfig.Config{ID: shell.ID, IDShort: shell.IDShort, GlobalAssetID: shell.GlobalAssetID},
		Tags:     b.driverTags,
		Revision: b.tags.Revision,
		OnChange: func() { b.host.ManifestChanged() },
	})
	return err
}

func (b *Bridge) newHost(ctx context.Context) (*bridge.Host, error) {
	o := &b.opts
	if o.Buffer.Buffer == nil {
		o.Buffer.Buffer = bridge.NewMemoryBuffer(0)
	}
	browser, _ := o.Driver.Driver.(tags.Browser)
	return bridge.New(ctx, bridge.Options{
		ID: o.ID, Version: o.Server.Version, Tags: b.tags, DriverID: o.Driver.ID, DriverType: o.Driver.Type, Browser: browser,
		Submodels: b.submodels, Shell: b.shellIdentity,
		Buffer: o.Buffer.Buffer, StateFile: filepath.Join(o.DataDir, "binding.json"),
		Dial: o.Link.Dial, EngineURL: o.Link.EngineURL, FindEngine: b.findEngine(), RetryInterval: o.Link.RetryInterval, BindSecret: o.Link.BindSecret,
		DrainPerSecond: o.Link.DrainPerSecond, OnStatus: b.onStatus, OnDiscard: b.onDiscard,
		Now: o.Server.Now, Logger: o.Server.Logger,
	})
}

func (b *Bridge) newPart() error {
	o := &b.opts
	vendor, err := license.New(license.Options{File: filepath.Join(o.DataDir, "license.key"), BridgeID: o.ID, Vendors: o.Vendors,
		Now: o.Server.Now, Logger: o.Server.Logger})
	if err != nil {
		return err
	}
	passive, _ := o.Driver.Driver.(bridgeapi.Passive)
	b.part, err = bridgepart.New(bridgepart.Deps{Host: b.host, Tags: b.tags, Passive: passive, Accounts: b.accounts, Audit: b.audit.Log(),
		License: vendor, Shell: b.shell},
		bridgepart.Options{DriverID: o.Driver.ID, DriverType: o.Driver.Type, Name: o.Name, Location: o.Location, TenantID: o.TenantID,
			BindSecret: o.Link.BindSecret != "", SetupCode: b.setupCode, Ingest: o.Ingest, BufferEnabled: o.Buffer.OnDisk, BufferTTL: o.Buffer.TTL,
			Settings: o.Settings, AllowedHosts: o.Server.Access.AllowedHosts, CORSOrigins: o.Server.CORSOrigins, Now: o.Server.Now, Logger: o.Server.Logger})
	return err
}

// ID returns the id of the bridge.
func (b *Bridge) ID() string { return b.opts.ID }

// SetupCode returns what POST /api/bridge/auth/setup takes from other machines; empty if there was an account when the bridge was made. Show
// it to the operator: it is kept nowhere.
func (b *Bridge) SetupCode() string { return b.setupCode }

// Tags returns the tag engine, for programs that embed the bridge.
func (b *Bridge) Tags() *tags.Engine { return b.tags }

// Host returns the bridge's side of the binding, for programs that embed the bridge.
func (b *Bridge) Host() *bridge.Host { return b.host }

// Audit returns the audit log, for programs that embed the bridge.
func (b *Bridge) Audit() *audit.Log { return b.audit.Log() }
