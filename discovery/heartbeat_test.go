package discovery_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/discovery"
	"github.com/otkit/otkit/discovery/link"
)

// linkedRig is a rig whose bridge had a link, which has ended.
func linkedRig(t *testing.T, bridges ...string) *rig {
	r := newRig(t, bridges...)
	for _, id := range bridges {
		r.mustBind(id)
		r.link(id)
		require.NoError(t, r.LinkChanged(t.Context(), id, false))
	}
	r.net.taken()
	r.run()
	return r
}

func gone(h *host) { h.fail = discovery.ErrConnection }
func back(h *host) { h.fail = nil }

// With an open link it says so there, and in its status without.
func TestABridgeSaysWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := linkedRig(t, "b1")
		defer func() { r.stop() }()
		require.Nil(t, r.info("b1").Buffer)
		waits := link.Buffer{Waiting: 7, Bytes: 100, MaxBytes: 500, Dropped: 2, OldestSeconds: 90}
		r.net.change(urlOf("b1"), func(h *host) { h.status.Buffer = &waits })
		time.Sleep(31 * time.Second)
		require.Equal(t, waits, *r.info("b1").Buffer)
		require.WithinDuration(t, time.Now(), r.info("b1").BufferAt, 31*time.Second)

		require.NoError(t, r.LinkChanged(t.Context(), "b1", true))
		r.Buffered("b1", link.Buffer{Waiting: 3})
		r.Buffered("unbound", link.Buffer{Waiting: 3})
		require.Equal(t, link.Buffer{Waiting: 3}, *r.info("b1").Buffer)
	})
}

func TestABridgeIsOfflineAfterThreeMissedHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := linkedRig(t, "b1")
		defer func() { r.stop() }()
		time.Sleep(31 * time.Second)
		require.True(t, r.info("b1").Online)
		require.WithinDuration(t, time.Now(), r.info("b1").HeartbeatAt, 31*time.Second)
		require.Equal(t, []string{"status http://b1:5100"}, r.net.taken())

		heard := r.info("b1").HeartbeatAt
		r.net.change(urlOf("b1"), gone)
		time.Sleep(60 * time.Second)
		require.Equal(t, 2, r.info("b1").Missed)
		require.True(t, r.info("b1").Online)
		require.Equal(t, "the bridge cannot be reached", r.info("b1").Problem)
		time.Sleep(35 * time.Second)
		require.False(t, r.info("b1").Online)
		require.True(t, r.info("b1").Down)
		require.True(t, r.info("b1").HeartbeatAt.Equal(heard))

		r.restart()
		require.False(t, r.info("b1").Online, "a restart does not bring it back")
		require.True(t, r.info("b1").HeartbeatAt.Equal(heard))
		r.net.change(urlOf("b1"), back)
		time.Sleep(35 * time.Second)
		require.True(t, r.info("b1").Online)
		require.Empty(t, r.info("b1").Problem)
		r.restart()
		require.True(t, r.info("b1").Online)
	})
}

func TestABridgeThatNeverOpenedItsLinkIsNotOnline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "b1")
		r.run()
		defer func() { r.stop() }()
		r.mustBind("b1") // while Run runs
		time.Sleep(time.Minute)
		require.False(t, r.info("b1").Online)
		require.False(t, r.info("b1").HeartbeatAt.IsZero(), "it answers")
		require.False(t, r.info("b1").Down)
		time.Sleep(time.Minute)
		require.True(t, r.info("b1").Down, "samples do not arrive")
	})
}

func TestAnOpenLinkIsTheHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := linkedRig(t, "b1")
		defer func() { r.stop() }()
		r.net.change(urlOf("b1"), gone) // a bridge behind NAT
		time.Sleep(2 * time.Minute)
		require.False(t, r.info("b1").Online)
		r.net.taken()
		require.NoError(t, r.LinkChanged(t.Context(), "b1", true))
		require.True(t, r.info("b1").Online)
		time.Sleep(10 * time.Second)
		require.False(t, r.info("b1").Down)
		time.Sleep(10 * time.Minute)
		require.Len(t, r.net.taken(), 3, "it may have another address")
		time.Sleep(10 * time.Minute)
		require.Empty(t, r.net.taken())
		require.True(t, r.info("b1").Online)
		require.WithinDuration(t, time.Now(), r.info("b1").HeartbeatAt, 31*time.Second)
		require.NoError(t, r.LinkChanged(t.Context(), "b1", false))
		time.Sleep(59 * time.Second)
		require.True(t, r.info("b1").Online)
		time.Sleep(35 * time.Second)
		require.False(t, r.info("b1").Online)
	})
}

