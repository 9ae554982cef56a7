package bridgehost_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otkit/otkit/bridgehost"
	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/internal/contract"
	"github.com/otkit/otkit/openapi"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/driverconfig"
	"github.com/otkit/otkit/tags/passive"
	"github.com/otkit/otkit/tags/simdriver"
	"github.com/otkit/otkit/transport/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// theContract is the document of the bridge.
var theContract = sync.OnceValues(func() (*contract.Contract, error) { return contract.New(openapi.Bridge) })

// rig is a bridge that is called over HTTP. Every request and answer is held to the document.
type rig struct {
	*bridgehost.Bridge
	t      testing.TB
	dir    string
	url    string
	client *http.Client
}

var errAway = errors.New("the engine is away")

// away dials an engine that never answers.
func away(context.Context, string, []string) (link.BridgeConn, error) { return nil, errAway }

// start runs a bridge with a simulation of two tags.
func start(t testing.TB, change ...func(*bridgehost.Options)) *rig {
	t.Helper()
	d, err := simdriver.New(simdriver.Options{DeviceCount: 1, TagsPerDevice: 2, UpdateInterval: 20 * time.Millisecond})
	require.NoError(t, err)
	o := bridgehost.Options{
		DataDir: t.TempDir(), ID: "b1", Name: "Press 7", Location: "Hall 2", TenantID: "acme",
		Server: server.Options{Listen: "127.0.0.1:0", Version: "1.2.3"},
		Driver: bridgehost.Driver{ID: "press", Type: "Simulation", Driver: d, Options: tags.DriverOptions{PollInterval: 20 * time.Millisecond, Tags: []tags.Tag{
			{Name: "press.flow", Address: "device1.tag1", DataType: tags.Float, Unit: "l/min"},
			{Name: "press.serial_number", Address: "device1.tag2", DataType: tags.Float},
		}}},
		Link:     bridgehost.LinkOptions{Dial: away, RetryInterval: 20 * time.Millisecond},
		Settings: func() map[string]any { return map[string]any{"bridge": map[string]any{"bindSecret": "****"}} },
	}
	return startWith(t, o, change...)
}

// startPassive runs a bridge whose device sends by itself.
func startPassive(t testing.TB, change ...func(*bridgehost.Options)) *rig {
	t.Helper()
	s := driverconfig.Settings{ID: "line", Type: passive.TypeName, Settings: json.RawMessage(
		`{"Tags": [{"Name": "temp", "Address": "T1", "Type": "Float"}, {"Name": "count", "Type": "Int"}, {"Name": "note", "Type": "String"}]}`)}
	d, list, err := passive.FromSettings(s, nil)
	require.NoError(t, err)
	return startWith(t, bridgehost.Options{
		DataDir: t.TempDir(), ID: "b1", Server: server.Options{Listen: "127.0.0.1:0"},
		Driver: bridgehost.Driver{ID: "line", Type: passive.TypeName, Driver: d, Options: tags.DriverOptions{Tags: list}},
		Link:   bridgehost.LinkOptions{Dial: away, RetryInterval: 20 * time.Millisecond},
	}, change...)
}

func startWith(t testing.TB, o bridgehost.Options, change ...func(*bridgehost.Options)) *rig {
	t.Helper()
	for _, c := range change {
		c(&o)
	}
	r := &rig{t: t, dir: o.DataDir}
	var err error
	r.Bridge, err = bridgehost.New(t.Context(), o)
	require.NoError(t, err)
	r.Start()
	r.url = "http://" + r.Addr().String()
	c, err := theContract()
	require.NoError(t, err)
	transport := &http.Transport{MaxIdleConnsPerHost: 8}
	r.client = &http.Client{Transport: c.Judge(t, transport)}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		r.stop()
	})
	return r
}

// stop closes the bridge, also twice.
func (r *rig) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	require.NoError(r.t, r.Close(ctx))
}

// answer is what a call got.
type answer struct {
	t      testing.TB
	status int
	header http.Header
	body   []byte
}

