package discovery_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otkit/otkit/discovery"
	"github.com/otkit/otkit/discovery/link"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// host is a bridge of a network.
type host struct {
	status   link.Status
	manifest link.Manifest
	key      string // what it takes for a release beside the token; empty for none
	bindErr  error
	request  link.BindRequest // the last one that it took
	fail     error            // of every call
	delay    time.Duration    // of every call
}

// network stands for the bridges of a plant, by URL. It is discovery.Bridges.
type network struct {
	answered func() // called once, before the next status arrives
	mu       sync.Mutex
	hosts    map[string]*host
	calls    []string
	open     int // calls in progress
	most     int
	atBind   func()
}

func (n *network) call(ctx context.Context, what, url string) (*host, error) {
	n.mu.Lock()
	n.calls = append(n.calls, what+" "+url)
	n.open++
	n.most = max(n.most, n.open)
	h := n.hosts[url]
	n.mu.Unlock()
	defer func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.open--
	}()
	if h == nil {
		return nil, discovery.ErrConnection
	}
	select {
	case <-time.After(h.delay):
	case <-ctx.Done():
		return nil, discovery.ErrConnection.Wrap(ctx.Err())
	}
	if ctx.Err() != nil {
		return nil, discovery.ErrConnection.Wrap(ctx.Err())
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return h, h.fail
}

func (n *network) Status(ctx context.Context, url string) (link.Status, error) {
	h, err := n.call(ctx, "status", url)
	if err != nil {
		return link.Status{}, err
	}
	n.mu.Lock()
	status, answered := h.status, n.answered
	n.answered = nil
	n.mu.Unlock()
	if answered != nil {
		answered()
	}
	return status, nil
}

func (n *network) Bind(ctx context.Context, url, secret string, r link.BindRequest) (link.Manifest, error) {
	h, err := n.call(ctx, "bind "+secret+" "+r.EngineURL, url)
	if err != nil {
		return link.Manifest{}, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case h.bindErr != nil:
		return link.Manifest{}, h.bindErr
	case h.status.Status != link.StatusFree:
		return link.Manifest{}, discovery.ErrAlreadyBound
	}
	h.status.Status, h.status.BoundEngineID, h.request = link.StatusBound, r.EngineID, r
	if n.atBind != nil {
		n.atBind()
	}
	return h.manifest, nil
}

func (n *network) Release(ctx context.Context, url, token string) error {
	h, err := n.call(ctx, "release "+token, url)
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if token != h.manifest.BindingToken && (token != h.key || h.key == "") {
		return discovery.ErrDenied
	}
	h.status.Status, h.status.BoundEngineID = link.StatusFree, ""
	return nil
}

// change changes a host.
func (n *network) change(url string, f func(h *host)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f(n.hosts[url])
}

// status returns the status of a bridge.
func (n *network) status(url string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.hosts[url].status.Status
}

// request returns the last bind request that a bridge took.
func (n *network) request(id string) link.BindRequest {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.hosts[urlOf(id)].request
}

// peak returns how many calls were in progress at the same time.
func (n *network) peak() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.most
}

// taken returns the calls since the last time, and forgets them.
func (n *network) taken() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	calls := n.calls
	n.calls = nil
	return calls
}

const token = "a token of 24 characters"

// add adds a free bridge with a driver of the same id, at http://<id>:5100.
func (n *network) add(ids ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.hosts == nil {
		n.hosts = map[string]*host{}
	}
	for _, id := range ids {
		n.hosts[urlOf(id)] = &host{
			status: link.Status{BridgeID: id, Status: link.StatusFree, DriverID: id, DriverType: "Modbus", Version: "1"},
			manifest: link.Manifest{BridgeID: id, DriverID: id, DriverType: "Modbus", BindingToken: token, AvailableSubmodels: []string{"OperationalData"},
				Tags: []link.ManifestTag{{Name: "level", Address: "40001", DataType: "Float"}}}}
	}
}

func urlOf(id string) string { return "http://" + id + ":5100" }

// house is a discovery.Attacher and discovery.Journal.
type house struct {
	mu      sync.Mutex
	drivers map[string]int // tags by driver id
	fail    error
	past    []string
	pastErr error
}

func (h *house) HasDriver(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, ok := h.drivers[id]
	return ok
}

func (h *house) Attach(_ context.Context, b discovery.Binding, m link.Manifest) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fail == nil {
		h.drivers[b.DriverID] = len(m.Tags)
	}
	return h.fail
}

func (h *house) Detach(_ context.Context, b discovery.Binding) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.drivers, b.DriverID)
	return h.fail
}

func (h *house) DriverWasDown(_ context.Context, b discovery.Binding, until time.Time) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.pastErr != nil {
		return h.pastErr
	}
	h.past = append(h.past, fmt.Sprintf("%s %s %s", b.BridgeID, until.Sub(b.DriverDownAt), b.DriverDownText))
	return nil
}

// tags returns how many tags a driver has.
func (h *house) tags(driver string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.drivers[driver]
}

// refuse sets the error of every call.
func (h *house) refuse(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fail = err
}

func (h *house) names() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Sorted(maps.Keys(h.drivers))
}

// shelf is a store that can fail.
type shelf struct {
	*discovery.Memory
	mu   sync.Mutex
	fail map[string]error // by method
}

func (s *shelf) err(method string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fail[method]
}

func (s *shelf) set(method string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail == nil {
		s.fail = map[string]error{}
	}
	s.fail[method] = err
}

