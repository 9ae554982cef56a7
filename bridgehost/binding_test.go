package bridgehost_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/bridgehost"
	"github.com/otkit/otkit/discovery/link"
)

const bindPath = "/api/bridge/bind"

func bindRequest(engine string) map[string]any {
	return map[string]any{"engineId": engine, "engineUrl": "http://192.0.2.9:5001"}
}

func TestBindingFromFreeToFree(t *testing.T) {
	r := start(t)
	admin, _ := r.people()
	status := r.call("GET", "/api/bridge/status", "", nil).is(200)
	require.Equal(t, map[string]any{"bridgeId": "b1", "status": "free", "boundEngineId": nil, "driverType": "Simulation", "driverId": "press",
		"version": "1.2.3"}, status.object())
	require.Nil(t, r.call("GET", "/api/bridge/manifest", "", nil).is(200).get("bindingToken"), "whoever may bind the bridge may see it")
	r.call("DELETE", bindPath, admin, nil).problem(404, "BRIDGE_NOT_BOUND")

	r.bad("POST", bindPath, "", map[string]any{"engineId": "e1"}).problem(400, "INVALID_REQUEST")
	r.bad("POST", bindPath, "", map[string]any{"engineId": 7, "engineUrl": "http://x"}).problem(400, "INVALID_REQUEST")
	r.call("POST", bindPath, "", map[string]any{"engineId": "e1", "engineUrl": "ftp://x"}).is(400)
	require.Equal(t, "free", r.call("GET", "/api/bridge/status", "", nil).get("status"))

	manifest := r.call("POST", bindPath, "", bindRequest("e1")).is(200)
	token := manifest.text("bindingToken")
	require.Equal(t, "press", manifest.get("driverId"))
	require.Len(t, manifest.get("tags"), 2)
	status = r.call("GET", "/api/bridge/status", "", nil).is(200)
	require.Equal(t, "bound", status.get("status"))
	require.Equal(t, "e1", status.get("boundEngineId"))
	require.NotContains(t, string(status.body), token)

	r.call("POST", bindPath, "", bindRequest("e2")).problem(409, "BRIDGE_BOUND")
	r.call("POST", bindPath, token, bindRequest("e1")).problem(409, "BRIDGE_BOUND")
	r.call("GET", "/api/bridge/manifest", "", nil).problem(401, "UNAUTHORIZED")
	r.call("GET", "/api/bridge/manifest", token+"x", nil).problem(401, "UNAUTHORIZED")
	require.Nil(t, r.call("GET", "/api/bridge/manifest", token, nil).is(200).get("bindingToken"))
	for _, path := range []string{"/api/bridge/license", "/api/bridge/audit", "/api/bridge/config"} {
		r.call("GET", path, token, nil).problem(403, "FORBIDDEN")
	}
	r.call("POST", "/api/bridge/auth/logout", token, nil).problem(409, "OUTSIDE_SESSION")
	r.call("POST", "/api/bridge/auth/password", token, map[string]string{"currentPassword": "a", "newPassword": "b"}).problem(409, "OUTSIDE_SESSION")

	r.call("DELETE", bindPath, "wrong", nil).problem(401, "UNAUTHORIZED")
	r.call("DELETE", bindPath, token, nil).is(204)
	require.Equal(t, "free", r.call("GET", "/api/bridge/status", "", nil).get("status"))
	r.call("DELETE", bindPath, token, nil).problem(401, "UNAUTHORIZED")

	r.bind()
	r.call("DELETE", bindPath, admin, nil).is(204)
}

func TestABindingSurvivesARestart(t *testing.T) {
	r := start(t)
	token := r.bind()
	r.stop()
	again := start(t, func(o *bridgehost.Options) { o.DataDir = r.dir })
	require.Equal(t, "e1", again.call("GET", "/api/bridge/status", "", nil).get("boundEngineId"))
	again.call("DELETE", bindPath, token, nil).is(204)
}

