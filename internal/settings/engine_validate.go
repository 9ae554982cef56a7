package settings

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/otkit/otkit/accounts"
)

// must notes a problem where a rule does not hold.
func (p *problems) must(holds bool, key, rule string) {
	if !holds {
		p.add(key, rule)
	}
}

// oneOf notes a problem where a word is none of a list.
func (p *problems) oneOf(word, key string, words ...string) {
	last := len(words) - 1
	p.must(slices.Contains(words, word), key, "must be "+strings.Join(words[:last], ", ")+" or "+words[last])
}

// Validate checks the values, and how they go together. The error is an ErrInvalid that names each key.
func (e Engine) Validate() error {
	var p problems
	e.Server.check(&p)
	e.Storage.check(&p)
	e.Auth.check(&p)
	p.oneOf(e.Log.Level, "log.level", "debug", "info", "warn", "error")
	p.oneOf(e.Log.Format, "log.format", "text", "json")
	e.Tracing.check(&p)
	e.Tags.check(&p)
	e.Alarms.check(&p)
	e.Alerting.check(&p)
	e.AAS.check(&p)
	checkDrivers(e.Drivers, &p)
	return p.err("")
}

// unfitForToken holds for what a bearer token in a header cannot have.
func unfitForToken(r rune) bool { return r <= ' ' || r > '~' }

func within(n, least, most int) bool { return n >= least && n <= most }

func (s Server) check(p *problems) {
	p.must(isListenAddress(s.Listen), "server.listen", "must be host:port or :port, with a port 0 to 65535")
	p.must(s.MaxBodyBytes >= 1<<10 && s.MaxBodyBytes <= 1<<30, "server.maxBodyBytes", "must be 1024 to 1073741824")
	p.must(s.MaxConnections >= 1, "server.maxConnections", "must be at least 1")
	p.must(s.ReadHeaderTimeout > 0, "server.readHeaderTimeout", "must be above 0")
	p.must(s.IdleTimeout > 0, "server.idleTimeout", "must be above 0")
	p.must(s.ShutdownTimeout > 0, "server.shutdownTimeout", "must be above 0")

	p.must(s.TLS.CertFile == "" || s.TLS.KeyFile != "", "server.tls.keyFile", "is needed with server.tls.certFile")
	p.must(s.TLS.KeyFile == "" || s.TLS.CertFile != "", "server.tls.certFile", "is needed with server.tls.keyFile")
	p.must(s.TLS.ClientCAFile == "" || s.TLS.CertFile != "", "server.tls.certFile", "is needed with server.tls.clientCaFile")
	p.must(!s.TLS.RequireClientCert || s.TLS.ClientCAFile != "", "server.tls.clientCaFile", "is needed with server.tls.requireClientCert")

	for i, origin := range s.CORS.AllowedOrigins {
		if origin == "*" {
			p.must(len(s.CORS.AllowedOrigins) == 1, "server.cors.allowedOrigins", "must not have others beside *")
			continue
		}
		u, err := url.Parse(origin)
		p.must(err == nil && u.Scheme != "" && u.Host != "" && origin == u.Scheme+"://"+u.Host,
			fmt.Sprintf("server.cors.allowedOrigins[%d]", i), "must be scheme://host or scheme://host:port")
	}
}

