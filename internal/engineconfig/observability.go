package engineconfig

import (
	"io"
	"log/slog"
	"net/url"

	"github.com/otkit/otkit/internal/logging"
	"github.com/otkit/otkit/internal/settings"
	"github.com/otkit/otkit/transport/tracing"
)

// Metrics is the page for Prometheus.
type Metrics struct {
	Token string `key:"token" secret:"true" rule:"token" doc:"Bearer token that /metrics accepts besides those of accounts, from everywhere."`
}

// Log is the log of the engine.
type Log struct {
	Level    string `key:"level" default:"info" rule:"debug|info|warn|error" doc:"Lowest level that is logged. SIGHUP applies a change."`
	Format   string `key:"format" default:"text" rule:"text|json" doc:"Form of a line."`
	Requests bool   `key:"requests" default:"true" doc:"One line for each HTTP request and gRPC call."`
}

// SlogLevel returns the level.
func (l Log) SlogLevel() slog.Level {
	var level slog.Level
	_ = level.UnmarshalText([]byte(l.Level)) // validated
	return level
}

// New returns the log. It sets level, through which the level can be changed; nil is fine.
func (l Log) New(out io.Writer, level *slog.LevelVar) *slog.Logger {
	if level == nil {
		level = new(slog.LevelVar)
	}
	level.Set(l.SlogLevel())
	return logging.New(out, logging.Options{Level: level, JSON: l.Format == "json"})
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
