package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/realtest"
	"github.com/otkit/otkit/openapi/client"
	"github.com/otkit/otkit/tags"
)

const (
	password = "correct horse battery"
	bridgeID = "press-7"
)

// plant is an engine and a bridge that reads a counting device.
type plant struct {
	*client.ClientWithResponses
	t              testing.TB
	engine, bridge *process
	device         *counter
	began          time.Time
}

// options are what plants differ in.
type options struct {
	engineHost, bridgeHost string  // default 127.0.0.1
	bridgeMachine          machine // default here
	bridgeEnv, engineEnv   []string
	bridgeData, engineData string // default: folders of the test
	driver                 string // the file driver_settings.json; default: the counting device, every 20 ms
}

// newPlant starts engine, bridge and device and logs in to the engine.
func newPlant(t testing.TB, o options) *plant {
	t.Helper()
	for field, value := range map[*string]string{&o.engineHost: "127.0.0.1", &o.bridgeHost: "127.0.0.1"} {
		if *field == "" {
			*field = value
		}
	}
	if o.bridgeMachine == nil {
		o.bridgeMachine = here
	}
	if o.bridgeData == "" {
		o.bridgeData = filepath.Join(t.TempDir(), "bridge")
	}
	if o.engineData == "" {
		o.engineData = filepath.Join(t.TempDir(), "engine")
	}
	p := &plant{t: t, began: time.Now()}
	if o.driver == "" {
		p.device = startCounter(t, o.bridgeMachine, realtest.FreePort(t))
		o.driver = fmt.Sprintf(`{"Driver": {"Id": "plc", "Type": "Modbus", "IpAddress": "127.0.0.1", "Port": %d, "Settings": {"PollIntervalMs": 20, "Tags": [
			{"Name": "count", "Address": "HR:0", "Type": "UInt32"},
			{"Name": "setpoint", "Address": "HR:10", "Type": "UInt16", "AccessMode": "ReadWrite", "PollIntervalMs": 1000}]}}}`, p.device.port)
	}
	settings := filepath.Join(t.TempDir(), "driver_settings.json")
	require.NoError(t, os.WriteFile(settings, []byte(o.driver), 0o600))
	common := []string{"Auth__AdminPassword=" + password, "Discovery__Mdns=false", "Log__Requests=false"}
	p.engine = start(t, here, "engine", fmt.Sprintf("%s:%d", o.engineHost, realtest.FreePort(t)),
		slices.Concat(common, []string{"Discovery__HeartbeatSeconds=1", "Server__RateLimit__PerAccount=-1"}, o.engineEnv), "-data", o.engineData)
	p.bridge = start(t, o.bridgeMachine, "bridge", fmt.Sprintf("%s:%d", o.bridgeHost, realtest.FreePort(t)),
		slices.Concat(common, []string{"Bridge__Id=" + bridgeID, "CloudConnection__RetryIntervalSeconds=1"}, o.bridgeEnv), "-data", o.bridgeData, "-driver", settings)
	p.login()
	return p
}

func (p *plant) login() {
	p.t.Helper()
	open, err := client.NewClientWithResponses(p.engine.url, client.WithHTTPClient(trusting))
	require.NoError(p.t, err)
	answer, err := open.LoginWithResponse(p.t.Context(), client.LoginRequest{Username: "admin", Password: password})
	require.NoError(p.t, err)
	require.NotNil(p.t, answer.JSON200, "%s %s", answer.Status(), answer.Body)
	p.ClientWithResponses, err = client.NewClientWithResponses(p.engine.url, client.WithHTTPClient(trusting), client.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+answer.JSON200.AccessToken)
		return nil
	}))
	require.NoError(p.t, err)
}

// bind binds the bridge and waits until its link is open.
func (p *plant) bind() {
	p.t.Helper()
	answer, err := p.BindBridgeWithResponse(p.t.Context(), client.BindBridgeRequest{BridgeID: bridgeID, BridgeURL: p.bridge.url})
	require.NoError(p.t, err)
	require.NotNil(p.t, answer.JSON200, "%s %s", answer.Status(), answer.Body)
	p.linked(true)
}

