package middleware

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/otkit/otkit/transport/internal/restapi"
)

// ServerOptions are the limits of an HTTP server. Zero values take the defaults.
type ServerOptions struct {
	HeaderTimeout  time.Duration // from a request's first byte to the end of its head; 10 s
	RequestTimeout time.Duration // from a request's first byte to the end of its body; 60 s
	WriteTimeout   time.Duration // from the end of the head to the end of the answer; 60 s. See Stream
	IdleTimeout    time.Duration // between two requests on one connection; 120 s
	MaxHeaderBytes int           // head of a request; 64 KiB
	Logger         *slog.Logger  // for what net/http complains about, at Debug; nil discards
}

// NewServer returns a server that a slow or silent client cannot hold up. A handler that streams calls
// Stream, or it is cut off after WriteTimeout.
func NewServer(h http.Handler, o ServerOptions) (*http.Server, error) {
	for _, field := range [...]struct {
		name         string
		value        *time.Duration
		defaultValue time.Duration
	}{
		{"HeaderTimeout", &o.HeaderTimeout, 10 * time.Second},
		{"RequestTimeout", &o.RequestTimeout, time.Minute},
		{"WriteTimeout", &o.WriteTimeout, time.Minute},
		{"IdleTimeout", &o.IdleTimeout, 2 * time.Minute},
	} {
		if *field.value < 0 {
			return nil, fmt.Errorf("middleware: %s is %v, must not be negative", field.name, *field.value)
		}
		if *field.value == 0 {
			*field.value = field.defaultValue
		}
	}
	if o.MaxHeaderBytes < 0 {
		return nil, fmt.Errorf("middleware: MaxHeaderBytes is %d, must not be negative", o.MaxHeaderBytes)
	}
	if o.MaxHeaderBytes == 0 {
		o.MaxHeaderBytes = 64 << 10
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if h == nil {
		return nil, errors.New("middleware: NewServer: the handler is nil")
	}
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: o.HeaderTimeout,
		ReadTimeout:       o.RequestTimeout,
		WriteTimeout:      o.WriteTimeout,
		IdleTimeout:       o.IdleTimeout,
		MaxHeaderBytes:    o.MaxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
	}, nil
}

// Stream lifts the server's time limits from one answer, for handlers that stream without an end. The
// handler should limit the time of each write itself, with http.ResponseController.
func Stream(w http.ResponseWriter) error { return restapi.Stream(w) }