func TestOfManyEnginesOneBinds(t *testing.T) {
	r := start(t)
	var bound atomic.Int32
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			a := r.call("POST", bindPath, "", bindRequest(string(rune('a'+i))))
			if a.status == 200 {
				bound.Add(1)
			} else {
				a.problem(409, "BRIDGE_BOUND")
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1, bound.Load())
}

func TestTheBindSecret(t *testing.T) {
	r := start(t, func(o *bridgehost.Options) { o.Link.BindSecret = "open-sesame" })
	_, viewer := r.people()
	r.call("POST", bindPath, "", bindRequest("e1")).problem(401, "BIND_SECRET")
	wrong := r.request("POST", bindPath, "", bindRequest("e1"))
	wrong.Header.Set("X-Bind-Secret", "open-sesam")
	r.do(wrong).problem(401, "BIND_SECRET")
	r.call("GET", "/api/bridge/manifest", "", nil).problem(401, "UNAUTHORIZED")
	r.call("GET", "/api/bridge/manifest", viewer, nil).is(200)
	right := r.request("POST", bindPath, "", bindRequest("e1"))
	right.Header.Set("X-Bind-Secret", "open-sesame")
	r.do(right).is(200)
}

func TestAPageOfAStrangerCannotBind(t *testing.T) {
	r := start(t)
	for host, status := range map[string]int{"": 403, "evil.example": 421} {
		req := r.request("POST", bindPath, "", bindRequest("e1"))
		req.Header.Set("Origin", "http://evil.example")
		if host != "" {
			req.Host = host
		}
		r.do(req).is(status)
	}
	rebound := r.request("GET", "/api/bridge/manifest", "", nil) // a browser sends no Origin with it
	rebound.Host = "evil.example"
	r.do(rebound).problem(421, "MISDIRECTED_REQUEST")
	r.from("192.0.2.9", r.request("POST", bindPath, "", bindRequest("e1"))).is(200)
}

// engine is the other side of a link that takes the token in exchange for a key.
type engine struct {
	hellos chan link.Hello
	key    string
}

func (e *engine) dial(context.Context, string, []string) (link.BridgeConn, error) {
	bridge, conn := link.Pipe()
	go func() {
		for {
			f, err := conn.Recv()
			if err != nil {
				return
			}
			switch {
			case f.Hello != nil:
				w := link.Welcome{EngineID: "e1", Time: time.Now()}
				if f.Hello.Token != "" {
					w.Key = e.key
				}
				confirms := f.Hello.Key != "" && f.Hello.Token == ""
				e.hellos <- *f.Hello
				if !confirms {
					_ = conn.Send(link.FromEngine{Welcome: &w})
				}
			case f.Batch != nil:
				_ = conn.Send(link.FromEngine{Ack: &link.Ack{Through: f.Batch.Last()}})
			}
		}
	}()
	return bridge, nil
}

func TestTheSessionKeyTakesThePlaceOfTheToken(t *testing.T) {
	e := &engine{hellos: make(chan link.Hello, 16), key: "the-session-key-of-this-link"}
	r := start(t, func(o *bridgehost.Options) { o.Link.Dial = e.dial })
	token := r.bind()
	require.Equal(t, token, (<-e.hellos).Token)
	require.Equal(t, e.key, (<-e.hellos).Key)
	require.Eventually(t, func() bool {
		return r.call("GET", "/health", "", nil).get("cloudConnection") == "connected"
	}, time.Minute, 10*time.Millisecond)
	r.call("GET", "/api/bridge/manifest", e.key, nil).is(200)
	health := r.call("GET", "/health", "", nil).is(200)
	require.Equal(t, "Healthy", health.get("results", "engine-connectivity", "status"))
	require.Equal(t, true, health.get("results", "engine-connectivity", "data", "isConnected"))
	require.Equal(t, "http://192.0.2.9:5001", health.get("results", "engine-connectivity", "data", "engineUrl"))
	r.call("DELETE", bindPath, e.key, nil).is(204)
}
