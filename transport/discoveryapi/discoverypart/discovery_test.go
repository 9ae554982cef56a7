package discoverypart_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/audit"
	"github.com/otkit/otkit/discovery"
	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/history"
	"github.com/otkit/otkit/transport/aasapi/aaspart"
	"github.com/otkit/otkit/transport/alarmsapi/alarmspart"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/bridgelink"
	"github.com/otkit/otkit/transport/discoveryapi/discoverypart"
	"github.com/otkit/otkit/transport/server"
	"github.com/otkit/otkit/transport/tagsapi/tagspart"
)

// stores outlive an engine.
type stores struct {
	bindings discovery.Store
	history  history.Store
	alarms   *alarms.Memory
	shells   *repository.Memory
	audit    *audit.Memory
	model    string
}

func newStores(t *testing.T) *stores {
	return &stores{discovery.NewMemory(), history.NewMemory(), alarms.NewMemory(), repository.NewMemory(), audit.NewMemory(), filepath.Join(t.TempDir(), "model.json")}
}

// plant is a running server with the parts that bridges need.
type plant struct {
	t      *testing.T
	server *server.Server
	tags   *tagspart.Tags
	part   *discoverypart.Discovery
	shells *repository.Service
	log    *audit.Log
	stop   func() // of one of several
}

func start(t *testing.T, s *stores, o discoverypart.Options) *plant {
	t.Helper()
	ctx := t.Context()
	p := &plant{t: t}
	p.tags = must(tagspart.New(ctx, tagspart.Options{ModelPath: s.model, HistoryStore: s.history}))
	al := must(alarmspart.New(ctx, p.tags, alarmspart.Options{Alarms: s.alarms, DataDir: t.TempDir()}))
	shells := must(aaspart.New(ctx, p.tags, aaspart.Options{Store: s.shells}))
	p.shells = shells.Service()
	p.log = must(audit.New(s.audit, audit.Options{}))
	o.EngineID, o.Store = "engine-1", s.bindings
	o.Endpoint.Addr = func() net.Addr { return p.server.Addr() }
	p.part = must(discoverypart.New(ctx, p.tags, al, shells, o))
	admin := auth.AuthenticatorFunc(func(context.Context, auth.Request) (*auth.Principal, error) {
		return &auth.Principal{Issuer: "plant", Subject: "ann", Name: "Ann", Role: accounts.Admin}, nil
	})
	p.server = must(server.New(ctx, server.Options{Authenticator: admin, Listen: "127.0.0.1:0", Audit: p.log},
		p.tags.Part(), al.Part(), shells.Part(), p.part.Part()))
	p.server.Start()
	return p
}

func (p *plant) close() {
	p.t.Helper()
	require.NoError(p.t, p.server.Close(context.Background()))
	require.NoError(p.t, p.log.Close(context.Background()))
}

