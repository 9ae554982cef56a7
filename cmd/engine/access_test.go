package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	otkit "github.com/otkit/otkit/engine"
	"github.com/otkit/otkit/internal/realtest"
	"github.com/otkit/otkit/openapi/client"
)

// ownAddress is an address of this machine that is not loopback: calls to it come from it.
func ownAddress(t testing.TB) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	require.NoError(t, err)
	for _, a := range all {
		p, err := netip.ParsePrefix(a.String())
		if err == nil && p.Addr().Is4() && p.Addr().IsGlobalUnicast() {
			return p.Addr().String()
		}
	}
	realtest.Skip(t, "this machine has no address but loopback")
	return ""
}

// startWide starts an engine that listens on all addresses, and returns its port.
func startWide(t testing.TB, env ...string) (*engine, string) {
	t.Helper()
	e := start(t, append(env, known...), "-data", t.TempDir(), "-listen", ":0")
	_, port, err := net.SplitHostPort(e.addr)
	require.NoError(t, err)
	e.addr = "127.0.0.1:" + port
	e.url = "http://" + e.addr
	return e, port
}

// ask sends one request and returns its answer. headers are "Name: value".
func ask(t testing.TB, method, url, body string, headers ...string) (int, http.Header, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			r.Host = value
			continue
		}
		r.Header.Add(name, value)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	a, err := (&http.Client{Transport: transport}).Do(r)
	require.NoError(t, err)
	text, err := io.ReadAll(a.Body)
	require.NoError(t, err)
	require.NoError(t, a.Body.Close())
	return a.StatusCode, a.Header, string(text)
}

var parameter = regexp.MustCompile(`\{[^}]*\}`)

// openSurfaces are the requests of all surfaces that need no token, such that nothing happens when they are let in.
func openSurfaces(t testing.TB) map[string][2]string {
	t.Helper()
	all := map[string][2]string{}
	whole, err := otkit.New(t.Context(), otkit.Options{DataDir: t.TempDir()})
	require.NoError(t, err)
	defer func() { require.NoError(t, whole.Close(context.Background())) }()
	for _, op := range whole.Operations() {
		if op.OpenSurface {
			path := parameter.ReplaceAllString(op.Path, "nothing")
			if op.Stream { // or the answer would have no end
				path += "?throttleMs=none"
			}
			all[op.ID] = [2]string{op.Method, path}
		}
	}
	return all
}

