package oneport

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// checkEvery is how often the certificate files are looked at, at most.
const checkEvery = time.Second

// CertificateOptions name the files of a server's certificate.
type CertificateOptions struct {
	CertFile          string // PEM: the server's certificate, then the intermediate ones
	KeyFile           string // PEM: its private key
	ClientCAFile      string // PEM: authorities whose client certificates are accepted; empty asks for none
	RequireClientCert bool   // refuse clients without a certificate; needs ClientCAFile
	Now               func() time.Time
	Logger            *slog.Logger // nil discards
}

// Certificates gives a TLS configuration (TLS 1.2 and newer) that takes over changed files without a
// restart: when a client connects, at most once a second, the files' times and sizes are looked at.
// While the new files are missing, broken or do not fit together, which is logged, the last good
// ones serve. Open connections keep the certificate they began with.
//
// A client certificate, where one is given, is verified; see http.Request.TLS and, for gRPC,
// Credentials.
func Certificates(o CertificateOptions) (*tls.Config, error) {
	switch {
	case o.CertFile == "":
		return nil, errors.New("oneport: CertFile is needed")
	case o.KeyFile == "":
		return nil, errors.New("oneport: KeyFile is needed")
	case o.RequireClientCert && o.ClientCAFile == "":
		return nil, errors.New("oneport: RequireClientCert needs ClientCAFile")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	r := &reloader{CertificateOptions: o, checked: o.Now(), seen: stampsOf(o)}
	cfg, err := r.load()
	if err != nil {
		return nil, fmt.Errorf("oneport: %w", err)
	}
	r.current = cfg
	outer := cfg.Clone()
	outer.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return r.config(), nil }
	return outer, nil
}

// reloader keeps the last good configuration.
type reloader struct {
	CertificateOptions

	mu      sync.Mutex
	current *tls.Config
	checked time.Time
	seen    [3]stamp // of the files as they were last loaded, in vain or not
}

// stamp tells one state of a file from another.
type stamp struct {
	modified time.Time
	size     int64
}

func stampsOf(o CertificateOptions) (stamps [3]stamp) {
	for i, name := range [...]string{o.CertFile, o.KeyFile, o.ClientCAFile} {
		if info, err := os.Stat(name); err == nil { // a missing file has the zero stamp
			stamps[i] = stamp{info.ModTime(), info.Size()}
		}
	}
	return stamps
}

func (r *reloader) config() *tls.Config {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.Now()
	if now.Sub(r.checked) < checkEvery && !now.Before(r.checked) {
		return r.current
	}
	r.checked = now
	stamps := stampsOf(r.CertificateOptions)
	if stamps == r.seen {
		return r.current
	}
	r.seen = stamps
	cfg, err := r.load()
	if err != nil {
		r.Logger.Error("changed TLS files are not usable, the last good ones stay", "error", err)
		return r.current
	}
	r.Logger.Info("TLS files changed and were taken over", "certFile", r.CertFile)
	r.current = cfg
	return cfg
}

func (r *reloader) load() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(r.CertFile, r.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("CertFile and KeyFile: %w", err)
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}
	if r.ClientCAFile == "" {
		return cfg, nil
	}
	pem, err := os.ReadFile(r.ClientCAFile)
	if err != nil {
		return nil, fmt.Errorf("ClientCAFile: %w", err)
	}
	cfg.ClientCAs = x509.NewCertPool()
	if !cfg.ClientCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("ClientCAFile: %s has no certificate", r.ClientCAFile)
	}
	cfg.ClientAuth = tls.VerifyClientCertIfGiven
	if r.RequireClientCert {
		cfg.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return cfg, nil
}