func (p *plant) call(method, path string, body any) (int, string) {
	p.t.Helper()
	text, err := json.Marshal(body)
	require.NoError(p.t, err)
	r := httptest.NewRequest(method, path, bytes.NewReader(text))
	w := httptest.NewRecorder()
	p.server.Handler().ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func (p *plant) bindings() (list []map[string]any) {
	p.t.Helper()
	code, body := p.call("GET", "/api/discovery/bindings", nil)
	require.Equal(p.t, http.StatusOK, code, body)
	require.NoError(p.t, json.Unmarshal([]byte(body), &list))
	return list
}

// bridge is a bridge with its HTTP API and its link.
type bridge struct {
	t    *testing.T
	http *httptest.Server

	mu       sync.Mutex
	status   link.Status
	manifest link.Manifest
	request  link.BindRequest
	key      string
	conn     link.BridgeConn
}

const token = "binding-token-of-the-press"

func newBridge(t *testing.T) *bridge {
	low := 0.0
	b := &bridge{t: t, status: link.Status{BridgeID: "press-1", Status: link.StatusFree, DriverID: "press", DriverType: "Modbus"},
		manifest: link.Manifest{BridgeID: "press-1", DriverID: "press", DriverType: "Modbus", AvailableSubmodels: []string{"OperationalData", "Nameplate", "Service log"},
			ActiveSubmodels: []string{"OperationalData", "Service log"}, Tags: []link.ManifestTag{
				{Name: "force", Address: "40001", DataType: "Float", Unit: "kN", Access: "ReadWrite", Min: &low, ScanInterval: 500}}}}
	b.http = httptest.NewServer(http.HandlerFunc(b.serve))
	t.Cleanup(b.http.Close)
	return b
}

func (b *bridge) serve(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case r.URL.Path == "/api/bridge/status":
		_ = json.NewEncoder(w).Encode(b.status)
	case r.Method == http.MethodPost && b.status.Status == link.StatusFree:
		text, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(text, &b.request)
		b.status.Status, b.status.BoundEngineID = link.StatusBound, b.request.EngineID
		m := b.manifest
		m.BindingToken = token
		_ = json.NewEncoder(w).Encode(m)
	case r.Method == http.MethodDelete && (r.Header.Get("Authorization") == "Bearer "+b.key || r.Header.Get("Authorization") == "Bearer "+token):
		b.status.Status, b.status.BoundEngineID = link.StatusFree, ""
		w.WriteHeader(http.StatusNoContent)
	default:
		w.WriteHeader(http.StatusConflict)
	}
}

// hello opens the link.
func (b *bridge) hello(url string, h link.Hello) (*link.Welcome, error) {
	b.t.Helper()
	conn, err := bridgelink.Dial(b.t.Context(), bridgelink.DialOptions{URL: url})
	require.NoError(b.t, err)
	h.Protocol, h.BridgeID, h.Epoch, h.ManifestHash = link.Protocol, "press-1", "one", b.manifest.Hash()
	require.NoError(b.t, conn.Send(link.FromBridge{Hello: &h}))
	b.conn = conn
	f, err := conn.Recv()
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	require.NotNil(b.t, f.Welcome)
	if key := f.Welcome.Key; key != "" {
		b.key = key
		require.NoError(b.t, conn.Send(link.FromBridge{Hello: &link.Hello{Protocol: link.Protocol, BridgeID: "press-1", Key: key, Epoch: "one"}}))
	}
	require.NoError(b.t, conn.Send(link.FromBridge{Names: &link.Names{Names: []string{"force"}}}))
	return f.Welcome, nil
}

// deliver sends values as entries from a number on, and waits for the acknowledgement.
func (b *bridge) deliver(first uint64, values ...float64) {
	b.t.Helper()
	entries := make([]link.Entry, len(values))
	for i, v := range values {
		entries[i].Sample = link.Sample{Time: time.Now().Add(time.Duration(i) * time.Millisecond), Value: tags.FloatValue(v), Quality: tags.Good}
	}
	data := link.Encode(entries)
	require.NoError(b.t, b.conn.Send(link.FromBridge{Live: &link.Live{Data: data}}))
	require.NoError(b.t, b.conn.Send(link.FromBridge{Batch: &link.Batch{Block: link.Block{First: first, Count: len(entries), Data: data}}}))
	for {
		f, err := b.conn.Recv()
		require.NoError(b.t, err)
		if f.Ack != nil && f.Ack.Through == first+uint64(len(values))-1 {
			return
		}
	}
}

func eventually(t *testing.T, what string, check func() bool) {
	t.Helper()
	require.Eventually(t, check, time.Minute, 10*time.Millisecond, what)
}