// Every surface that needs no token, asked from everywhere in every way.
func TestWhoNeedsNoToken(t *testing.T) {
	own := ownAddress(t)
	type visit struct {
		from    string // loopback or own
		headers []string
		want    int    // 0 for let in
		says    string // part of the refusal
	}
	loopback := visit{from: "loopback"}
	stranger := visit{from: "own", want: 401, says: "Auth__OpenSurfacesFrom"}
	rebound := visit{from: "loopback", headers: []string{"Host: evil.example:5001"}, want: 421, says: "Server__AllowedHosts"}
	page := visit{from: "loopback", headers: []string{"Origin: http://evil.example"}, want: 403, says: "origin"}
	proxied := visit{from: "loopback", headers: []string{"X-Forwarded-For: 127.0.0.1"}, want: 401, says: "Server__TrustedProxies"}
	let := func(v visit, headers ...string) visit {
		return visit{from: v.from, headers: append(headers, v.headers...)}
	}
	with := func(v visit, want int, says string) visit {
		v.want, v.says = want, says
		return v
	}
	for name, c := range map[string]struct {
		env    []string
		visits []visit
	}{
		"default": {nil, []visit{
			loopback, let(loopback, "Host: localhost:1"), let(loopback, "Host: [::1]:5001"), let(loopback, "Authorization: Bearer of-somebody-else"),
			stranger, let(stranger, "Authorization: Bearer TOKEN"), with(let(stranger, "Authorization: Bearer wrong"), 401, "Auth__OpenSurfacesFrom"),
			rebound, let(rebound, "Authorization: Bearer TOKEN"), with(let(rebound, "Authorization: Bearer wrong"), 421, "Server__AllowedHosts"),
			page, with(let(page, "Origin: null"), 403, "origin"),
			proxied, let(proxied, "Authorization: Bearer TOKEN"),
			with(let(loopback, "Forwarded: for=127.0.0.1"), 401, "Server__TrustedProxies"),
			with(let(stranger, "X-Forwarded-For: 127.0.0.1"), 401, "Auth__OpenSurfacesFrom"),
		}},
		"opened to one": {[]string{"Auth__OpenSurfacesFrom=" + own, "Server__AllowedHosts=evil.example", "Server__Cors__AllowedOrigins=http://evil.example"}, []visit{
			loopback, let(stranger), let(rebound), let(page),
			with(let(stranger, "X-Forwarded-For: "+own), 401, "Server__TrustedProxies"),
		}},
		"opened to another": {[]string{"Auth__OpenSurfacesFrom=203.0.113.0/24,2001:db8::/32"}, []visit{loopback, stranger}},
		"opened to all": {[]string{"Auth__OpenSurfacesFrom=0.0.0.0/0,::/0"}, []visit{
			loopback, let(stranger), let(proxied), rebound, with(let(stranger, "Host: evil.example"), 421, "Server__AllowedHosts"), page,
		}},
		"behind a proxy": {[]string{"Server__TrustedProxies=127.0.0.1/32", "Auth__OpenSurfacesFrom=203.0.113.0/24"}, []visit{
			loopback, let(proxied), stranger,
			let(loopback, "X-Forwarded-For: 203.0.113.7"), let(loopback, "Forwarded: for=203.0.113.7;proto=https"),
			with(let(loopback, "X-Forwarded-For: 198.51.100.7"), 401, "198.51.100.7"),
			with(let(loopback, "X-Forwarded-For: 127.0.0.1, 198.51.100.7"), 401, "198.51.100.7"),
			with(let(loopback, "X-Forwarded-For: 203.0.113.7", "Forwarded: for=198.51.100.7"), 401, "Server__TrustedProxies"),
		}},
		"protected": {[]string{"Auth__ProtectOpenSurfaces=true", "Auth__OpenSurfacesFrom=0.0.0.0/0,::/0"}, []visit{
			with(loopback, 401, "Auth__ProtectOpenSurfaces"), with(stranger, 401, "Auth__ProtectOpenSurfaces"),
			let(loopback, "Authorization: Bearer TOKEN"), let(stranger, "Authorization: Bearer TOKEN"), let(rebound, "Authorization: Bearer TOKEN"),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			e, port := startWide(t, append(c.env, "Alerting__WebhookToken=the-sender's", "Metrics__Token=the-scraper's!")...)
			token := e.admin().token
			for id, request := range openSurfaces(t) {
				for _, v := range c.visits {
					host := map[string]string{"loopback": "127.0.0.1", "own": own}[v.from]
					headers := make([]string, len(v.headers))
					for i, h := range v.headers {
						headers[i] = strings.ReplaceAll(h, "TOKEN", token)
					}
					got, header, text := ask(t, request[0], "http://"+net.JoinHostPort(host, port)+request[1], "{", headers...)
					what := fmt.Sprintf("%s from %s with %v: %d %s", id, v.from, v.headers, got, text)
					if v.want == 0 {
						require.NotContains(t, []int{401, 403, 421, 429}, got, what)
						continue
					}
					require.Equal(t, v.want, got, what)
					require.Contains(t, text, v.says, what)
					require.Equal(t, v.want == 401, header.Get("WWW-Authenticate") == "Bearer", what)
				}
			}
			// What is open to everybody stays so, whatever is said.
			for _, path := range []string{"/health", "/health/ready", "/health/live", "/.well-known/jwks.json", "/openapi.yaml", "/docs"} {
				got, _, text := ask(t, "GET", "http://"+net.JoinHostPort(own, port)+path, "", "Host: evil.example", "X-Forwarded-For: 1.2.3.4")
				require.Equal(t, 200, got, "%s %s", path, text)
			}
			// The static bearer admits from everywhere and by every name, at its own surface alone.
			for path, bearer := range map[string]string{"GET /metrics": "the-scraper's!", "POST /api/v1.0/alertsource/webhook": "the-sender's", "GET /api/v1.0/alertsource/health": "the-sender's"} {
				method, path, _ := strings.Cut(path, " ")
				got, _, text := ask(t, method, "http://"+net.JoinHostPort(own, port)+path, `{"status":"firing","alerts":[]}`, "Host: evil.example", "Authorization: Bearer "+bearer)
				require.NotContains(t, []int{401, 403, 421}, got, "%s %s", path, text)
			}
			if name != "opened to one" && name != "opened to all" {
				got, _, _ := ask(t, "GET", "http://"+net.JoinHostPort(own, port)+"/api/v1.0/alert-silence", "", "Authorization: Bearer the-sender's")
				require.Equal(t, 401, got)
			}
		})
	}
}

func (s *session) alarm(t testing.TB, part string) (found map[string]any) {
	t.Helper()
	_, _, text := ask(t, "GET", s.url+"/api/v1/alarms?pageSize=500", "", "Authorization: Bearer "+s.token)
	var page map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &page), text)
	for _, list := range page {
		items, _ := list.([]any)
		for _, i := range items {
			if a, ok := i.(map[string]any); ok && strings.Contains(fmt.Sprint(a["message"]), part) {
				return a
			}
		}
	}
	return nil
}

