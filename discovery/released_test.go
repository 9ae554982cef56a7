package discovery_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/discovery"
	"github.com/otkit/otkit/discovery/link"
)

// free makes a bridge free as its own people do.
func (r *rig) free(id string) {
	r.t.Helper()
	r.net.change(urlOf(id), func(h *host) { h.status.Status, h.status.BoundEngineID = link.StatusFree, "" })
}

func TestABridgeThatWasReleasedThereIsOfflineImmediately(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := linkedRig(t, "b1")
		defer func() { r.stop() }()
		r.scan.finds(found("b1", "10.0.0.5", "free"))
		require.NoError(t, r.LinkChanged(t.Context(), "b1", true))
		time.Sleep(time.Minute)
		all, err := r.Scan(t.Context(), time.Second, true)
		require.NoError(t, err)
		require.Empty(t, all, "its link is open: another one announces its id")

		r.free("b1")
		require.NoError(t, r.Released(t.Context(), "b1"))
		require.NoError(t, r.LinkChanged(t.Context(), "b1", false))
		require.False(t, r.info("b1").Online)
		require.True(t, r.info("b1").Down, "the alarm")
		require.Equal(t, "released at the bridge", r.info("b1").Problem)
		all, err = r.Scan(t.Context(), time.Second, true)
		require.NoError(t, err)
		require.Len(t, all, 1)
		require.Equal(t, discovery.Free, all[0].Status)

		r.restart()
		require.False(t, r.info("b1").Online)
		time.Sleep(time.Minute)
		require.False(t, r.info("b1").Online)
		require.Equal(t, "released at the bridge", r.info("b1").Problem)
	})
}

func TestAHeartbeatFindsThatABridgeWasReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := linkedRig(t, "b1")
		defer func() { r.stop() }()
		r.free("b1") // while the link was not open
		time.Sleep(31 * time.Second)
		require.False(t, r.info("b1").Online)
		require.Equal(t, "released at the bridge", r.info("b1").Problem)
	})
}

func TestALateHeartbeatDoesNotConcernTheNextBinding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := linkedRig(t, "b1")
		defer func() { r.stop() }()
		r.free("b1")
		r.net.mu.Lock()
		r.net.answered = func() { time.Sleep(3 * time.Second) }
		r.net.mu.Unlock()
		for len(r.net.taken()) == 0 { // the heartbeat
			time.Sleep(time.Second)
		}
		_, _, err := r.bind("b1")
		require.NoError(t, err)
		time.Sleep(10 * time.Second)
		require.Empty(t, r.info("b1").Problem)
	})
}

func TestAReleasedBridgeIsBoundAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "b1", "b2")
		r.mustBind("b1")
		key := r.link("b1")
		require.NoError(t, r.StorePosition(t.Context(), "b1", "one", 7))
		require.NoError(t, r.Lost(t.Context(), "b1", "one", 2, 9))
		_, _, err := r.bind("b1")
		require.ErrorIs(t, err, discovery.ErrAlreadyBound)
		require.EqualError(t, err, "the bridge is bound already: b1: to this engine, engine-1")

		r.net.change(urlOf("b1"), func(h *host) { h.fail = discovery.ErrConnection })
		require.NoError(t, r.LinkChanged(t.Context(), "b1", false))
		_, _, err = r.bind("b1")
		require.ErrorIs(t, err, discovery.ErrConnection)
		require.True(t, r.info("b1").Online, "nothing has changed")
		_, err = r.OpenLink(t.Context(), link.Hello{BridgeID: "b1", Key: key, Epoch: "one"})
		require.NoError(t, err)

		r.net.change(urlOf("b1"), func(h *host) { h.fail = nil })
		r.free("b1")
		require.NoError(t, r.LinkChanged(t.Context(), "b1", true))
		_, _, err = r.bind("b1")
		require.EqualError(t, err, "the bridge is bound already: b1: to this engine, engine-1", "what says that it is free is not the bridge of the link")
		require.NoError(t, r.Released(t.Context(), "b1"))
		require.NoError(t, r.LinkChanged(t.Context(), "b1", false))
		r.net.change(urlOf("b1"), func(h *host) {
			h.manifest.BindingToken = "another token of the bridge"
			h.manifest.Tags = append(h.manifest.Tags, link.ManifestTag{Name: "speed", DataType: "Float"})
		})
		b, m, err := r.bind("b1")
		require.NoError(t, err)
		require.Equal(t, "another token of the bridge", b.Token)
		require.Len(t, m.Tags, 2)
		require.Equal(t, map[string]int{"b1": 2}, r.house.drivers)
		r.open() // it is stored
		info := r.info("b1")
		require.False(t, info.Online, "before its first link")
		require.Empty(t, info.Problem)
		require.Zero(t, info.Lost)
		require.EqualValues(t, 9, info.Position)
		require.Equal(t, 2, info.TagCount)
		_, err = r.OpenLink(t.Context(), link.Hello{BridgeID: "b1", Key: key, Epoch: "one"})
		require.ErrorIs(t, err, link.ErrRefused, "the key of the binding before")
		g, err := r.OpenLink(t.Context(), link.Hello{BridgeID: "b1", Token: "another token of the bridge", Epoch: "one"})
		require.NoError(t, err)
		require.NotEqual(t, key, g.Key)
		require.EqualValues(t, 9, g.Position, "nothing is delivered twice")
	})
}