func TestABridgeFromItsBindingToItsRelease(t *testing.T) {
	kept, b := newStores(t), newBridge(t)
	p := start(t, kept, discoverypart.Options{})
	code, body := p.call("POST", "/api/discovery/bind", map[string]string{"bridgeId": "press-1", "bridgeUrl": b.http.URL, "bindSecret": "a-secret-of-the-bridge"})
	require.Equal(t, http.StatusOK, code, body)
	var bound struct {
		Binding  map[string]any
		Manifest struct{ Tags []map[string]any }
	}
	require.NoError(t, json.Unmarshal([]byte(body), &bound))
	require.Equal(t, token, bound.Binding["bindingToken"])
	require.Equal(t, false, bound.Binding["isOnline"])
	require.Equal(t, "127.0.0.1", bound.Binding["ipAddress"])
	require.Equal(t, b.http.URL, bound.Binding["baseUrl"])
	require.Contains(t, bound.Manifest.Tags[0], "min", "also where it is 0")
	require.Equal(t, "http://"+p.server.Addr().String(), b.request.EngineURL)
	require.Equal(t, "engine-1", b.request.EngineID)
	snapshot, ok := p.tags.Current("press.force")
	require.True(t, ok)
	require.Equal(t, tags.Bad, snapshot.Sample.Quality)
	require.Equal(t, tags.ReadWrite, snapshot.Tag.Access)
	require.Equal(t, discoverypart.DriverType, p.tags.Engine().Drivers()[0].Type)

	_, err := b.hello(b.request.EngineURL, link.Hello{Token: token + "x"})
	require.ErrorIs(t, err, link.ErrRefused)
	w, err := b.hello(b.request.EngineURL, link.Hello{Token: token})
	require.NoError(t, err)
	require.Equal(t, "engine-1", w.EngineID)
	require.False(t, w.WantManifest)
	b.deliver(1, 1, 2, 3)
	eventually(t, "the value is shown", func() bool {
		s, _ := p.tags.Current("press.force")
		return s.Sample.Quality == tags.Good && s.Sample.Value == tags.FloatValue(3)
	})
	list := p.bindings()
	require.Equal(t, true, list[0]["isOnline"])
	require.Nil(t, list[0]["bindingToken"])
	require.NotNil(t, list[0]["lastHeartbeatAt"])
	require.Equal(t, `["OperationalData","Service log"]`, list[0]["activeSubmodels"])
	_, body = p.call("GET", "/health", nil)
	require.Contains(t, body, "1 bridge is bound, 1 online")

	require.Equal(t, "press-1", p.part.Registered()[0].ID)
	eventually(t, "the shell", func() bool {
		s, err := p.shells.Shells.Get(t.Context(), discoverypart.ShellID("press-1"))
		return err == nil && len(s.Submodels) == 2
	})
	require.True(t, p.part.IsShell("urn:otkit:bridge:press-1"))
	require.False(t, p.part.IsShell("urn:otkit:bridge:press-2"))
	_, err = p.shells.Submodels.Get(t.Context(), "urn:otkit:bridge:press-1:OperationalData")
	require.NoError(t, err)
	_, err = p.shells.Submodels.Get(t.Context(), "urn:otkit:bridge:press-1:Service log")
	require.NoError(t, err)

	require.NoError(t, b.conn.Close())
	eventually(t, "the tag is Bad without a link", func() bool {
		s, _ := p.tags.Current("press.force")
		return s.Sample.Quality == tags.Bad && p.bindings()[0]["isLinkOpen"] == false
	})
	require.Equal(t, true, p.bindings()[0]["isOnline"], "no heartbeat is missed")

	p.close()
	p = start(t, kept, discoverypart.Options{})
	defer func() { p.close() }()
	snapshot, ok = p.tags.Current("press.force")
	require.True(t, ok, "the tags are back")
	require.Equal(t, tags.Bad, snapshot.Sample.Quality)
	url := "http://" + p.server.Addr().String()
	_, err = b.hello(url, link.Hello{Token: token})
	require.ErrorIs(t, err, link.ErrRefused, "a token is used once")
	w, err = b.hello(url, link.Hello{Key: b.key})
	require.NoError(t, err)
	require.EqualValues(t, 3, w.Position)
	b.deliver(4, 4)
	var stored []string
	for s, err := range kept.history.Range(t.Context(), "press.force", time.Time{}, time.Now().Add(time.Hour)) {
		require.NoError(t, err)
		stored = append(stored, s.Value.String()+" "+s.Quality.String())
	}
	require.Equal(t, []string{"1 Good", "2 Good", "3 Good", "4 Good"}, stored)

	code, body = p.call("DELETE", "/api/discovery/unbind/press-1", nil)
	require.Equal(t, http.StatusNoContent, code, body)
	require.Equal(t, link.StatusFree, b.status.Status)
	_, ok = p.tags.Current("press.force")
	require.False(t, ok)
	require.Empty(t, p.bindings())
	_, err = b.hello(url, link.Hello{Key: b.key})
	require.ErrorIs(t, err, link.ErrRefused)
	_, err = p.shells.Shells.Get(t.Context(), discoverypart.ShellID("press-1"))
	require.NoError(t, err, "people may have completed it")
	code, body = p.call("DELETE", "/api/discovery/unbind/press-1", nil)
	require.Equal(t, http.StatusNotFound, code, body)
	require.Contains(t, body, `"BRIDGE_NOT_BOUND"`)

	code, body = p.call("POST", "/api/discovery/bind", map[string]string{"bridgeId": "press-1", "bridgeUrl": b.http.URL})
	require.Equal(t, http.StatusOK, code, body)
	w, err = b.hello(url, link.Hello{Token: token})
	require.NoError(t, err)
	require.EqualValues(t, 4, w.Position, "its buffer goes on")
	b.deliver(5, 5)

	records, _, err := p.log.List(t.Context(), audit.Query{Limit: 100})
	require.NoError(t, err)
	seen := fmt.Sprintf("%+v", records)
	require.Contains(t, seen, "bindBridge")
	require.Contains(t, seen, "press-1")
	require.NotContains(t, seen, token)
	require.NotContains(t, seen, "a-secret-of-the-bridge")
	require.NotContains(t, seen, b.key)
}

