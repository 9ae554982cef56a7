package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/internal/version"
	"github.com/otkit/otkit/transport/alertingapi/alertingpart"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/health"
	"github.com/otkit/otkit/transport/remote"
	"github.com/otkit/otkit/transport/server"
)

// Operations are the operations of the engine itself, without those of its parts.
func Operations() []auth.Operation {
	return []auth.Operation{{ID: "getEngine", Method: http.MethodGet, Path: infoPath, Access: auth.Viewer}}
}

const infoPath = "/api/v1/engine"

func (e *Engine) routes(r server.Router) error {
	text, err := json.Marshal(struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}{e.opts.Name, cmp.Or(e.opts.Server.Version, version.String())})
	r.Get(infoPath, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text)
	})
	return err
}

// own is the part of the engine itself: its name, the check of its storage, and alarms about the platform.
func (e *Engine) own() server.Part {
	p := server.Part{Name: "engine", Operations: Operations(), Routes: e.routes, Checks: []health.Check{{Name: "storage", Ready: true, Run: e.checkStorage}},
		Jobs: []func(context.Context){e.notices.run}}
	if e.opts.Server.Certificate != nil {
		p.Jobs = append(p.Jobs, e.watchCertificate)
	}
	return p
}

func (e *Engine) checkStorage(ctx context.Context) health.Result {
	if e.opts.Ping == nil {
		return health.Result{Status: health.Healthy, Description: "kept in memory"}
	}
	if err := e.opts.Ping(ctx); err != nil {
		if ctx.Err() != context.Canceled && !e.storageFails.Swap(true) { // else the server stops
			e.opts.Server.Logger.Warn("storage is not usable", "error", err)
		}
		return health.Result{Status: health.Unhealthy, Description: "the database cannot be used"}
	}
	if e.storageFails.Swap(false) {
		e.opts.Server.Logger.Info("storage is usable again")
	}
	if e.opts.Shortage != nil {
		if text := e.opts.Shortage(); text != "" {
			return health.Result{Status: health.Degraded, Description: text}
		}
	}
	return health.Result{Status: health.Healthy, Description: "the database answers"}
}

// onRefused raises an alarm where a refusal costs alerts.
func (n *notices) onRefused(next func(context.Context, auth.Operation, error)) func(context.Context, auth.Operation, error) {
	return func(ctx context.Context, op auth.Operation, err error) {
		if next != nil {
			next(ctx, op, err)
		}
		if op.ID != alertingpart.WebhookOperation {
			return
		}
		from, _ := remote.From(ctx)
		n.raise(webhookRefused, fmt.Sprintf("A post to the alert webhook from %s was refused: its alerts were not taken. "+
			"See Auth__OpenSurfacesFrom, Alerting__WebhookToken, Server__AllowedHosts and Server__TrustedProxies.", from))
	}
}

func (e *Engine) onMaxTags(ctx context.Context, limit int) {
	from, _ := remote.From(ctx)
	e.notices.raise(tagCapReached, fmt.Sprintf("Tags that %s wanted to add without a token were refused: the configuration has reached Tags__MaxWithoutToken (%d).",
		from, limit))
}

// expiryEvery is how often the end of the certificate is looked at.
const expiryEvery = 15 * time.Second

// watchCertificate keeps an alarm for a certificate that expires soon, until ctx ends.
func (e *Engine) watchCertificate(ctx context.Context) {
	const failure = "failed to store the alarm of the certificate"
	last := new(string)
	keep := func(ctx context.Context) error { return e.alarmCertificate(ctx, last) }
	if err := keep(ctx); err != nil && ctx.Err() == nil {
		e.opts.Server.Logger.Error(failure, "error", err)
	}
	server.Every(expiryEvery, e.opts.Server.Logger, failure, keep)(ctx)
}

// alarmCertificate raises, changes or clears the alarm. last is what the alarm was about; it is cleared at a
// start too, since the certificate may have been replaced while the server was down.
func (e *Engine) alarmCertificate(ctx context.Context, last *string) error {
	status := e.opts.Server.Certificate()
	left := status.NotAfter.Sub(e.opts.Server.Now())
	key := "engine:tls-certificate"
	if e.opts.Shared != nil {
		key += ":" + cmp.Or(e.cluster.Engine(), e.opts.Alerting.Owner)
	}
	signal, about := alarms.Signal{Key: key}, "valid"
	if left < server.ExpiryWarning {
		severity, message := alarms.Warning, "The TLS certificate of the engine expires on "
		if left <= 0 {
			severity, message = alarms.Critical, "The TLS certificate of the engine has expired on "
		}
		about = message + status.NotAfter.UTC().Format("2006-01-02")
		signal.Raise = &alarms.Alarm{Key: key, Source: "engine", SourceType: "Equipment", Severity: severity, Message: about}
	}
	if about == *last {
		return nil
	}
	if _, err := e.alarms.Service().Apply(ctx, []alarms.Signal{signal}); err != nil {
		return err
	}
	*last = about
	return nil
}