func TestAReleasedBridgeThatCannotBeBoundAgainStaysAsItIs(t *testing.T) {
	for name, c := range map[string]struct {
		change func(r *rig, h *host)
		want   error
		bound  bool // it was, and must be free again
	}{
		"its status has another driver":   {func(_ *rig, h *host) { h.status.DriverID = "b9" }, discovery.ErrDriverChanged, false},
		"its manifest has another driver": {func(_ *rig, h *host) { h.manifest.DriverID = "b9" }, discovery.ErrDriverChanged, true},
		"its manifest is bad":             {func(_ *rig, h *host) { h.manifest.Tags[0].Name = "" }, discovery.ErrBadManifest, true},
		"the token is not stored":         {func(r *rig, _ *host) { r.store.set("update", errDisk) }, errDisk, true},
		"the tags cannot be shown":        {func(r *rig, _ *host) { r.house.fail = errDisk }, errDisk, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, "b1")
			r.mustBind("b1")
			r.link("b1")
			r.free("b1")
			require.NoError(t, r.Released(t.Context(), "b1"))
			require.NoError(t, r.LinkChanged(t.Context(), "b1", false))
			r.net.change(urlOf("b1"), func(h *host) { c.change(r, h) })
			r.net.taken()
			_, _, err := r.bind("b1")
			require.ErrorIs(t, err, c.want)
			require.Equal(t, link.StatusFree, r.net.status(urlOf("b1")))
			require.False(t, r.info("b1").Online)
			require.Equal(t, c.bound, len(r.net.taken()) > 1, "nothing is asked of a bridge that cannot be kept")
			require.Equal(t, []string{"b1"}, r.house.names())
		})
	}
}

func TestWhoHasABridgeThatCannotBeBound(t *testing.T) {
	r := newRig(t, "b1", "b2")
	r.net.change(urlOf("b1"), func(h *host) { h.status.Status, h.status.BoundEngineID = link.StatusBound, "engine-2" })
	_, _, err := r.bind("b1")
	require.EqualError(t, err, "the bridge is bound already: b1: to another engine, engine-2")
	r.net.change(urlOf("b1"), func(h *host) {
		h.status.Status, h.status.BoundEngineID = link.StatusFree, ""
		h.bindErr = discovery.ErrAlreadyBound
	})
	r.net.change(urlOf("b2"), func(h *host) { h.status.Status = link.StatusBinding })
	_, _, err = r.bind("b2")
	require.EqualError(t, err, "the bridge is bound already: b2: an engine is binding it")
}

func TestARefusalNamesTheEngine(t *testing.T) {
	r := newRig(t, "b1")
	_, err := r.OpenLink(t.Context(), link.Hello{BridgeID: "b9", Token: token, Epoch: "one"})
	require.Equal(t, "engine-1", link.RefusedBy(err))
	r.mustBind("b1")
	r.opts.EngineID = "engine-2" // the bridge knows it by the id that it had
	r.open()
	_, err = r.OpenLink(t.Context(), link.Hello{BridgeID: "b1", Key: "x", Epoch: "one"})
	require.Equal(t, "engine-1", link.RefusedBy(err))
	require.Equal(t, "engine-2", link.RefusedBy(r.LinkChanged(t.Context(), "b9", true)))
	require.Empty(t, link.RefusedBy(link.ErrEnded))
}
