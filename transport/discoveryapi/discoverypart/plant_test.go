package discoverypart_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/bridgealarms"
	"github.com/otkit/otkit/bridgehost"
	"github.com/otkit/otkit/cluster"
	"github.com/otkit/otkit/cluster/bus"
	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/internal/realtest"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/tagconfig"
	"github.com/otkit/otkit/transport/aasapi/aaspart"
	"github.com/otkit/otkit/transport/alarmsapi/alarmspart"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/bridgelink"
	"github.com/otkit/otkit/transport/clusterapi/clusterpart"
	"github.com/otkit/otkit/transport/discoveryapi/discoverypart"
	"github.com/otkit/otkit/transport/server"
	"github.com/otkit/otkit/transport/tagsapi/tagspart"
)

// several are engines of one plant, with stores in memory.
type several struct {
	t        *testing.T
	kept     *stores
	sessions *cluster.Memory
	net      *bus.Memory
	config   *tagconfig.Memory
	writes   *tags.MemoryWriteLog
	engines  map[string]*plant
	tls      func() *tls.Config // of an engine; nil: without TLS
}

func newSeveral(t *testing.T, names ...string) *several {
	s := &several{t: t, kept: newStores(t), sessions: cluster.NewMemory(), net: bus.NewMemory(), config: tagconfig.NewMemory(),
		writes: tags.NewMemoryWriteLog(1000), engines: map[string]*plant{}}
	for _, name := range names {
		s.start(name, fmt.Sprintf("127.0.0.1:%d", realtest.FreePort(t)))
	}
	return s
}

// start starts an engine at an address. What it tells the others of itself may be another one.
func (s *several) start(name, address string, url ...string) *plant {
	s.t.Helper()
	ctx, t := s.t.Context(), s.t
	p := &plant{t: t}
	c := clusterpart.Options{Store: s.sessions, Bus: s.net.Join(), Engine: name, Name: name, Host: "here", URL: "http://" + address,
		TTL: 900 * time.Millisecond, Settle: 200 * time.Millisecond}
	if len(url) > 0 {
		c.URL = url[0]
	}
	var certificate *tls.Config
	if s.tls != nil {
		certificate = s.tls()
		c.URL = "https://" + address
	}
	cl := must(clusterpart.New(ctx, c))
	p.tags = must(tagspart.New(ctx, tagspart.Options{Config: s.config, Writes: s.writes, HistoryStore: s.kept.history, Cluster: cl}))
	al := must(alarmspart.New(ctx, p.tags, alarmspart.Options{Alarms: s.kept.alarms, DataDir: t.TempDir(), Cluster: cl, Poll: 20 * time.Millisecond}))
	shells := must(aaspart.New(ctx, p.tags, aaspart.Options{Store: s.kept.shells}))
	p.shells = shells.Service()
	o := discoverypart.Options{EngineID: name, Store: s.kept.bindings, Cluster: cl, Heartbeat: time.Second}
	o.Endpoint = discoverypart.Endpoint{Addr: func() net.Addr { return p.server.Addr() }, TLS: certificate}
	p.part = must(discoverypart.New(ctx, p.tags, al, shells, o))
	admin := auth.AuthenticatorFunc(func(context.Context, auth.Request) (*auth.Principal, error) {
		return &auth.Principal{Issuer: "plant", Subject: "ann", Name: "Ann", Role: accounts.Admin}, nil
	})
	p.server = must(server.New(ctx, server.Options{Authenticator: admin, Listen: address, TLS: certificate}, cl.Part(), p.tags.Part(), al.Part(), shells.Part(), p.part.Part()))
	p.server.Start()
	s.engines[name] = p
	stop := sync.OnceFunc(func() { require.NoError(t, p.server.Close(context.Background())) })
	p.stop = stop
	t.Cleanup(stop)
	return p
}

// owner waits until an engine has the link of the bridge, and all say so, and returns its name.
func (s *several) owner(not ...string) (name string) {
	s.t.Helper()
	eventually(s.t, fmt.Sprint("the link is open, not at ", not), func() bool {
		name = ""
		for n, p := range s.engines {
			list := p.part.Service().Bindings()
			if len(list) != 1 || !list[0].LinkOpen {
				return false
			}
			if !list[0].Elsewhere {
				name = n
			}
		}
		return name != "" && !slices.Contains(not, name)
	})
	return name
}

