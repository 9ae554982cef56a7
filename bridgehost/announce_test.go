package bridgehost_test

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/bridgehost"
	"github.com/otkit/otkit/discovery"
)

// notice is an announcement in memory.
type notice struct {
	mu     sync.Mutex
	id     string
	port   int
	text   []string
	closed bool
}

func (n *notice) advertise(id string, port int, text []string) (bridgehost.Advertisement, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.id, n.port, n.text = id, port, text
	return n, nil
}

func (n *notice) SetText(text []string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.text = text
	return nil
}

func (n *notice) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	return nil
}

// has reports whether the announcement has an attribute.
func (n *notice) has(attribute string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Contains(n.text, attribute)
}

func TestTheAnnouncementFollowsTheStatus(t *testing.T) {
	n := &notice{}
	r := start(t, func(o *bridgehost.Options) { o.Advertise = n.advertise })
	for _, attribute := range []string{"bridgeId=b1", "status=free", "name=Press 7", "location=Hall 2", "version=1.2.3", "driverType=Simulation", "tenantId=acme",
		"boundEngineId=", "tagCount=2"} {
		require.Eventually(t, func() bool { return n.has(attribute) }, time.Minute, time.Millisecond, attribute)
	}
	token := r.bind()
	require.Eventually(t, func() bool { return n.has("status=bound") && n.has("boundEngineId=e1") }, time.Minute, time.Millisecond)
	r.call("DELETE", bindPath, token, nil).is(204)
	require.Eventually(t, func() bool { return n.has("status=free") && n.has("boundEngineId=") }, time.Minute, time.Millisecond)
	r.stop()
	require.True(t, n.closed)
	require.Equal(t, "b1", n.id)
	require.NotZero(t, n.port)
}

func TestAnEngineInTheNetworkIsShownWhileTheBridgeIsFree(t *testing.T) {
	r := start(t, func(o *bridgehost.Options) {
		o.FindEngines = func(context.Context) ([]discovery.Found, error) {
			return []discovery.Found{{Instance: "e1", Port: 5001, Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.9")},
				Text: map[string]string{"engineId": "e1", "tls": "1"}}}, nil
		}
	})
	require.Eventually(t, func() bool {
		return r.call("GET", "/health", "", nil).get("results", "engine-connectivity", "data", "engineUrl") == "https://192.0.2.9:5001"
	}, time.Minute, 5*time.Millisecond)
	health := r.call("GET", "/health", "", nil).is(503)
	require.Equal(t, "mDNS", health.get("results", "engine-connectivity", "data", "discoveryMethod"))
}
