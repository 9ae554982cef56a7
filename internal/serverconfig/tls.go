package serverconfig

import (
	"fmt"
	"log/slog"
	"net/url"
	"strings"

	"github.com/otkit/otkit/internal/settings"
	"github.com/otkit/otkit/transport/oneport"
	"github.com/otkit/otkit/transport/remote"
)

// TLS turns transport security on.
type TLS struct {
	CertFile          string `key:"certFile" doc:"PEM file with the certificate and the intermediate ones. With it the port uses TLS. It is read again when it changes, and at SIGHUP."`
	KeyFile           string `key:"keyFile" doc:"PEM file with the private key of the certificate."`
	ClientCAFile      string `key:"clientCaFile" doc:"PEM file with the authorities of client certificates; if empty, no client certificate is requested."`
	RequireClientCert bool   `key:"requireClientCert" default:"false" doc:"Refuse clients without a certificate."`
}

// CORS lists the web pages of other origins that may call.
type CORS struct {
	AllowedOrigins []string `key:"allowedOrigins" doc:"Origins such as https://hmi.example.com; * alone for any."`
}

// Validate implements settings.Validator.
func (t TLS) Validate(p *settings.Problems) {
	Together(p, "keyFile", t.KeyFile != "", "certFile", t.CertFile != "")
	Together(p, "certFile", t.CertFile != "", "keyFile", t.KeyFile != "")
	Together(p, "certFile", t.CertFile != "", "clientCaFile", t.ClientCAFile != "")
	Together(p, "clientCaFile", t.ClientCAFile != "", "requireClientCert", t.RequireClientCert)
}

// Validate implements settings.Validator.
func (c CORS) Validate(p *settings.Problems) {
	for i, origin := range c.AllowedOrigins {
		if origin == "*" {
			if len(c.AllowedOrigins) > 1 {
				p.Add("allowedOrigins", "must not have others beside *")
			}
			continue
		}
		u, err := url.Parse(origin)
		p.Must(err == nil && u.Scheme != "" && u.Host != "" && origin == u.Scheme+"://"+u.Host,
			fmt.Sprintf("allowedOrigins[%d]", i), "must be scheme://host or scheme://host:port")
	}
}

// Together adds a problem where a setting is missing that another one needs.
func Together(p *settings.Problems, needed string, isSet bool, by string, bySet bool) {
	if bySet && !isSet {
		p.Needed(needed, by)
	}
}

// Networks adds a problem for each text that is neither an address nor a CIDR.
func Networks(p *settings.Problems, path string, texts []string) {
	for i, text := range texts {
		if _, err := remote.ParseNetwork(text); err != nil {
			p.Must(false, fmt.Sprintf("%s[%d]", path, i), err.Error())
		}
	}
}

// Certificates opens the files of the certificate, nil without TLS.
func (t TLS) Certificates(log *slog.Logger) (*oneport.CertificateFiles, error) {
	if t.CertFile == "" {
		return nil, nil
	}
	return oneport.OpenCertificates(oneport.CertificateOptions{CertFile: t.CertFile, KeyFile: t.KeyFile,
		ClientCAFile: t.ClientCAFile, RequireClientCert: t.RequireClientCert, Logger: log})
}

// Hosts adds a problem for each text that is no name of a host.
func Hosts(p *settings.Problems, path string, hosts []string) {
	for i, host := range hosts {
		if host != "*" {
			p.Must(host != "" && !strings.ContainsAny(host, "/:*@ "), fmt.Sprintf("%s[%d]", path, i), "must be a name such as plant.example.com, without scheme and port")
		} else if len(hosts) > 1 {
			p.Add(path, "must not have others beside *")
		}
	}
}
