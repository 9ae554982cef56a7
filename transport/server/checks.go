package server

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"time"

	"github.com/otkit/otkit/transport/health"
)

// addChecks registers the health checks of the server and of the parts.
func (s *Server) addChecks() error {
	checks := []health.Check{{Name: "open-surfaces", Run: s.checkOpenSurfaces}}
	if s.opts.Certificate != nil {
		checks = append(checks, health.Check{Name: "tls", Run: s.checkCertificate})
	}
	for _, p := range s.parts {
		checks = append(checks, p.Checks...)
	}
	for _, c := range checks {
		if err := s.health.Add(c); err != nil {
			return err
		}
	}
	return nil
}

const notStarted = `{"status":"Unhealthy","results":{"server":{"status":"Unhealthy","description":"not started","data":{}}}}`

// onceStarted answers that the server is Unhealthy until Start was called: a host's server may serve the Handler before, and the
// jobs would not run.
func (s *Server) onceStarted(report http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if s.started.Load() {
			report.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, notStarted)
	}
}

// checkOpenSurfaces shows to whom the surfaces without a token are open. It names no network: everybody may ask.
func (s *Server) checkOpenSurfaces(context.Context) health.Result {
	word, text := s.access.openness()
	return health.Result{Status: health.Healthy, Description: text, Data: map[string]any{"openTo": word}}
}

// ExpiryWarning is how long before its end a certificate is reported.
const ExpiryWarning = 14 * 24 * time.Hour

// checkCertificate is Degraded when the certificate expires soon, or when the files that are there cannot be used.
func (s *Server) checkCertificate(context.Context) health.Result {
	status := s.opts.Certificate()
	left := status.NotAfter.Sub(s.opts.Now())
	r := health.Result{Status: health.Healthy, Data: map[string]any{
		"notAfter": status.NotAfter.UTC().Format(time.RFC3339), "daysLeft": math.Floor(left.Hours() / 24)}}
	r.Description = fmt.Sprintf("the certificate is valid for %.0f days", math.Floor(left.Hours()/24))
	switch {
	case left <= 0:
		r.Status, r.Description = health.Degraded, "the certificate has expired"
	case status.Err != nil: // it was logged
		r.Status, r.Description = health.Degraded, "the files of the certificate cannot be used; the last good ones serve"
	case left < ExpiryWarning:
		r.Status = health.Degraded
	}
	return r
}