// Nobody waits for alerts that never come: one alarm tells of them, however many posts are refused.
func TestARefusedWebhookPostRaisesAnAlarm(t *testing.T) {
	own := ownAddress(t)
	e, port := startWide(t)
	s := e.admin()
	require.Nil(t, s.alarm(t, "alert webhook"))
	for range 5 {
		got, _, _ := ask(t, "POST", "http://"+net.JoinHostPort(own, port)+"/api/v1.0/alertsource/webhook", `{"alerts":[]}`)
		require.Equal(t, 401, got)
	}
	var first map[string]any
	eventually(t, "no alarm tells of the refused post", func() bool { first = s.alarm(t, "alert webhook"); return first != nil })
	require.Contains(t, first["message"], own)
	require.Contains(t, first["message"], "Auth__OpenSurfacesFrom")
	ask(t, "POST", "http://"+net.JoinHostPort(own, port)+"/api/v1.0/alertsource/webhook", `{"alerts":[]}`)
	require.Equal(t, first["id"], s.alarm(t, "alert webhook")["id"])
	_, _, text := ask(t, "GET", e.url+"/metrics", "")
	require.Contains(t, text, `otkit_refused_calls_total{reason="address"} 6`)
}

func TestOpeningWidelyIsSaid(t *testing.T) {
	for from, word := range map[string]string{"0.0.0.0/0,::/0": "wide", "8.8.0.0/16": "wide", "10.0.0.0/8": "networks", "": "loopback"} {
		e := start(t, append([]string{"Auth__OpenSurfacesFrom=" + from}, known...), "-data", t.TempDir())
		said := strings.Count(e.log.String(), "open widely")
		if word == "wide" {
			eventually(t, "no warning", func() bool { said = strings.Count(e.log.String(), "Auth__OpenSurfacesFrom"); return said > 0 })
			require.Equal(t, 1, said, e.log.String())
		} else {
			require.Zero(t, said)
		}
		_, _, text := ask(t, "GET", e.url+"/health", "")
		require.Contains(t, text, `"openTo":"`+word+`"`)
		require.NotContains(t, text, "8.8.0.0")
		_, _, text = ask(t, "GET", e.url+"/metrics", "")
		require.Contains(t, text, `otkit_open_surfaces{to="`+word+`"} 1`)
		e.stop()
	}
}

func TestRatesAreLimited(t *testing.T) {
	own := ownAddress(t)
	e, port := startWide(t, "Server__RateLimit__PerAddress=5", "Server__RateLimit__PerAccount=5", "Auth__OpenSurfacesFrom="+own)
	there := "http://" + net.JoinHostPort(own, port)
	flood := func(method, path string) (int, http.Header, string) {
		t.Helper()
		for range 200 {
			if got, header, text := ask(t, method, there+path, "{}"); got == 429 || got == 500 {
				return got, header, text
			}
		}
		t.Fatal("nobody holds back " + path)
		return 0, nil, ""
	}
	got, header, text := flood("GET", "/health")
	require.Equal(t, 429, got)
	require.Equal(t, "1", header.Get("Retry-After"))
	require.Contains(t, text, "RATE_LIMITED")
	got, _, text = flood("GET", "/api/v1/aas")
	require.Equal(t, 429, got)
	require.Contains(t, text, `"errorCode":"RATE_LIMITED"`)
	got, _, _ = flood("POST", "/api/v1.0/alertsource/webhook")
	require.Equal(t, 500, got, "the sender keeps its alerts and sends them again")
	for range 30 {
		got, _, _ = ask(t, "GET", there+"/health/live", "")
		require.Equal(t, 200, got, "liveness is told whatever else is asked")
	}
	for range 100 {
		got, _, _ = ask(t, "GET", e.url+"/health", "")
		require.Equal(t, 200, got, "this machine itself has no limit")
	}
	conn, err := grpc.NewClient(net.JoinHostPort(own, port), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	for err = nil; status.Code(err) != codes.ResourceExhausted; {
		_, err = healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{})
		require.Contains(t, []codes.Code{codes.OK, codes.ResourceExhausted}, status.Code(err))
	}

	token := e.admin().token
	limited := false
	for range 200 {
		got, header, _ = ask(t, "GET", e.url+"/api/v1/drivers", "", "Authorization: Bearer "+token)
		if limited = got == 429; limited {
			break
		}
	}
	require.True(t, limited, "an account is held back also on this machine")
	require.Equal(t, "1", header.Get("Retry-After"))
}

