package bridgehost_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/bridgehost"
)

func TestHealthFollowsTheBinding(t *testing.T) {
	r := start(t)
	free := r.call("GET", "/health", "", nil).is(503)
	require.Equal(t, "Unhealthy", free.get("status"))
	require.Equal(t, "Unhealthy", free.get("results", "engine-connectivity", "status"))
	require.Equal(t, map[string]any{"engineUrl": "", "isConnected": false, "discoveryMethod": "none"}, free.get("results", "engine-connectivity", "data"))
	require.Contains(t, free.text("results", "engine-connectivity", "description"), "/health/live")
	require.Equal(t, "Healthy", free.get("results", "driver", "status"))
	require.Equal(t, "press", free.get("results", "driver", "data", "driverId"))
	require.Equal(t, "Simulation", free.get("results", "driver", "data", "driverType"))
	require.Equal(t, "press", free.get("driver"))
	require.Equal(t, "none", free.get("cloudConnection"))
	require.EqualValues(t, 0, free.get("bufferedMessages"))
	require.Contains(t, free.object(), "uptime")

	ready := r.call("GET", "/health/ready", "", nil).is(200)
	require.Len(t, ready.get("results"), 1)
	require.Equal(t, "Healthy", ready.get("results", "driver", "status"))
	live := r.call("GET", "/health/live", "", nil).is(200)
	require.Equal(t, "Healthy", live.get("status"))

	r.bind()
	bound := r.call("GET", "/health", "", nil).is(200)
	require.Equal(t, "Degraded", bound.get("status"))
	require.Equal(t, "Degraded", bound.get("results", "engine-connectivity", "status"))
	require.Equal(t, "disconnected", bound.get("cloudConnection"))
	require.Eventually(t, func() bool {
		why := r.call("GET", "/health", "", nil).get("results", "engine-connectivity", "data").(map[string]any)["lastError"]
		return why != nil && why != ""
	}, time.Minute, 10*time.Millisecond)
	require.Eventually(t, func() bool {
		return r.call("GET", "/health", "", nil).get("bufferedMessages").(float64) > 0
	}, time.Minute, 10*time.Millisecond)
}

func TestHealthOfDataThatDoesNotCome(t *testing.T) {
	var mu sync.Mutex
	var ahead time.Duration
	r := startPassive(t, func(o *bridgehost.Options) {
		o.Server.Now = func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return time.Now().Add(ahead)
		}
	})
	r.bind()
	pass := func(d time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		ahead += d
	}
	ingest := func() any { return r.call("GET", "/health", "", nil).get("results", "ingest", "status") }
	require.Equal(t, "Healthy", ingest())
	r.call("POST", ingestPath, "", item(1)).is(202)
	pass(25 * time.Second)
	require.Equal(t, "Healthy", ingest())
	pass(10 * time.Second)
	require.Equal(t, "Degraded", ingest())
	r.call("GET", "/health", "", nil).is(200)
	pass(30 * time.Second)
	require.Equal(t, "Unhealthy", ingest())
	r.call("GET", "/health", "", nil).is(503)
	r.call("GET", "/health/ready", "", nil).is(200)
	require.Nil(t, start(t).call("GET", "/health", "", nil).object()["results"].(map[string]any)["ingest"], "only a passive driver has the check")
}

func TestMonitoring(t *testing.T) {
	r := start(t)
	_, viewer := r.people()
	state := r.call("GET", "/api/bridge/monitoring/status", viewer, nil).is(200)
	require.Equal(t, "Press 7", state.get("name"))
	require.Equal(t, "Hall 2", state.get("location"))
	require.Equal(t, "acme", state.get("tenantId"))
	require.EqualValues(t, 2, state.get("driver", "tags"))
	require.Equal(t, false, state.get("link", "isConnected"))
	require.Equal(t, false, state.get("buffer", "enabled"))

	require.Eventually(t, func() bool {
		a := r.call("GET", "/api/bridge/monitoring/tags?pageSize=1&page=1", viewer, nil).is(200)
		first := a.get("items").([]any)[0].(map[string]any)
		return first["name"] == "flow" && first["quality"] == "Good" && first["currentValue"].(map[string]any)["doubleValue"] != nil && first["unit"] == "l/min"
	}, time.Minute, 10*time.Millisecond)
	second := r.call("GET", "/api/bridge/monitoring/tags?pageSize=1&page=2", viewer, nil).is(200)
	require.EqualValues(t, 2, second.get("totalCount"))
	require.Equal(t, "serial_number", second.get("items").([]any)[0].(map[string]any)["name"])
	require.Empty(t, r.call("GET", "/api/bridge/monitoring/tags?page=9999999", viewer, nil).is(200).get("items"))
	require.Empty(t, r.call("GET", "/api/bridge/monitoring/tags?search=serialXnumber", viewer, nil).is(200).get("items"))
	require.Len(t, r.call("GET", "/api/bridge/monitoring/tags?search=L_n", viewer, nil).is(200).get("items"), 1, "the sign _ stands for itself")
	r.bad("GET", "/api/bridge/monitoring/tags?pageSize=501", viewer, nil).problem(400, "PAGE_SIZE_EXCEEDED")
	r.bad("GET", "/api/bridge/monitoring/tags?pageSize=0", viewer, nil).problem(400, "INVALID_REQUEST")
	r.bad("GET", "/api/bridge/monitoring/tags?page=x", viewer, nil).problem(400, "INVALID_REQUEST")
}

func TestEveryBadPathHasAnErrorBody(t *testing.T) {
	r := start(t)
	r.bad("GET", "/api/bridge/nothing", "", nil).problem(404, "NOT_FOUND")
	r.bad("GET", "/api/v1/tags", "", nil).problem(404, "NOT_FOUND")
	r.bad("GET", "/api/v1/auth/sessions", "", nil).problem(404, "NOT_FOUND")
	wrong := r.bad("PUT", "/api/bridge/status", "", `{}`).problem(405, "METHOD_NOT_ALLOWED")
	require.Contains(t, wrong.header.Get("Allow"), "GET")
	r.bad("POST", bindPath, "", `{"engineId":`).problem(400, "INVALID_REQUEST")
	document := r.call("GET", "/openapi.yaml", "", nil).is(200)
	require.Contains(t, string(document.body), "/api/bridge/ingest/{driverId}")
	metrics := r.call("GET", "/metrics", "", nil).is(200)
	require.Contains(t, string(metrics.body), "otkit_bridge_bound 0")
}