func TestRefusals(t *testing.T) {
	p := start(t, newStores(t), discoverypart.Options{})
	defer p.close()
	other := newBridge(t)
	other.status.BridgeID = "press-9"
	broken := newBridge(t)
	broken.manifest.Tags[0].DataType = "Complex"
	for _, c := range []struct {
		method, path string
		body         any
		status       int
		code         string
	}{
		{"POST", "/api/discovery/bind", map[string]string{"bridgeUrl": "http://127.0.0.1:1"}, 400, "INVALID_REQUEST"},
		{"POST", "/api/discovery/bind", map[string]string{"bridgeId": "press-1"}, 400, "INVALID_REQUEST"},
		{"POST", "/api/discovery/bind", map[string]any{"bridgeId": 7}, 400, "INVALID_REQUEST"},
		{"POST", "/api/discovery/bind", map[string]string{"bridgeId": "press-1", "bridgeUrl": "http://127.0.0.1:1"}, 502, "BRIDGE_CONNECTION_FAILED"},
		{"POST", "/api/discovery/bind", map[string]string{"bridgeId": "press-1", "bridgeUrl": other.http.URL}, 409, "BRIDGE_ID_MISMATCH"},
		{"POST", "/api/discovery/bind", map[string]string{"bridgeId": "press-1", "bridgeUrl": broken.http.URL}, 502, "BRIDGE_MANIFEST_INVALID"},
		{"GET", "/api/discovery/scan?timeoutSeconds=0", nil, 400, "INVALID_REQUEST"},
		{"GET", "/api/discovery/scan?timeoutSeconds=31", nil, 400, "INVALID_REQUEST"},
		{"GET", "/api/discovery/scan?timeoutSeconds=x", nil, 400, "INVALID_REQUEST"},
		{"GET", "/api/discovery/scan?excludeBound=x", nil, 400, "INVALID_REQUEST"},
	} {
		code, body := p.call(c.method, c.path, c.body)
		require.Equal(t, c.status, code, "%s %v: %s", c.path, c.body, body)
		require.Contains(t, body, `"`+c.code+`"`)
	}
	require.Equal(t, link.StatusFree, broken.status.Status, "it was released")
	code, body := p.call("GET", "/api/discovery/scan?timeoutSeconds=1", nil)
	require.Equal(t, http.StatusOK, code)
	require.Equal(t, "[]", strings.TrimSpace(body))
}

