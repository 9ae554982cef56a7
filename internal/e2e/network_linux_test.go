package e2e_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/realtest"
)

// farPlant is a plant whose bridge is on a machine of its own, at the end of a line.
func farPlant(t *testing.T, env ...string) (*plant, realtest.Network, *realtest.Wire) {
	t.Helper()
	n := realtest.NewNetwork(t)
	w := n.Wire(t, "near0", "10.78.0.1/24", "far0", "10.78.0.2/24")
	return newPlant(t, options{engineHost: "10.78.0.1", bridgeHost: "10.78.0.2", bridgeMachine: n.Args,
		engineEnv: env, bridgeEnv: env}), n, w
}

func TestBadLine(t *testing.T) {
	t.Parallel()
	build(t)
	if !realtest.Isolated(t) {
		return
	}
	p, _, w := farPlant(t)
	p.bind()
	p.device.counts(t, 50)
	w.Set(realtest.WireQuality{Loss: 0.05, Delay: 200 * time.Millisecond})
	p.device.counts(t, 200)
	p.complete()
	w.Set(realtest.WireQuality{Loss: 1}) // until both sides have given the link up
	p.linked(false)
	p.alarm(bridgeID)
	w.Set(realtest.WireQuality{})
	p.linked(true)
	p.device.counts(t, 50)
	p.requireEach(p.complete())
}

// A bridge whose address changes opens its link again by itself. If it cannot, the engine finds it by its id.
func TestAddressChange(t *testing.T) {
	t.Parallel()
	build(t)
	if !realtest.Isolated(t) {
		return
	}
	p, n, _ := farPlant(t, "Discovery__Mdns=true")
	p.bind()
	move := func(from, to string) {
		n.Run(t, "ip", "addr", "del", from+"/24", "dev", "far0")
		n.Run(t, "ip", "addr", "add", to+"/24", "dev", "far0")
		p.bridge.url = strings.Replace(p.bridge.url, from, to, 1)
	}
	require.Equal(t, "10.78.0.2", p.binding().IPAddress)
	p.device.counts(t, 50)
	move("10.78.0.2", "10.78.0.3")
	p.device.counts(t, 50)
	p.requireEach(p.complete())

	p.bridge.stop()
	p.linked(false)
	move("10.78.0.3", "10.78.0.4")
	env := p.bridge.env
	p.bridge.env = append(env[:len(env):len(env)], "CloudConnection__EngineUrl=http://127.0.0.1:1")
	p.bridge.start()
	eventually(t, "the new address is not found", func() bool { return p.binding().IPAddress == "10.78.0.4" && p.binding().IsOnline })
	require.Equal(t, p.bridge.url, p.binding().BaseURL)
	p.device.counts(t, 50)
	p.bridge.stop()
	p.bridge.env = env
	p.bridge.start()
	p.linked(true)
	p.device.counts(t, 50)
	list := p.complete()
	require.LessOrEqual(t, len(gaps(list)), 2, "an answer of the device can be on its way at each of the two stops: %v", gaps(list))
	answer, err := p.UnbindBridgeWithResponse(t.Context(), bridgeID)
	require.NoError(t, err)
	require.Equal(t, http.StatusNoContent, answer.StatusCode())
	require.Equal(t, "free", p.status())
}