// A link that opens and ends again and again, such as for a manifest that is refused, delivers nothing.
func TestALinkThatDoesNotLastIsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "b1")
		r.run()
		defer func() { r.stop() }()
		r.mustBind("b1")
		r.link("b1")
		m := r.net.hosts[urlOf("b1")].manifest
		m.DriverID = "renamed"
		down := false
		for range 60 {
			require.NoError(t, r.LinkChanged(t.Context(), "b1", true))
			require.ErrorIs(t, r.UpdateManifest(t.Context(), "b1", m), discovery.ErrDriverChanged)
			time.Sleep(time.Second)
			down = down || r.info("b1").Down
			require.Equal(t, down, r.info("b1").Down, "it stays down")
			require.NoError(t, r.LinkChanged(t.Context(), "b1", false))
			time.Sleep(2 * time.Second)
			require.Contains(t, r.info("b1").Problem, "another id than when it was bound")
		}
		require.True(t, down)
		m.DriverID = "b1"
		require.NoError(t, r.LinkChanged(t.Context(), "b1", true))
		require.NoError(t, r.UpdateManifest(t.Context(), "b1", m))
		time.Sleep(10 * time.Second)
		require.False(t, r.info("b1").Down)
		require.Empty(t, r.info("b1").Problem)
	})
}

func TestAnswersThatAreNoHeartbeat(t *testing.T) {
	for problem, change := range map[string]func(h *host){
		"another bridge answers there":                                   func(h *host) { h.status.BridgeID = "b9" },
		`the bridge says that it is bound to another engine: "engine-2"`: func(h *host) { h.status.BoundEngineID = "engine-2" },
		"released at the bridge":                                         func(h *host) { h.status.Status = link.StatusFree },
		"the bridge cannot be reached":                                   func(h *host) { h.delay = time.Hour },
		"the answer of the bridge is not valid: it answered 500":         func(h *host) { h.fail = discovery.ErrBadAnswer.Because("it answered 500") },
		"the bridge says that it is being bound":                         func(h *host) { h.status.Status, h.status.BoundEngineID = link.StatusBinding, "" },
	} {
		synctest.Test(t, func(t *testing.T) {
			r := linkedRig(t, "b1")
			defer func() { r.stop() }()
			r.net.change(urlOf("b1"), change)
			time.Sleep(3 * time.Minute)
			require.False(t, r.info("b1").Online)
			require.Equal(t, problem, r.info("b1").Problem)
			require.Len(t, r.Bindings(), 1, "the binding stays")
		})
	}
}

func found(id, addr string, status string) discovery.Found {
	return discovery.Found{Instance: id, HostName: id + ".local", Port: 5100, Addresses: []netip.Addr{netip.MustParseAddr(addr)},
		Text: map[string]string{"bridgeId": id, "status": status, "driverType": "Modbus", "tagCount": "7", "version": "1.2"}}
}

func TestABridgeIsFoundAgainAtAnotherAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := linkedRig(t, "b1")
		defer func() { r.stop() }()
		r.net.mu.Lock()
		moved := r.net.hosts[urlOf("b1")]
		delete(r.net.hosts, urlOf("b1"))
		r.net.hosts["http://10.0.0.9:5100"] = moved
		r.net.hosts["http://10.0.0.8:5100"] = &host{status: link.Status{BridgeID: "b1", Status: link.StatusFree}} // a liar
		r.net.mu.Unlock()
		r.scan.found = []discovery.Found{found("b2", "10.0.0.7", "bound"), found("b1", "10.0.0.9", "bound")}
		time.Sleep(59 * time.Second)
		require.Zero(t, r.scan.count())
		time.Sleep(36 * time.Second)
		require.True(t, r.info("b1").Online)
		require.Equal(t, "http://10.0.0.9:5100", r.info("b1").BaseURL())
		require.Equal(t, []string{"http://10.0.0.9:5100", "http://b1:5100"}, r.info("b1").URLs)
		r.restart()
		r.net.taken()
		time.Sleep(31 * time.Second)
		require.Equal(t, []string{"status http://10.0.0.9:5100"}, r.net.taken(), "it is stored")
		require.Equal(t, 1, r.scan.count())
	})
}

func TestTheAddressOfABridgeWithAnOpenLinkFollowsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := linkedRig(t, "b1")
		defer func() { r.stop() }()
		r.net.mu.Lock()
		r.net.hosts["http://10.0.0.9:5100"] = r.net.hosts[urlOf("b1")]
		delete(r.net.hosts, urlOf("b1"))
		r.net.mu.Unlock()
		require.NoError(t, r.LinkChanged(t.Context(), "b1", true))
		r.scan.finds(found("b1", "10.0.0.9", "bound"))
		time.Sleep(time.Minute)
		require.Equal(t, "http://10.0.0.9:5100", r.info("b1").BaseURL())
		require.True(t, r.info("b1").Online)
		r.net.taken()
		time.Sleep(time.Hour)
		require.Empty(t, r.net.taken(), "once for each link")
		require.Equal(t, 1, r.scan.count())
	})
}