// stuckHistory stores nothing until it is let go, whatever the context says, as a disk that hangs does.
type stuckHistory struct {
	history.Store
	stuck, free chan struct{}
}

func (s *stuckHistory) Append(ctx context.Context, samples []history.Sample) error {
	s.stuck <- struct{}{}
	<-s.free
	return s.Store.Append(ctx, samples)
}

func TestABridgeWhoseDriverDoesNotStopDelaysNoOther(t *testing.T) {
	kept := newStores(t)
	disk := &stuckHistory{Store: kept.history, stuck: make(chan struct{}, 100), free: make(chan struct{})}
	kept.history = disk
	p, b, other := start(t, kept, discoverypart.Options{}), newBridge(t), newBridge(t)
	defer p.close()
	other.status.BridgeID, other.status.DriverID, other.manifest.BridgeID, other.manifest.DriverID = "press-2", "press2", "press-2", "press2"
	code, body := p.call("POST", "/api/discovery/bind", map[string]string{"bridgeId": "press-1", "bridgeUrl": b.http.URL})
	require.Equal(t, http.StatusOK, code, body)
	_, err := b.hello(b.request.EngineURL, link.Hello{Token: token})
	require.NoError(t, err)
	data := link.Encode([]link.Entry{{Sample: link.Sample{Time: time.Now(), Value: tags.FloatValue(1), Quality: tags.Good}}})
	require.NoError(t, b.conn.Send(link.FromBridge{Batch: &link.Batch{Block: link.Block{First: 1, Count: 1, Data: data}}}))
	<-disk.stuck
	unbound := make(chan int)
	go func() {
		code, _ := p.call("DELETE", "/api/discovery/unbind/press-1", nil)
		unbound <- code
	}()
	eventually(t, "the binding is removed", func() bool { return len(p.bindings()) == 0 })
	bound := make(chan int, 1)
	go func() {
		code, _ := p.call("POST", "/api/discovery/bind", map[string]string{"bridgeId": "press-2", "bridgeUrl": other.http.URL})
		bound <- code
	}()
	select {
	case code := <-bound:
		require.Equal(t, http.StatusOK, code)
	case <-time.After(20 * time.Second): // the unbind waits for 30 s
		t.Error("the bind waits for the unbind")
	}
	close(disk.free)
	require.Equal(t, http.StatusNoContent, <-unbound)
}

// A stop is no fault of the bridges: it neither makes tags Bad for rules that still follow them, nor waits for bridges.
func TestAStopEndsLinks(t *testing.T) {
	p, b := start(t, newStores(t), discoverypart.Options{}), newBridge(t)
	code, body := p.call("POST", "/api/discovery/bind", map[string]string{"bridgeId": "press-1", "bridgeUrl": b.http.URL})
	require.Equal(t, http.StatusOK, code, body)
	_, err := b.hello(b.request.EngineURL, link.Hello{Token: token})
	require.NoError(t, err)
	b.deliver(1, 1)
	var mu sync.Mutex
	var seen []tags.Quality
	p.tags.Observe(func(changes []tags.Change) {
		mu.Lock()
		defer mu.Unlock()
		for _, c := range changes {
			seen = append(seen, c.Sample.Quality)
		}
	})
	began := time.Now()
	p.close()
	require.Less(t, time.Since(began), 10*time.Second)
	mu.Lock()
	defer mu.Unlock()
	require.NotContains(t, seen, tags.Bad)
	_, err = b.conn.Recv()
	for err == nil {
		_, err = b.conn.Recv()
	}
	require.NotErrorIs(t, err, link.ErrRefused, "it must not become free")
}