// linked waits until the link is open, or until it is not.
func (p *plant) linked(open bool) {
	p.t.Helper()
	eventually(p.t, fmt.Sprint("the link does not become open: ", open), func() bool {
		b := p.binding()
		return b != nil && b.IsLinkOpen == open
	})
}

// binding returns the binding, nil if there is none or the engine does not answer.
func (p *plant) binding() *client.BridgeBindingStatus {
	answer, err := p.ListBindingsWithResponse(p.t.Context())
	if err != nil || answer.JSON200 == nil || len(*answer.JSON200) == 0 {
		return nil
	}
	return &(*answer.JSON200)[0]
}

// status returns what the bridge says of itself, "" if it does not answer.
func (p *plant) status() string {
	var s struct{ Status string }
	p.ask("/api/bridge/status", "", &s)
	return s.Status
}

// ask gets a page of the bridge.
func (p *plant) ask(path, token string, into any) {
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.bridge.url+path, nil)
	require.NoError(p.t, err)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := trusting.Do(r)
	if err != nil {
		return
	}
	defer func() { _ = answer.Body.Close() }()
	_ = json.NewDecoder(answer.Body).Decode(into)
}

// counts returns the numbers in the history, as they are stored.
func (p *plant) counts() (list []int64) {
	for _, point := range p.points("plc.count") {
		if point.Value.Type() == tags.Int && point.Quality == client.Good {
			list = append(list, point.Value.Int())
		}
	}
	return list
}

// points returns the history of a tag, none if there is none.
func (p *plant) points(tag string) []client.HistoryPoint {
	p.t.Helper()
	most := 100_000
	answer, err := p.GetTagHistoryWithResponse(p.t.Context(), tag, &client.GetTagHistoryParams{Start: p.began.Add(-time.Hour), End: time.Now().Add(time.Hour), MaxPoints: &most})
	require.NoError(p.t, err)
	if answer.StatusCode() == http.StatusNotFound {
		return nil
	}
	require.NotNil(p.t, answer.JSON200, "%s %s", answer.Status(), answer.Body)
	return answer.JSON200.Points
}

// complete waits until all is stored that the device has given until now, and returns it.
func (p *plant) complete() []int64 {
	p.t.Helper()
	last := p.device.given()
	var list []int64
	eventually(p.t, fmt.Sprint("the history does not reach ", last), func() bool {
		list = p.counts()
		return len(list) > 0 && list[len(list)-1] >= last
	})
	return list
}

// requireEach asserts that each number from the first on is there, once and in order.
func (p *plant) requireEach(list []int64) {
	p.t.Helper()
	require.NotEmpty(p.t, list)
	require.Empty(p.t, gaps(list), "missing, or twice, or out of order")
	p.t.Logf("%d samples, none missing, none twice, in order", len(list))
}

// gaps lists where a list of numbers does not go on by one.
func gaps(list []int64) (found []string) {
	for i := 1; i < len(list); i++ {
		if list[i] != list[i-1]+1 {
			found = append(found, fmt.Sprintf("%d after %d", list[i], list[i-1]))
		}
	}
	return found
}

// alarm waits for an active alarm whose message has the words.
func (p *plant) alarm(words ...string) {
	p.t.Helper()
	eventually(p.t, fmt.Sprintf("no alarm with %q", words), func() bool {
		answer, err := p.GetActiveAlarmsWithResponse(p.t.Context())
		if err != nil || answer.JSON200 == nil {
			return false
		}
		for line := range strings.SplitSeq(string(answer.Body), "},{") {
			if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) }) {
				return true
			}
		}
		return false
	})
}

// bridgeToken logs in to the bridge.
func (p *plant) bridgeToken() string {
	p.t.Helper()
	var login struct{ AccessToken string }
	p.post("/api/bridge/auth/login", fmt.Sprintf(`{"username": "admin", "password": %q}`, password), &login)
	return login.AccessToken
}

// post sends JSON to the bridge.
func (p *plant) post(path, body string, into any) {
	p.t.Helper()
	answer, err := trusting.Post(p.bridge.url+path, "application/json", strings.NewReader(body))
	require.NoError(p.t, err)
	defer func() { _ = answer.Body.Close() }()
	require.Less(p.t, answer.StatusCode, 300, path)
	require.NoError(p.t, json.NewDecoder(answer.Body).Decode(into))
}