// isListenAddress takes host:port with a host that is empty, an address or a name.
func isListenAddress(address string) bool {
	host, port, err := net.SplitHostPort(address)
	if err != nil || strings.ContainsFunc(host, func(r rune) bool { return unicode.IsSpace(r) || r == '/' }) {
		return false
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && strconv.FormatUint(n, 10) == port
}

func (s Storage) check(p *problems) {
	p.must(s.DataDir != "", "storage.dataDir", "is required")
	p.oneOf(s.Driver, "storage.driver", "sqlite", "postgres")
	p.must(s.Driver != "postgres" || s.DSN != "", "storage.dsn", "is needed with the driver postgres")
	p.must(s.Driver != "sqlite" || s.DSN == "", "storage.dsn", "is for the driver postgres; set storage.driver")
}

func (a Auth) check(p *problems) {
	p.must(accounts.ValidName(a.AdminUsername), "auth.adminUsername", "must be 1 to 64 ASCII letters, digits and ._@-")
	p.must(a.AdminPassword == "" || len([]rune(a.AdminPassword)) >= accounts.MinPasswordLength,
		"auth.adminPassword", fmt.Sprintf("must have at least %d characters", accounts.MinPasswordLength))
	p.must(within(a.AccessTokenMinutes, 1, 1440), "auth.accessTokenMinutes", "must be 1 to 1440")
	p.must(within(a.RefreshTokenHours, 1, 8760), "auth.refreshTokenHours", "must be 1 to 8760")
	p.must(a.Issuer != "", "auth.issuer", "is required")
	p.must(a.Audience != "", "auth.audience", "is required")
	if a.OIDC.Issuer == "" {
		p.must(a.OIDC.Audience == "", "auth.oidc.issuer", "is needed with auth.oidc.audience")
		return
	}
	p.must(a.OIDC.Audience != "", "auth.oidc.audience", "is needed with auth.oidc.issuer")
	p.must(a.OIDC.RolesClaim != "", "auth.oidc.rolesClaim", "is required")
	p.must(a.OIDC.Issuer != a.Issuer, "auth.oidc.issuer", "must differ from auth.issuer")
	u, err := url.Parse(a.OIDC.Issuer)
	p.must(err == nil && u.Host != "" && u.User == nil && (u.Scheme == "https" || u.Scheme == "http" && isLoopback(u.Hostname())),
		"auth.oidc.issuer", "must be an https URL, or an http one on a loopback address")
}

func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}

func (t Tracing) check(p *problems) {
	p.oneOf(t.Protocol, "tracing.protocol", "http", "grpc")
	p.must(t.SampleRatio > 0 && t.SampleRatio <= 1, "tracing.sampleRatio", "must be above 0, up to 1")
	if t.Endpoint != "" {
		u, err := url.Parse(t.Endpoint)
		p.must(err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil,
			"tracing.endpoint", "must be a URL such as http://collector:4318, without a user")
	}
}

func (t Tags) check(p *problems) {
	p.must(t.History.MaxAge != 0, "tags.history.maxAge", "must be above 0, or negative for no limit")
	p.must(t.History.MaxBytes != 0, "tags.history.maxBytes", "must be above 0, or negative for no limit")
	p.must(t.History.FlushEvery > 0 && t.History.FlushEvery <= time.Minute, "tags.history.flushEvery", "must be above 0, up to 1m")
	p.must(t.WriteLogMaxAge > 0, "tags.writeLogMaxAge", "must be above 0")
}

func checkDrivers(drivers []Driver, p *problems) {
	first := make(map[string]int, len(drivers))
	for i, d := range drivers {
		at := func(member string) string { return fmt.Sprintf("drivers[%d].%s", i, member) }
		if j, twice := first[d.ID]; twice && d.ID != "" {
			p.add(at("id"), fmt.Sprintf("is that of drivers[%d] as well", j))
		} else {
			first[d.ID] = i
		}
		p.must(d.ID != "", at("id"), "is required")
		p.must(!strings.ContainsFunc(d.ID, func(r rune) bool { return r == '/' || unicode.IsControl(r) }), at("id"), "must not contain / or control characters")
		p.must(d.Type != "", at("type"), "is required")
		p.must(within(d.Port, 0, 65535), at("port"), "must be 1 to 65535, or 0 for the type's default")
		for _, n := range []struct {
			member string
			value  int
		}{{"pollIntervalMs", d.PollIntervalMs}, {"timeoutMs", d.TimeoutMs}, {"backoffMaxMs", d.BackoffMaxMs}} {
			p.must(within(n.value, 0, 24*60*60*1000), at(n.member), "must be 0 to 86400000")
		}
	}
}
