package engineconfig

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/internal/serverconfig"
	"github.com/otkit/otkit/internal/settings"
	"github.com/otkit/otkit/transport/accountsapi/accountspart"
	"github.com/otkit/otkit/transport/auth"
)

// Auth is about accounts and tokens.
type Auth struct {
	AdminUsername       string   `key:"adminUsername" default:"admin" doc:"Name of the account that the first start creates."`
	AdminPassword       string   `key:"adminPassword" secret:"true" doc:"Password of that account; if empty, a random one is created and printed once."`
	AccessTokenMinutes  int      `key:"accessTokenMinutes" default:"60" rule:"1..1440" doc:"Lifetime of an access token in minutes."`
	RefreshTokenHours   int      `key:"refreshTokenHours" default:"168" rule:"1..8760" doc:"Lifetime of a login without a refresh, in hours."`
	ProtectOpenSurfaces bool     `key:"protectOpenSurfaces" default:"false" doc:"Require a token also where none is required otherwise; overrides openSurfacesFrom."`
	OpenSurfacesFrom    []string `key:"openSurfacesFrom" doc:"Addresses and networks (CIDR) from which tag configuration, silences, alert history, the alert webhook, predictions and metrics need no token, besides loopback; 0.0.0.0/0,::/0 for everywhere."`
	Issuer              string   `key:"issuer" default:"otkit" rule:"required" doc:"Claim iss of the engine's own tokens."`
	Audience            string   `key:"audience" default:"otkit" rule:"required" doc:"Claim aud of the engine's own tokens."`
	OIDC                OIDC     `key:"oidc"`
}

// OIDC is an external OpenID Connect issuer whose tokens are accepted too.
type OIDC struct {
	Issuer     string `key:"issuer" doc:"URL of an OpenID Connect issuer whose tokens are accepted too, https, or http on a loopback address; empty for none."`
	Audience   string `key:"audience" doc:"Required member of the claim aud of its tokens; needed with an issuer."`
	RolesClaim string `key:"rolesClaim" default:"roles" doc:"Claim of its tokens with the roles; dots lead into nested claims."`

	RoleMap []string `key:"roleMap" doc:"Its role names and ours, such as plant-admins=Admin; with a map no other names count, without one our own do."`
	CAFile  string   `key:"caFile" doc:"PEM file with the authorities of the issuer's certificate; empty for those of the system."`
}

// Validate implements settings.Validator.
func (a Auth) Validate(p *settings.Problems) {
	p.Must(accounts.ValidName(a.AdminUsername), "adminUsername", "must be 1 to 64 ASCII letters, digits and ._@-")
	p.Must(a.AdminPassword == "" || len([]rune(a.AdminPassword)) >= accounts.MinPasswordLength,
		"adminPassword", fmt.Sprintf("must have at least %d characters", accounts.MinPasswordLength))
	serverconfig.Networks(p, "openSurfacesFrom", a.OpenSurfacesFrom)
	if a.OIDC.Issuer != "" && a.OIDC.Issuer == a.Issuer {
		p.Add("oidc.issuer", "must differ from auth.issuer")
	}
}

// Validate implements settings.Validator.
func (o OIDC) Validate(p *settings.Problems) {
	serverconfig.Together(p, "issuer", o.Issuer != "", "audience", o.Audience != "")
	serverconfig.Together(p, "issuer", o.Issuer != "", "roleMap", len(o.RoleMap) > 0)
	serverconfig.Together(p, "issuer", o.Issuer != "", "caFile", o.CAFile != "")
	if o.Issuer == "" {
		return
	}
	serverconfig.Together(p, "audience", o.Audience != "", "issuer", true)
	if o.RolesClaim == "" {
		p.Add("rolesClaim", "is required")
	}
	if _, err := o.roles(); err != nil {
		p.Add("roleMap", err.Error())
	}
	u, err := url.Parse(o.Issuer)
	p.Must(err == nil && u.Host != "" && u.User == nil && (u.Scheme == "https" || u.Scheme == "http" && isLoopback(u.Hostname())),
		"issuer", "must be an https URL, or an http one on a loopback address")
}

// roles returns the map of RoleMap, nil for none.
func (o OIDC) roles() (map[string]accounts.Role, error) {
	if len(o.RoleMap) == 0 {
		return nil, nil
	}
	roles := make(map[string]accounts.Role, len(o.RoleMap))
	for _, entry := range o.RoleMap {
		at := strings.LastIndexByte(entry, '=')
		if at < 1 {
			return nil, fmt.Errorf("must have entries such as plant-admins=Admin, not %q", entry)
		}
		role, ok := accounts.ParseRole(entry[at+1:])
		if !ok {
			return nil, fmt.Errorf("must name Viewer, Operator or Admin, not %q", entry[at+1:])
		}
		if _, twice := roles[entry[:at]]; twice {
			return nil, fmt.Errorf("has %q twice", entry[:at])
		}
		roles[entry[:at]] = role
	}
	return roles, nil
}

func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}

func (a Auth) options(p *settings.Problems) accountspart.Options {
	return accountspart.Options{
		AdminUsername: a.AdminUsername, AdminPassword: a.AdminPassword, Issuer: a.Issuer, Audience: a.Audience,
		AccessTTL: time.Duration(a.AccessTokenMinutes) * time.Minute, RefreshTTL: time.Duration(a.RefreshTokenHours) * time.Hour,
		OIDC: a.OIDC.options(p),
	}
}

// options returns the external issuer, nil for none.
func (o OIDC) options(p *settings.Problems) *auth.OIDC {
	if o.Issuer == "" {
		return nil
	}
	roles, _ := o.roles() // validated
	out := &auth.OIDC{Issuer: o.Issuer, Audience: o.Audience, RolesClaim: o.RolesClaim, RoleMap: roles}
	if trusted := trust(p, "auth.oidc.caFile", o.CAFile); trusted != nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.TLSClientConfig = trusted
		out.Transport = transport
	}
	return out
}

// trust returns the configuration of a client that trusts the authorities in a file, nil without a file. path is that of the setting.
func trust(p *settings.Problems, path, file string) *tls.Config {
	if file == "" {
		return nil
	}
	pem, err := os.ReadFile(file)
	roots := x509.NewCertPool()
	if err == nil && !roots.AppendCertsFromPEM(pem) {
		err = errors.New("has no certificate in PEM form")
	}
	if err != nil {
		p.Add(path, "is not usable: "+err.Error())
		return nil
	}
	return &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
}
