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

// Certificates returns the TLS configuration of [OpenCertificates].
func Certificates(o CertificateOptions) (*tls.Config, error) {
	c, err := OpenCertificates(o)
	if err != nil {
		return nil, err
	}
	return c.Config(), nil
}

// CertificateStatus is what is known of a server's certificate.
type CertificateStatus struct {
	NotAfter time.Time // when the first certificate of the chain in use expires
	Err      error     // why the files that are there now are not in use; nil when they are
}

// OpenCertificates returns a TLS configuration (TLS 1.2 and newer) that takes over changed files without a
// restart: when a client connects or Status is called, at most once a second, the files' times and sizes
// are looked at. While the new files are missing, cannot be read, are broken or do not fit together, which
// is logged, the last good ones serve and the new ones are tried again. Open connections keep the certificate they began with.
//
// A client certificate, where one is given, is verified; see http.Request.TLS and, for gRPC,
// Credentials.
func OpenCertificates(o CertificateOptions) (*CertificateFiles, error) {
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
	r := &CertificateFiles{o: o, checked: o.Now(), seen: stampsOf(o)}
	cfg, err := r.load()
	if err != nil {
		return nil, err
	}
	r.current = cfg
	return r, nil
}

// Config returns the configuration for a listener.
func (r *CertificateFiles) Config() *tls.Config {
	r.mu.Lock()
	outer := r.current.Clone()
	r.mu.Unlock()
	outer.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return r.config(), nil }
	return outer
}

// Status returns what is known of the certificate, after a look at the files.
func (r *CertificateFiles) Status() CertificateStatus {
	cfg := r.config()
	r.mu.Lock()
	defer r.mu.Unlock()
	s := CertificateStatus{Err: r.failed}
	for _, der := range cfg.Certificates[0].Certificate {
		if c, err := x509.ParseCertificate(der); err == nil && (s.NotAfter.IsZero() || c.NotAfter.Before(s.NotAfter)) {
			s.NotAfter = c.NotAfter
		}
	}
	return s
}

// Reload reads the files now, whether they have changed or not. When they are not usable, the last good
// ones stay and the reason is returned.
func (r *CertificateFiles) Reload() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.checked, r.seen = r.o.Now(), stampsOf(r.o)
	r.reload()
	return r.failed
}

// CertificateFiles are the files of a server's certificate and the last good configuration made of them.
// Safe for concurrent use.
type CertificateFiles struct {
	o CertificateOptions

	mu      sync.Mutex
	current *tls.Config
	checked time.Time
	seen    [3]stamp // of the files as they were last loaded, in vain or not
	failed  error    // why they were loaded in vain; they are tried again then
}

// stamp identifies a state of a file.
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

func (r *CertificateFiles) config() *tls.Config {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.o.Now()
	if now.Sub(r.checked) < checkEvery && !now.Before(r.checked) {
		return r.current
	}
	r.checked = now
	stamps := stampsOf(r.o)
	if stamps == r.seen && r.failed == nil {
		return r.current // rights to a file may change without a change of its time, so what failed is tried again
	}
	r.seen = stamps
	r.reload()
	return r.current
}

// reload loads the files. mu is held.
func (r *CertificateFiles) reload() {
	cfg, err := r.load()
	if err != nil {
		if r.failed == nil || r.failed.Error() != err.Error() {
			r.o.Logger.Error("TLS files are not usable, the last good ones stay", "error", err)
		}
		r.failed = err
		return
	}
	r.o.Logger.Info("TLS files were taken over", "certFile", r.o.CertFile)
	r.current, r.failed = cfg, nil
}

func (r *CertificateFiles) load() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(r.o.CertFile, r.o.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("CertFile and KeyFile: %w", err)
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}
	if r.o.ClientCAFile == "" {
		return cfg, nil
	}
	pem, err := os.ReadFile(r.o.ClientCAFile)
	if err != nil {
		return nil, fmt.Errorf("ClientCAFile: %w", err)
	}
	cfg.ClientCAs = x509.NewCertPool()
	if !cfg.ClientCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("ClientCAFile: %s has no certificate", r.o.ClientCAFile)
	}
	cfg.ClientAuth = tls.VerifyClientCertIfGiven
	if r.o.RequireClientCert {
		cfg.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return cfg, nil
}