// counter is a device whose value is one more every 5 ms, and that takes writes.
type counter struct {
	mu     sync.Mutex
	n      int64
	writes []int64
	hold   chan struct{} // writes end when it is closed; nil: immediately
}

func (c *counter) set(hold chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hold = hold
}

func (c *counter) Connect(context.Context) error { return nil }
func (c *counter) Close() error                  { return nil }
func (c *counter) Read(context.Context, []tags.Point, []tags.Reading) error {
	return errors.New("it sends by itself")
}

func (c *counter) Unpolled() {}

func (c *counter) Write(_ context.Context, items []tags.WriteItem, _ []error) error {
	c.mu.Lock()
	for _, item := range items {
		c.writes = append(c.writes, item.Value.Int())
	}
	hold := c.hold
	c.mu.Unlock()
	if hold != nil {
		<-hold
	}
	return nil
}

func (c *counter) Subscribe(ctx context.Context, points []tags.Point, emit func(int, tags.Reading)) error {
	i := slices.IndexFunc(points, func(p tags.Point) bool { return p.Address == "n" })
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case at := <-ticker.C:
			c.mu.Lock()
			c.n++
			n := c.n
			c.mu.Unlock()
			emit(i, tags.Reading{Value: tags.IntValue(n), Quality: tags.Good, Time: at})
		case <-ctx.Done():
			return nil
		}
	}
}

// given returns the last value, and what was written.
func (c *counter) given() (int64, []int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n, slices.Clone(c.writes)
}

// startBridge runs a whole bridge, which dials engines as the program does.
func startBridge(t *testing.T, change ...func(*bridgehost.Options)) (url string, device *counter) {
	device = &counter{}
	o := bridgehost.Options{DataDir: t.TempDir(), ID: "press-1", Server: server.Options{Listen: "127.0.0.1:0"},
		Driver: bridgehost.Driver{ID: "press", Type: "Test", Driver: device, Options: tags.DriverOptions{Tags: []tags.Tag{
			{Name: "press.n", Address: "n", DataType: tags.Int}, {Name: "press.setpoint", Address: "s", DataType: tags.Int, Access: tags.ReadWrite}}}},
		Link: bridgehost.LinkOptions{RetryInterval: 500 * time.Millisecond, Dial: func(ctx context.Context, url string, pins []string) (link.BridgeConn, error) {
			return bridgelink.Dial(ctx, bridgelink.DialOptions{URL: url, Pins: pins})
		}}}
	for _, f := range change {
		f(&o)
	}
	b, err := bridgehost.New(t.Context(), o)
	require.NoError(t, err)
	b.Start()
	t.Cleanup(func() { require.NoError(t, b.Close(context.Background())) })
	return "http://" + b.Addr().String(), device
}

func (s *several) bind(engine, url string) {
	s.t.Helper()
	code, body := s.engines[engine].call("POST", "/api/discovery/bind", map[string]string{"bridgeId": "press-1", "bridgeUrl": url})
	require.Equal(s.t, http.StatusOK, code, body)
}

// counted returns the numbers in the history.
func (s *several) counted() (list []int64) {
	s.t.Helper()
	for one, err := range s.kept.history.Range(s.t.Context(), "press.n", time.Time{}, time.Now().Add(time.Hour)) {
		require.NoError(s.t, err)
		if one.Quality == tags.Good {
			list = append(list, one.Value.Int())
		}
	}
	return list
}

// requireAll waits until all is stored that the device has given until now: each number once and in order.
func (s *several) requireAll(device *counter) {
	s.t.Helper()
	last, _ := device.given()
	var list []int64
	eventually(s.t, fmt.Sprint("the history reaches ", last), func() bool {
		list = s.counted()
		return len(list) > 0 && list[len(list)-1] >= last
	})
	for i := range list {
		require.Equal(s.t, list[0]+int64(i), list[i], "missing, twice, or out of order")
	}
}