// is requires a status.
func (a answer) is(status int) answer {
	a.t.Helper()
	require.Equal(a.t, status, a.status, "%s", a.body)
	return a
}

// problem requires a status and a code.
func (a answer) problem(status int, code string) answer {
	a.t.Helper()
	a.is(status)
	require.Equal(a.t, code, a.get("code"), "%s", a.body)
	return a
}

// object returns the body.
func (a answer) object() (v map[string]any) {
	a.t.Helper()
	require.NoError(a.t, json.Unmarshal(a.body, &v), "%s", a.body)
	return v
}

// get returns a member of the body; names lead into objects.
func (a answer) get(names ...string) (v any) {
	a.t.Helper()
	v = a.object()
	for _, name := range names {
		o, ok := v.(map[string]any)
		require.True(a.t, ok, "%s: %s", names, a.body)
		v = o[name]
	}
	return v
}

// text returns a member that is a string.
func (a answer) text(names ...string) string {
	a.t.Helper()
	s, ok := a.get(names...).(string)
	require.True(a.t, ok, "%s: %s", names, a.body)
	return s
}

// request returns a request with a body, JSON unless it is a string, and a token unless it is empty.
func (r *rig) request(method, path, token string, body any) *http.Request {
	r.t.Helper()
	var text io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		text = strings.NewReader(b)
	default:
		encoded, err := json.Marshal(b)
		require.NoError(r.t, err)
		text = bytes.NewReader(encoded)
	}
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, text)
	require.NoError(r.t, err)
	if text != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return req
}

// call makes a request that keeps the document.
func (r *rig) call(method, path, token string, body any) answer {
	r.t.Helper()
	return r.do(r.request(method, path, token, body))
}

// bad makes a request that does not.
func (r *rig) bad(method, path, token string, body any) answer {
	r.t.Helper()
	req := r.request(method, path, token, body)
	return r.do(req.WithContext(contract.Wrong(req.Context())))
}

func (r *rig) do(req *http.Request) answer {
	r.t.Helper()
	resp, err := r.client.Do(req)
	require.NoError(r.t, err)
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	require.NoError(r.t, err)
	return answer{r.t, resp.StatusCode, resp.Header, body}
}

// from makes a request that comes from another machine.
func (r *rig) from(address string, req *http.Request) answer {
	r.t.Helper()
	req.RemoteAddr, req.RequestURI = address+":40000", req.URL.RequestURI()
	if req.Body == nil {
		req.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	r.Handler().ServeHTTP(w, req)
	return answer{r.t, w.Code, w.Header(), w.Body.Bytes()}
}

const (
	adminPassword  = "korrekt-Pferd-7-Batterie"
	viewerPassword = "Regenschirm-42-blau"
)

// admin makes the first account and returns its token.
func (r *rig) admin() string {
	r.t.Helper()
	r.call(http.MethodPost, "/api/bridge/auth/setup", "", map[string]string{"username": "ann", "password": adminPassword}).is(201)
	return r.login("ann", adminPassword)
}

func (r *rig) login(name, password string) string {
	r.t.Helper()
	return r.call(http.MethodPost, "/api/bridge/auth/login", "", map[string]string{"username": name, "password": password}).is(200).text("accessToken")
}

// people makes an admin and a viewer and returns their tokens.
func (r *rig) people() (admin, viewer string) {
	r.t.Helper()
	admin = r.admin()
	r.call(http.MethodPost, "/api/bridge/auth/accounts", admin,
		map[string]string{"username": "vic", "password": viewerPassword, "role": "viewer"}).is(201)
	return admin, r.login("vic", viewerPassword)
}

// bind binds the bridge and returns the binding token.
func (r *rig) bind() string {
	r.t.Helper()
	return r.call(http.MethodPost, "/api/bridge/bind", "", map[string]any{"engineId": "e1", "engineUrl": "http://192.0.2.9:5001"}).is(200).text("bindingToken")
}