func TestTagsMadeWithoutATokenAreCapped(t *testing.T) {
	e := start(t, append([]string{"Tags__MaxWithoutToken=3"}, known...), "-data", t.TempDir())
	s := e.admin()
	bulk := func(names string, headers ...string) (int, string) {
		var items []client.TagConfig
		for _, name := range strings.Fields(names) {
			items = append(items, item(name))
		}
		text, err := json.Marshal(items)
		require.NoError(t, err)
		got, _, answer := ask(t, "POST", e.url+"/api/v1.0/config/tags/bulk", string(text), append(headers, "Content-Type: application/json")...)
		return got, answer
	}
	got, text := bulk("a b c")
	require.Equal(t, 200, got, text)
	got, text = bulk("c d")
	require.Equal(t, 409, got, text)
	require.Contains(t, text, "Tags__MaxWithoutToken")
	got, text = bulk("a c")
	require.Equal(t, 200, got, "what is there may be changed: %s", text)
	got, text = bulk("d e", "Authorization: Bearer "+s.token)
	require.Equal(t, 200, got, text)
	got, text = bulk("a b d")
	require.Equal(t, 200, got, text)
	eventually(t, "no alarm tells of the cap", func() bool { return s.alarm(t, "Tags__MaxWithoutToken") != nil })
	require.Len(t, s.configured(), 5)
}

// 140 callers with changing names do not keep somebody out who was there before, though they come from the same address.
func TestAFloodOfLoginsKeepsNobodyOut(t *testing.T) {
	e := start(t, known, "-data", t.TempDir())
	e.admin()
	ctx, cancel := context.WithCancel(t.Context())
	var flood sync.WaitGroup
	for i := range 140 {
		flood.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				body := fmt.Sprintf(`{"username":"u%dx%d","password":"guess %d"}`, i, n, n)
				r, err := http.NewRequestWithContext(ctx, "POST", e.url+"/api/v1/auth/login", strings.NewReader(body))
				if err != nil {
					t.Error(err)
					return
				}
				if a, err := http.DefaultClient.Do(r); err == nil {
					_, _ = io.Copy(io.Discard, a.Body)
					_ = a.Body.Close()
				}
			}
		})
	}
	defer flood.Wait()
	defer cancel()
	eventually(t, "the flood fills no queue", func() bool {
		_, _, text := ask(t, "POST", e.url+"/api/v1/auth/login", `{"username":"nobody","password":"guess"}`)
		return strings.Contains(text, "TOO_MANY_LOGINS")
	})
	for range 5 {
		require.Equal(t, 200, e.tryLogin("admin", password).StatusCode())
	}
}

// With every connection taken that the limit of open files allows, liveness is told and the database is written.
func TestConnectionsLeaveFilesForStorage(t *testing.T) {
	sh := realtest.Need(t, "sh")
	e := launch(t, sh, append([]string{"Server__MaxConnectionsPerAddress=-1"}, known...), "-c", `ulimit -n 400 && exec "$0" "$@"`, binary(t), "-data", t.TempDir(), "-listen", "127.0.0.1:0")
	e.ready()
	require.Contains(t, e.log.String(), "the limit of open files allows fewer connections")
	s := e.admin() // keeps its connection
	held := hold(t, e.addr, 500)
	for range 20 {
		got, _, text := ask(t, "GET", e.url+"/health/live", "")
		require.Equal(t, 200, got)
		require.JSONEq(t, `{"status":"Healthy","results":{}}`, text)
	}
	for range 3 {
		answer := s.bulk(item("a"))
		require.Equal(t, 200, answer.StatusCode(), "%s", answer.Body)
	}
	require.NotContains(t, e.log.String(), "too many open files")
	require.Contains(t, e.log.String(), "limit of connections reached")
	for _, c := range held {
		_ = c.Close()
	}
	eventually(t, "the places do not come back", func() bool { got, _, _ := ask(t, "GET", e.url+"/health/ready", ""); return got == 200 })
}

// hold opens connections that keep their places.
func hold(t testing.TB, addr string, n int) []net.Conn {
	t.Helper()
	var held []net.Conn
	for range n {
		c, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		_, err = io.WriteString(c, "GET /health/live HTTP/1.1\r\nHost: a\r\nX-Slow: ")
		require.NoError(t, err)
		held = append(held, c)
	}
	return held
}

func TestOneAddressDoesNotTakeAllConnections(t *testing.T) {
	own := ownAddress(t)
	e, port := startWide(t, "Server__MaxConnectionsPerAddress=20")
	hold(t, net.JoinHostPort(own, port), 200)
	got, _, _ := ask(t, "GET", "http://"+net.JoinHostPort(own, port)+"/health/live", "")
	require.Equal(t, 200, got)
	got, _, _ = ask(t, "GET", e.url+"/health", "")
	require.Equal(t, 200, got, "another address has its own places")
}

func TestIdleGRPCConnectionsAreClosed(t *testing.T) {
	e := start(t, append([]string{"Server__IdleTimeout=200ms"}, known...), "-data", t.TempDir())
	conn, err := grpc.NewClient(e.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	_, err = healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.True(t, conn.WaitForStateChange(ctx, connectivity.Ready))
	_, err = healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{})
	require.NoError(t, err, "the next call connects again")
}
