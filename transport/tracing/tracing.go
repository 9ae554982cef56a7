package tracing

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.40.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Protocol is the form of OTLP that the collector speaks.
type Protocol string

// The protocols.
const (
	HTTP Protocol = "http" // protobuf over HTTP, usually on port 4318
	GRPC Protocol = "grpc" // usually on port 4317
)

// Options of Start. Headers for the collector, such as a key, come from the standard environment
// variable OTEL_EXPORTER_OTLP_HEADERS.
type Options struct {
	Endpoint    string       // URL of the collector, such as "http://collector:4318"; empty is no tracing
	Protocol    Protocol     // empty is HTTP
	ServiceName string       // empty is "otkit"
	Version     string       // of the program
	SampleRatio float64      // share of new traces that are recorded, above 0 to 1; 0 is 1. A caller's decision is kept
	Logger      *slog.Logger // for spans that could not be sent; nil discards
}

// Start returns the provider of tracers. Spans are sent in batches in the background; the queue is
// bounded, and spans beyond it are dropped. shutdown sends what is left and must be called, also
// without tracing. An unreachable collector is not an error: sending is retried.
func Start(ctx context.Context, o Options) (provider trace.TracerProvider, shutdown func(context.Context) error, err error) {
	if o.Endpoint == "" {
		return noop.NewTracerProvider(), func(context.Context) error { return nil }, nil
	}
	if o.SampleRatio < 0 || o.SampleRatio > 1 || o.SampleRatio != o.SampleRatio {
		return nil, nil, fmt.Errorf("tracing: SampleRatio is %v, must be 0 to 1", o.SampleRatio)
	}
	if o.SampleRatio == 0 {
		o.SampleRatio = 1
	}
	if o.ServiceName == "" {
		o.ServiceName = "otkit"
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	exporter, err := newExporter(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	p := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(logged{exporter, o.Logger}),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(o.SampleRatio))),
		sdktrace.WithResource(resource.NewSchemaless(
			semconv.ServiceName(o.ServiceName), semconv.ServiceVersion(o.Version))),
	)
	return p, p.Shutdown, nil
}

func newExporter(ctx context.Context, o Options) (sdktrace.SpanExporter, error) {
	u, err := url.Parse(o.Endpoint)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil {
		return nil, fmt.Errorf("tracing: Endpoint is no URL of the form http(s)://host:port")
	}
	switch o.Protocol {
	case HTTP, "":
		if u.Path == "" || u.Path == "/" {
			u.Path = "/v1/traces"
		}
		exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(u.String()))
		if err != nil {
			return nil, fmt.Errorf("tracing: %w", err)
		}
		return exporter, nil
	case GRPC:
		exporter, err := otlptracegrpc.New(ctx, otlptracegrpc.WithEndpointURL(u.String()))
		if err != nil {
			return nil, fmt.Errorf("tracing: %w", err)
		}
		return exporter, nil
	}
	return nil, fmt.Errorf("tracing: Protocol is %q, must be http or grpc", o.Protocol)
}

// logged reports failures to send to the server's log; otherwise they would go to a handler that is
// global to the process.
type logged struct {
	sdktrace.SpanExporter
	log *slog.Logger
}

func (l logged) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if err := l.SpanExporter.ExportSpans(ctx, spans); err != nil {
		l.log.Warn("spans could not be sent", "count", len(spans), "error", err)
	}
	return nil
}
