package bridgepart

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/limit"
	"github.com/otkit/otkit/transport/remote"
)

const ingestOperation = "ingest"

var (
	errUnknownHost = fault.New(fault.Forbidden, "MISDIRECTED_REQUEST", "a request without a login must name a known host; Server__AllowedHosts adds names")
	errForeignPage = fault.New(fault.Forbidden, "FORBIDDEN", "the request comes from a page of another origin")
	errSender      = fault.New(fault.Forbidden, "ADDRESS_NOT_ALLOWED", "data is not taken from this address; see Ingest__AllowedCidrs")
	errNeedsToken  = auth.ErrUnauthenticated.Because("data needs the token of Ingest__Token")
	errLocalOnly   = auth.ErrUnauthenticated.Because("while Ingest__Token is not set, data is taken from this machine only")
)

// strangersPerSecond is how often an address that is not local may try to bind the bridge or to make the first account: each try is recorded,
// and may guess a secret.
const strangersPerSecond = 2

// anyone admits programs everywhere, not too often, and web pages of the bridge itself and of the CORS origins.
func (p *Part) anyone(ctx context.Context, host, origin string) error {
	if from, _ := remote.From(ctx); !from.Local {
		if err := p.strangers.Allow(from.Host()); err != nil {
			return err
		}
	}
	return p.ownPage(host, origin)
}

// ownPage refuses what a web page of a stranger sends, also one whose name was made to lead to the bridge (DNS rebinding).
func (p *Part) ownPage(host, origin string) error {
	if origin == "" {
		return nil
	}
	if !p.hosts.Known(host) {
		return errUnknownHost
	}
	if slices.ContainsFunc(p.o.CORSOrigins, func(s string) bool { return s == "*" || strings.EqualFold(s, origin) }) {
		return nil
	}
	if u, err := url.Parse(origin); err != nil || !strings.EqualFold(u.Host, host) {
		return errForeignPage
	}
	return nil
}

// whoMayBind admits to the manifest those who may bind the bridge, and so get it: everybody, while it is free and has no secret.
func (p *Part) whoMayBind(_ context.Context, host, origin string) error {
	if p.o.BindSecret || p.deps.Host.Status().Status != link.StatusFree {
		return auth.ErrUnauthenticated
	}
	if !p.hosts.Known(host) { // a page that leads its name here reads without an Origin
		return errUnknownHost
	}
	return p.ownPage(host, origin)
}

// whoMaySend admits data without a token: from this machine, while no token is set.
func (p *Part) whoMaySend(ctx context.Context, host, origin string) error {
	if p.o.Ingest.Token != "" {
		return errNeedsToken
	}
	if from, _ := remote.From(ctx); !from.Local {
		return errLocalOnly
	}
	return p.ownPage(host, origin)
}

// admitData decides about data whose sender has the token, or needs none.
func (p *Part) admitData(ctx context.Context) error {
	from, _ := remote.From(ctx)
	if allowed := p.o.Ingest.From; len(allowed) > 0 && !(from.Known && allowed.Contains(from.Addr)) && !allowed.All(from.Addr) {
		return errSender
	}
	if !p.rate.AllowN(p.o.Now(), 1) {
		return limit.ErrTooFast
	}
	return nil
}