func (s *shelf) AddBinding(ctx context.Context, b discovery.Binding, m link.Manifest) error {
	if err := s.err("add"); err != nil {
		return err
	}
	if err := s.Memory.AddBinding(ctx, b, m); err != nil {
		return err
	}
	return s.err("add, late")
}

func (s *shelf) UpdateBinding(ctx context.Context, id string, change func(*discovery.Binding) error) error {
	if err := s.err("update"); err != nil {
		return err
	}
	return s.Memory.UpdateBinding(ctx, id, change)
}

func (s *shelf) UpdateAt(ctx context.Context, p discovery.Position, change func(*discovery.Binding) error) error {
	if err := s.err("update"); err != nil {
		return err
	}
	return s.Memory.UpdateAt(ctx, p, change)
}

func (s *shelf) RemoveBinding(ctx context.Context, id string) error {
	if err := s.err("remove"); err != nil {
		return err
	}
	return s.Memory.RemoveBinding(ctx, id)
}

func (s *shelf) SetHeartbeats(ctx context.Context, at map[string]time.Time) error {
	if err := s.err("heartbeats"); err != nil {
		return err
	}
	return s.Memory.SetHeartbeats(ctx, at)
}

func (s *shelf) Binding(ctx context.Context, id string) (discovery.Binding, error) {
	if err := s.err("read"); err != nil {
		return discovery.Binding{}, err
	}
	return s.Memory.Binding(ctx, id)
}

func (s *shelf) Version(ctx context.Context) (int64, error) {
	if err := s.err("read"); err != nil {
		return 0, err
	}
	return s.Memory.Version(ctx)
}

func (s *shelf) Claim(ctx context.Context, id, driver string, epoch uint64) (discovery.Binding, error) {
	if err := s.err("claim"); err != nil {
		return discovery.Binding{}, err
	}
	return s.Memory.Claim(ctx, id, driver, epoch)
}

func (s *shelf) SetReports(ctx context.Context, reports map[string]discovery.Report) error {
	if err := s.err("reports"); err != nil {
		return err
	}
	return s.Memory.SetReports(ctx, reports)
}

func (s *shelf) SetEngine(ctx context.Context, e discovery.Engine) error {
	if err := s.err("engine"); err != nil {
		return err
	}
	return s.Memory.SetEngine(ctx, e)
}

var errDisk = errors.New("disk is full")

// scanner finds what a test lets it find.
type scanner struct {
	mu    sync.Mutex
	found []discovery.Found
	err   error
	scans int
}

func (s *scanner) Scan(ctx context.Context, _ string) ([]discovery.Found, error) {
	s.mu.Lock()
	s.scans++
	err := s.err
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	<-ctx.Done()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.found, nil
}

// finds sets what is found.
func (s *scanner) finds(found ...discovery.Found) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found = found
}

func (s *scanner) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.scans
}

// rig is an engine with its plant.
type rig struct {
	*discovery.Service
	t     *testing.T
	net   *network
	house *house
	store *shelf
	scan  *scanner
	opts  discovery.Options
	stop  func()
}

func newRig(t *testing.T, bridges ...string) *rig {
	t.Helper()
	r := &rig{t: t, net: &network{}, house: &house{drivers: map[string]int{}}, store: &shelf{Memory: discovery.NewMemory()}, scan: &scanner{}}
	r.net.add(bridges...)
	r.opts = discovery.Options{EngineID: "engine-1", EngineURL: func(context.Context, string) (string, error) { return "http://engine:5001", nil },
		Pins: func() []string { return []string{"sha256/x"} }}
	r.open()
	return r
}

// open begins a service on the store, as an engine that starts does.
func (r *rig) open() {
	r.t.Helper()
	var err error
	r.Service, err = discovery.New(r.t.Context(), discovery.Deps{Store: r.store, Bridges: r.net, Scanner: r.scan, Journal: r.house}, r.opts)
	require.NoError(r.t, err)
	require.NoError(r.t, r.Attach(r.t.Context(), r.house))
}

// run runs the heartbeats until stop.
func (r *rig) run() {
	ctx, cancel := context.WithCancel(r.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.Run(ctx)
	}()
	r.stop = func() { cancel(); <-done }
}

// restart ends the service and begins another one.
func (r *rig) restart() {
	r.stop()
	r.house.drivers = map[string]int{}
	r.open()
	r.run()
}

func (r *rig) bind(id string) (discovery.Binding, link.Manifest, error) {
	return r.Bind(r.t.Context(), discovery.BindRequest{BridgeID: id, BridgeURL: urlOf(id)})
}

func (r *rig) mustBind(id string) {
	r.t.Helper()
	_, _, err := r.bind(id)
	require.NoError(r.t, err)
}

// link opens the link of a bridge for the first time.
func (r *rig) link(id string) (key string) {
	r.t.Helper()
	g, err := r.OpenLink(r.t.Context(), link.Hello{BridgeID: id, Token: token, Epoch: "one"})
	require.NoError(r.t, err)
	require.NoError(r.t, r.ConfirmKey(r.t.Context(), id))
	require.NoError(r.t, r.LinkChanged(r.t.Context(), id, true))
	r.net.mu.Lock()
	defer r.net.mu.Unlock()
	for _, h := range r.net.hosts {
		if h.status.BridgeID == id {
			h.key = g.Key
		}
	}
	return g.Key
}

func (r *rig) info(id string) *discovery.Info {
	r.t.Helper()
	all := r.Bindings()
	i := slices.IndexFunc(all, func(b discovery.Info) bool { return b.BridgeID == id })
	require.GreaterOrEqual(r.t, i, 0, id)
	return &all[i]
}