// Addresses that do not answer, and others that pretend to be the bridge, leave time for the one that is.
func TestTheLastAddressIsAskedToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := linkedRig(t, "b1")
		defer func() { r.stop() }()
		r.net.mu.Lock()
		moved := r.net.hosts[urlOf("b1")]
		dead := &host{delay: time.Hour}
		r.net.hosts[urlOf("b1")], r.net.hosts["http://10.0.0.6:5100"], r.net.hosts["http://10.0.0.7:5100"] = dead, dead, dead
		r.net.hosts["http://10.0.0.8:5100"] = &host{status: link.Status{BridgeID: "b1", Status: link.StatusFree}}
		r.net.hosts["http://10.0.0.9:5100"] = moved
		r.net.mu.Unlock()
		r.scan.mu.Lock()
		for _, addr := range []string{"10.0.0.6", "10.0.0.7", "10.0.0.8", "10.0.0.9"} {
			r.scan.found = append(r.scan.found, found("b1", addr, "bound"))
		}
		r.scan.mu.Unlock()
		time.Sleep(3 * time.Minute)
		require.True(t, r.info("b1").Online, r.info("b1").Problem)
		require.Equal(t, "http://10.0.0.9:5100", r.info("b1").BaseURL())
	})
}

func TestHTTPSIsNotGivenUpForAnAddressOfTheNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.net.hosts = map[string]*host{}
		r.net.add("b1")
		r.net.hosts["https://b1"] = r.net.hosts[urlOf("b1")]
		_, _, err := r.Bind(t.Context(), discovery.BindRequest{BridgeID: "b1", BridgeURL: "https://b1"})
		require.NoError(t, err)
		r.link("b1")
		require.NoError(t, r.LinkChanged(t.Context(), "b1", false))
		r.run()
		defer func() { r.stop() }()
		r.net.change("https://b1", gone)
		r.scan.found = []discovery.Found{found("b1", "10.0.0.9", "bound")}
		r.net.taken()
		time.Sleep(5 * time.Minute)
		require.NotContains(t, strings.Join(r.net.taken(), " "), "10.0.0.9")
	})
}

// Dead bridges neither delay the heartbeats of others, nor are there scans for each of them.
func TestDeadBridgesDelayNoOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ids []string
		for i := range 50 {
			ids = append(ids, fmt.Sprint("b", i))
		}
		r := linkedRig(t, append(ids, "living")...)
		defer func() { r.stop() }()
		for _, id := range ids {
			r.net.change(urlOf(id), func(h *host) { h.delay = time.Hour })
		}
		time.Sleep(time.Minute)
		for range 20 {
			time.Sleep(30 * time.Second)
			require.WithinDuration(t, time.Now(), r.info("living").HeartbeatAt, 31*time.Second)
		}
		require.LessOrEqual(t, r.net.peak(), 64)
		require.LessOrEqual(t, r.scan.count(), 21, "one for all in an interval")
		for _, id := range ids {
			require.False(t, r.info(id).Online)
		}
	})
}

func TestHeartbeatsAreSpreadOverTheInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ids []string
		for i := range 60 {
			ids = append(ids, fmt.Sprint("b", i))
		}
		r := linkedRig(t, ids...)
		defer func() { r.stop() }()
		time.Sleep(time.Minute)
		r.net.taken()
		for range 6 {
			time.Sleep(5 * time.Second)
			n := len(r.net.taken())
			require.True(t, n >= 3 && n <= 20, "%d in 5 s", n)
		}
	})
}

func TestHeartbeatsAreStoredNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := linkedRig(t, "b1")
		stored := func() time.Time {
			all, err := r.store.Bindings(t.Context())
			require.NoError(t, err)
			return all[0].HeartbeatAt
		}
		before := stored()
		time.Sleep(4 * time.Minute)
		require.True(t, stored().Equal(before))
		r.store.set("heartbeats", errDisk)
		time.Sleep(2 * time.Minute)
		require.True(t, stored().Equal(before))
		r.store.set("heartbeats", nil)
		time.Sleep(5 * time.Minute)
		require.WithinDuration(t, time.Now(), stored(), 2*time.Minute)
		time.Sleep(2 * time.Minute)
		r.stop()
		require.True(t, stored().Equal(r.info("b1").HeartbeatAt), "and at the end")
	})
}

func TestUnbindEndsTheHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := linkedRig(t, "b1", "b2")
		defer func() { r.stop() }()
		require.NoError(t, r.Unbind(t.Context(), "b1"))
		r.net.taken()
		time.Sleep(5 * time.Minute)
		require.NotContains(t, strings.Join(r.net.taken(), " "), "b1")
		require.NoError(t, r.Unbind(t.Context(), "b2"))
	})
}

func TestABindingOfAnotherEngineIsNotOurs(t *testing.T) {
	r := newRig(t, "b1")
	r.mustBind("b1")
	r.opts.EngineID, r.opts.Shared = "engine-2", true
	r.house.drivers = map[string]int{}
	r.open()
	require.Empty(t, r.Bindings())
	require.Empty(t, r.house.names())
	r.opts.Shared = false // the same database, restored on another machine
	r.open()
	require.Len(t, r.Bindings(), 1)
	g, err := r.OpenLink(t.Context(), link.Hello{BridgeID: "b1", Token: token, Epoch: "one"})
	require.NoError(t, err)
	require.Equal(t, "engine-1", g.EngineID, "the name that the bridge knows")
}
