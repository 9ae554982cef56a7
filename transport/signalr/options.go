package signalr

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/otkit/otkit/transport/middleware"
)

// Options configures a [Hub]. Zero values take the defaults.
type Options struct {
	// Lifetime returns a connection a context at whose end the client is asked to reconnect, and a
	// function that is called when the connection has ended. ctx has the values of the request that connected, without its
	// cancellation and deadline. Default: no limit.
	Lifetime func(ctx context.Context) (lifetime context.Context, stop func())

	// AllowedOrigins are those of web pages on other hosts that may open a WebSocket, such as
	// "https://hmi.example.com"; "*" alone is any. The browser itself guards the other transports.
	AllowedOrigins []string

	// Owner returns whose a connection is, from the context of the request that begins it: the principal, or "" if anonymous,
	// and the address, or "" where it is not known. Requests of another principal for the connection are answered 403.
	// Default: connections have no owner.
	Owner           func(ctx context.Context) (principal, address string)
	MaxPerPrincipal int // connections of one principal, with those that are only negotiated; default 100, negative for no limit. More are answered 429
	MaxPerAddress   int // connections of one address, likewise; default 1,000, negative for no limit

	MaxConnections  int // with those that are only negotiated; default 10,000. More are answered 503
	MaxMessageBytes int // longest message, frame or request body of a client; default 32 KiB

	// A client with more queued messages or bytes than this is cut. A single message is always accepted.
	QueueMessages int // default 4,096
	QueueBytes    int // default 4 MiB

	// Methods are the methods that clients may invoke, by their exact names. What a client invokes beyond the limits is refused with an error,
	// or dropped if the client expects no answer.
	Methods        map[string]Method
	MaxInvocations int // invocations of one connection that may wait for those before; default 16
	InvocationRate int // invocations of one connection a second, as many of which may come together; default 20

	HandshakeTimeout time.Duration // from negotiation to connection, and from there to the end of the handshake; default 15 s
	KeepAlive        time.Duration // time without a message to a client after which it gets a ping; default 15 s
	ClientTimeout    time.Duration // time without a message from a client that pings, after which it is closed; default 30 s
	WriteTimeout     time.Duration // for writing some messages to a client; default 10 s
	PollTimeout      time.Duration // longest wait of one long poll; default 90 s. The stock client waits 100 s
	PollIdle         time.Duration // time between two long polls after which a client is dropped; default 30 s

	Logger *slog.Logger // default: discards
}

func (o *Options) complete() error {
	for _, field := range [...]struct {
		name         string
		value        *int
		defaultValue int
	}{
		{"MaxConnections", &o.MaxConnections, 10_000},
		{"MaxMessageBytes", &o.MaxMessageBytes, 32 << 10},
		{"QueueMessages", &o.QueueMessages, 4096},
		{"QueueBytes", &o.QueueBytes, 4 << 20},
		{"MaxInvocations", &o.MaxInvocations, 16},
		{"InvocationRate", &o.InvocationRate, 20},
	} {
		if err := complete(field.name, field.value, field.defaultValue); err != nil {
			return err
		}
	}
	for _, field := range [...]struct {
		name         string
		value        *time.Duration
		defaultValue time.Duration
	}{
		{"HandshakeTimeout", &o.HandshakeTimeout, 15 * time.Second},
		{"KeepAlive", &o.KeepAlive, 15 * time.Second},
		{"ClientTimeout", &o.ClientTimeout, 30 * time.Second},
		{"WriteTimeout", &o.WriteTimeout, 10 * time.Second},
		{"PollTimeout", &o.PollTimeout, 90 * time.Second},
		{"PollIdle", &o.PollIdle, 30 * time.Second},
	} {
		if err := complete(field.name, field.value, field.defaultValue); err != nil {
			return err
		}
	}
	o.MaxPerPrincipal = cmp.Or(o.MaxPerPrincipal, 100)
	o.MaxPerAddress = cmp.Or(o.MaxPerAddress, 1000)
	if o.Owner == nil {
		o.Owner = func(context.Context) (string, string) { return "", "" }
	}
	if o.Lifetime == nil {
		o.Lifetime = func(ctx context.Context) (context.Context, func()) { return ctx, func() {} }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if _, err := middleware.CORS(middleware.CORSOptions{Origins: o.AllowedOrigins}); err != nil {
		return fmt.Errorf("signalr: AllowedOrigins: %w", err)
	}
	return nil
}

func complete[T int | time.Duration](name string, value *T, defaultValue T) error {
	if *value < 0 {
		return fmt.Errorf("signalr: %s is %v, must not be negative", name, *value)
	}
	*value = cmp.Or(*value, defaultValue)
	return nil
}
