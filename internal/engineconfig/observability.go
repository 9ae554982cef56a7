package engineconfig

import (
	"log/slog"
	"net/url"

	"github.com/otkit/otkit/internal/settings"
	"github.com/otkit/otkit/transport/tracing"
)

// Metrics is the page for Prometheus.
type Metrics struct {
	Token string `key:"token" secret:"true" rule:"token" doc:"Bearer token that /metrics accepts besides those of accounts, from everywhere."`
}

// Console is the page at /.
type Console struct {
	Enabled bool `key:"enabled" default:"true" doc:"Whether the web console is served at /."`
}

// Tracing sends traces to an OpenTelemetry collector.
type Tracing struct {
	Endpoint    string  `key:"endpoint" secret:"url" doc:"URL of a collector, such as http://collector:4318; empty for no tracing."`
	Protocol    string  `key:"protocol" default:"http" rule:"http|grpc" doc:"Protocol that carries OTLP."`
	SampleRatio float64 `key:"sampleRatio" default:"1" rule:">0..1" doc:"Share of new traces that are recorded."`
}

// Validate implements settings.Validator.
func (t Tracing) Validate(p *settings.Problems) {
	if t.Endpoint != "" {
		u, err := url.Parse(t.Endpoint)
		p.Must(err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil,
			"endpoint", "must be a URL such as http://collector:4318, without a user")
	}
}

func (t Tracing) options(version string, log *slog.Logger) tracing.Options {
	return tracing.Options{Endpoint: t.Endpoint, Protocol: tracing.Protocol(t.Protocol), SampleRatio: t.SampleRatio, Version: version, Logger: log}
}