func TestABridgeMovesAmongEngines(t *testing.T) {
	s := newSeveral(t, "a", "b")
	dir := t.TempDir()
	url, device := startBridge(t, func(o *bridgehost.Options) { o.DataDir = dir })
	s.bind("a", url)
	first := s.owner()
	other := map[string]string{"a": "b", "b": "a"}[first]
	for _, p := range s.engines {
		eventually(t, "both show the value", func() bool {
			one, ok := p.tags.Current("press.n")
			last, _ := device.given()
			return ok && one.Sample.Quality == tags.Good && one.Sample.Value.Int() > last-200
		})
		w, err := p.tags.Engine().Write(t.Context(), tags.WriteRequest{Tag: "press.setpoint", Value: tags.IntValue(5), By: "ann"})
		require.NoError(t, err)
		w, err = p.tags.Engine().AwaitWrite(t.Context(), w.ID)
		require.NoError(t, err)
		require.Equal(t, tags.WriteDone, w.State, w.Error)
	}
	_, writes := device.given()
	require.Equal(t, []int64{5, 5}, writes)
	eventually(t, "its shell", func() bool {
		_, err := s.engines[other].shells.Shells.Get(t.Context(), discoverypart.ShellID("press-1"))
		return err == nil && s.engines[first].part.IsShell(discoverypart.ShellID("press-1")) && s.engines[other].part.IsShell(discoverypart.ShellID("press-1"))
	})
	for name, p := range s.engines {
		require.Len(t, p.part.Registered(), 1)
		_, body := p.call("GET", "/health", nil)
		require.Contains(t, body, "1 bridge is bound, 1 online", name)
	}

	// The engine that has the link stops: the other one takes the bridge over.
	s.engines[first].stop()
	delete(s.engines, first)
	require.Equal(t, other, s.owner())
	s.requireAll(device)
	c := s.start("c", fmt.Sprintf("127.0.0.1:%d", realtest.FreePort(t)))
	eventually(t, "the bridge is told of another engine on its link", func() bool {
		known, err := os.ReadFile(filepath.Join(dir, "binding.json"))
		return err == nil && strings.Contains(string(known), c.server.Addr().String())
	})
	require.Equal(t, other, s.owner(), "one bridge is not worth a move")
	s.engines[other].stop()
	delete(s.engines, other)
	require.Equal(t, "c", s.owner())
	s.requireAll(device)

	code, body := s.engines["c"].call("DELETE", "/api/discovery/unbind/press-1", nil)
	require.Equal(t, http.StatusNoContent, code, body)
	require.Empty(t, s.engines["c"].part.Service().Bindings())
	require.Empty(t, journal(t, s.kept.alarms), "nobody had to look after anything")
}

// Each engine has a key of its own. The bridge learns those of all, also of one that comes later.
func TestABridgeTrustsTheKeysOfAllEngines(t *testing.T) {
	s := newSeveral(t)
	s.tls = func() *tls.Config {
		key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
		template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
		der := must(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key))
		return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	}
	dir := t.TempDir()
	url, device := startBridge(t, func(o *bridgehost.Options) { o.DataDir = dir })
	at := func() string { return fmt.Sprintf("127.0.0.1:%d", realtest.FreePort(t)) }
	s.start("a", at())
	s.bind("a", url)
	require.Equal(t, "a", s.owner())
	for i, next := range []string{"b", "c"} {
		s.start(next, at())
		first := s.owner()
		eventually(t, "the bridge is told on its link", func() bool {
			known, err := os.ReadFile(filepath.Join(dir, "binding.json"))
			return err == nil && strings.Count(string(known), "sha256/") == i+2
		})
		s.engines[first].stop()
		delete(s.engines, first)
		require.Equal(t, next, s.owner())
	}
	s.requireAll(device)
}

// journal returns what has happened to the alarms of bridges.
func journal(t *testing.T, store *alarms.Memory) (list []string) {
	t.Helper()
	events, err := store.Events(t.Context(), 0, 1000)
	require.NoError(t, err)
	for _, e := range events {
		if strings.HasPrefix(e.Occurrence.Key, "bridge-") {
			list = append(list, string(e.Kind)+" "+e.Occurrence.Key)
		}
	}
	return list
}

