package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"time"

	"github.com/otkit/otkit/audit"
	"github.com/otkit/otkit/internal/version"
	"github.com/otkit/otkit/openapi"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/metrics"
	"github.com/otkit/otkit/transport/oneport"
	"github.com/otkit/otkit/transport/tracing"
)

// Options configure a Server. Only Authenticator is required.
type Options struct {
	// Authenticator determines who makes a call, over HTTP, gRPC and hubs alike. Required.
	Authenticator auth.Authenticator

	Listen       string                           // TCP address, such as :5001; without it and Listener the server opens no port
	Listener     net.Listener                     // taken instead of Listen; the server closes it
	TLS          *tls.Config                      // nil serves without TLS; see oneport.Certificates
	Certificate  func() oneport.CertificateStatus // of the certificate, for health and metrics; may be nil
	MaxConns     int                              // open connections of all ports together; default oneport.DefaultMaxConns
	MaxBodyBytes int64                            // of one request; default 8 MiB
	MaxStreams   int                              // open streams of one caller, gRPC and server-sent events together; default 100
	CORSOrigins  []string                         // origins that browsers may call from; default none

	// PartListeners are further ports, each for the HTTP routes of some parts only. All else that is set here holds for
	// them too. If there are n, each has a share of its own of the connections, 1/(n+7) but at least 1, and the ports
	// that serve everything share the rest, at least 1: a flood on one port takes no place of another.
	PartListeners []PartListener

	HeaderTimeout time.Duration // longest time for the head of a request; default 10 s
	IdleTimeout   time.Duration // between two requests, or gRPC calls, on one connection; default 2 min

	Access AccessOptions
	// OnRefused is called with each call to an operation marked OpenSurface that was refused for good, and
	// why. It must not wait. It may be nil.
	OnRefused func(ctx context.Context, op auth.Operation, err error)

	// Audit records the calls that change something; while it cannot be written, they are refused. Nil: nothing is
	// recorded. Whoever made it closes it, after the server.
	Audit *audit.Log

	// Document is the OpenAPI document at /openapi.yaml and /docs. Default: that of the engine.
	Document []byte
	// HealthMembers returns what the bodies of /health and /health/ready have beside status and results. It must return
	// immediately, with values that JSON has a form for. It may be nil.
	HealthMembers func() map[string]any

	Tracing tracing.Options  // Endpoint empty: no tracing
	Metrics *metrics.Metrics // default: new metrics. They cannot be shared by servers
	// MetricsToken is a bearer token that /metrics takes besides those of accounts, from everywhere.
	MetricsToken string

	Logger    *slog.Logger     // default: discards
	AccessLog bool             // one line for each HTTP request and gRPC call
	Now       func() time.Time // default: time.Now
	Version   string           // shown in metrics, traces and logs; default dev
}

func (o Options) withDefaults() (Options, error) {
	switch {
	case o.Authenticator == nil:
		return o, errors.New("server: Options.Authenticator is required")
	case o.MaxStreams < 0:
		return o, errors.New("server: Options.MaxStreams must not be negative")
	case o.MaxConns < 0:
		return o, errors.New("server: Options.MaxConns must not be negative")
	}
	o.Version = cmp.Or(o.Version, version.String())
	o.MaxStreams = cmp.Or(o.MaxStreams, 100)
	o.Access.withDefaults()
	o.MaxConns = cmp.Or(o.MaxConns, oneport.DefaultMaxConns)
	o.HeaderTimeout = cmp.Or(o.HeaderTimeout, 10*time.Second)
	o.IdleTimeout = cmp.Or(o.IdleTimeout, 2*time.Minute)
	if o.Metrics == nil {
		o.Metrics = metrics.New(metrics.Options{Version: o.Version})
	}
	o.ground()
	if o.Document == nil {
		o.Document = openapi.Document
	}
	return o, nil
}

// ground sets the defaults of the clock and the logger.
func (o *Options) ground() {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
}

// Inherit sets the clock and the logger of a part to those of the server, or their defaults, where the part has none of its own.
func (o *Options) Inherit(now *func() time.Time, logger **slog.Logger) {
	o.ground()
	if *now == nil {
		*now = o.Now
	}
	if *logger == nil {
		*logger = o.Logger
	}
}
