package auditpart

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/audit"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/auditapi"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/health"
	"github.com/otkit/otkit/transport/server"
)

// Options configure the audit log of a server. The zero value keeps it in memory.
type Options struct {
	Store      audit.Store   // default: in memory, with at most 10,000 entries
	MaxAge     time.Duration // age at which entries are removed; default that of audit.Options, negative for no limit
	MaxEntries int64         // entries beyond which the oldest are removed; default that of audit.Options, negative for no limit

	Now    func() time.Time // default: time.Now
	Logger *slog.Logger     // default: discards
}

// Audit is the part. Make it with New.
type Audit struct{ log *audit.Log }

// memoryEntries bounds a log in memory.
const memoryEntries = 10_000

// New opens the audit log.
func New(o Options) (*Audit, error) {
	ao := audit.Options{MaxAge: o.MaxAge, MaxEntries: o.MaxEntries, Now: o.Now, Logger: o.Logger}
	if o.Store == nil {
		o.Store = audit.NewMemory()
		if ao.MaxEntries <= 0 {
			ao.MaxEntries = memoryEntries
		}
		ao.TrimInterval = time.Minute
	}
	log, err := audit.New(o.Store, ao)
	if err != nil {
		return nil, err
	}
	return &Audit{log: log}, nil
}

// Log returns the audit log.
func (a *Audit) Log() *audit.Log { return a.log }

// OnLogin records a login. It is accounts.Options.OnLogin.
func (a *Audit) OnLogin(_ context.Context, e accounts.LoginEvent) {
	act := audit.Act{Actor: e.Account, Role: string(e.Role), Session: e.Session, Address: e.Address, Via: "rest", Action: "login"}
	if act.Actor == "" {
		act.Actor = "unknown" // the name may be a mistyped password
	} else {
		act.Objects = []string{e.Account}
	}
	if e.Err == nil {
		a.log.Record(act, audit.Result{Outcome: audit.Succeeded})
		return
	}
	result := audit.Result{Outcome: audit.Failed, Detail: e.Err.Error()}
	if f, ok := fault.From(e.Err); ok {
		result.Code = f.Code
	}
	switch fault.KindOf(e.Err) {
	case fault.Unauthenticated, fault.TooMany, fault.Canceled:
		result.Outcome = audit.Refused
	}
	a.log.RecordRefused(act, result)
}

// OnSignOut records that the holder of a session ended it. It is accounts.Options.OnSignOut.
func (a *Audit) OnSignOut(_ context.Context, e accounts.LoginEvent) {
	a.log.Record(audit.Act{Actor: e.Account, Role: string(e.Role), Session: e.Session, Address: e.Address, Via: "rest", Action: "logout",
		Objects: []string{e.Account}}, audit.Result{Outcome: audit.Succeeded})
}

// Part returns what the audit log contributes to a server. It comes first, so that it is closed last.
func (a *Audit) Part() server.Part {
	return server.Part{Name: "audit", Operations: Operations(), Routes: a.routes, Checks: []health.Check{{Name: "audit", Run: a.check}},
		Metrics: []prometheus.Collector{newCollector(a.log.Stats)}, Close: a.log.Close}
}

func (a *Audit) routes(r server.Router) error {
	api, err := auditapi.New(a.log, auditapi.Options{})
	if err != nil {
		return err
	}
	api.Mount(r)
	return nil
}

// check is Degraded while entries cannot be stored: changes are refused then, and reading works.
func (a *Audit) check(context.Context) health.Result {
	s := a.log.Stats()
	r := health.Result{Status: health.Healthy, Description: "changes are recorded", Data: map[string]any{"pending": s.Pending, "lost": s.Lost}}
	if s.Lost > 0 {
		r.Description = fmt.Sprintf("changes are recorded; entries lost since the start: %d", s.Lost)
	}
	if s.Failing {
		r.Status, r.Description = health.Degraded, "the audit log cannot be written; changes are refused"
	}
	return r
}

// Operations are the operations of the part.
func Operations() []auth.Operation {
	const base = "/api/v1/audit"
	return []auth.Operation{
		{ID: "listAudit", Method: http.MethodGet, Path: base, Access: auth.Admin, Gzip: true},
		{ID: "getAuditRecord", Method: http.MethodGet, Path: base + "/{id}", Access: auth.Admin},
		{ID: "exportAudit", Method: http.MethodGet, Path: base + "/export", Access: auth.Admin, Gzip: true},
		{ID: "verifyAudit", Method: http.MethodGet, Path: base + "/verification", Access: auth.Admin},
	}
}