func TestTheAlarmOfABridgeOutlastsItsEngine(t *testing.T) {
	s := newSeveral(t, "a", "b")
	url, _ := startBridge(t, func(o *bridgehost.Options) {
		o.Link.Dial = func(context.Context, string, []string) (link.BridgeConn, error) { return nil, errors.New("no network") }
	})
	s.bind("b", url)
	raised := []string{"Raised " + bridgealarms.OfflineKey + "press-1"}
	eventually(t, "the alarm", func() bool { return slices.Equal(raised, journal(t, s.kept.alarms)) })
	looksAfter := func() string {
		for name, p := range s.engines {
			if p.part.Service().LooksAfter("press-1") {
				return name
			}
		}
		return ""
	}
	first := looksAfter()
	require.NotEmpty(t, first)
	s.engines[first].stop()
	delete(s.engines, first)
	eventually(t, "another engine looks after it", func() bool { return looksAfter() != "" })
	time.Sleep(2 * time.Second) // some looks of the monitor
	require.Equal(t, raised, journal(t, s.kept.alarms))
	code, body := s.engines[looksAfter()].call("DELETE", "/api/discovery/unbind/press-1", nil)
	require.Equal(t, http.StatusNoContent, code, body)
	eventually(t, "the alarm ends", func() bool { return len(journal(t, s.kept.alarms)) == 2 })
}

// The bridge reaches one address only, of a balancer that always leads to the engine which has not the driver.
func TestABridgeBehindABalancer(t *testing.T) {
	s := newSeveral(t)
	// Nobody reaches these addresses: 192.0.2.0/24 is for documentation.
	a := s.start("a", fmt.Sprintf("127.0.0.1:%d", realtest.FreePort(t)), "http://192.0.2.1:5001")
	s.start("b", fmt.Sprintf("127.0.0.1:%d", realtest.FreePort(t)), "http://192.0.2.2:5001")
	to := &balancer{t: t, target: a.server.Addr().String()}
	to.serve()
	url, device := startBridge(t, func(o *bridgehost.Options) {
		o.Link.EngineURL = "http://" + to.listener.Addr().String()
		dial := o.Link.Dial
		o.Link.Dial = func(ctx context.Context, url string, pins []string) (link.BridgeConn, error) {
			if strings.Contains(url, "192.0.2.") { // as a network without a route does
				return nil, errors.New("no route to host")
			}
			return dial(ctx, url, pins)
		}
	})
	s.bind("a", url)
	for range 3 {
		first := s.owner()
		other := map[string]string{"a": "b", "b": "a"}[first]
		to.lead(s.engines[other].server.Addr().String())
		require.Equal(t, other, s.owner(first), "the driver comes to the engine that the bridge reaches")
		time.Sleep(time.Second)
		require.Equal(t, other, s.owner(), "and stays")
	}
	s.requireAll(device)
}

// balancer passes connections on to one address.
type balancer struct {
	t        *testing.T
	listener net.Listener
	wg       sync.WaitGroup

	mu     sync.Mutex
	target string
	open   []net.Conn
}

func (b *balancer) serve() {
	b.listener = must(net.Listen("tcp", "127.0.0.1:0"))
	b.wg.Go(func() {
		for {
			conn, err := b.listener.Accept()
			if err != nil {
				return
			}
			b.mu.Lock()
			to, err := net.Dial("tcp", b.target)
			b.open = append(b.open, conn, to)
			b.mu.Unlock()
			if err != nil {
				_ = conn.Close()
				continue
			}
			b.wg.Go(func() { pass(to, conn) })
			b.wg.Go(func() { pass(conn, to) })
		}
	})
	b.t.Cleanup(func() {
		_ = b.listener.Close()
		b.lead("")
		b.wg.Wait()
	})
}

func pass(to, from net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				break
			}
		}
		if err != nil {
			break
		}
	}
	_ = to.Close()
	_ = from.Close()
}

// lead leads further connections to another address, and ends those that there are.
func (b *balancer) lead(target string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.target = target
	for _, conn := range b.open {
		if conn != nil {
			_ = conn.Close()
		}
	}
	b.open = nil
}
