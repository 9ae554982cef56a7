package discovery_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/discovery"
	"github.com/otkit/otkit/discovery/link"
)

func TestTheFirstLink(t *testing.T) {
	r := newRig(t, "b1")
	r.mustBind("b1")
	hello := link.Hello{BridgeID: "b1", Token: token, Epoch: "one"}
	g, err := r.OpenLink(t.Context(), hello)
	require.NoError(t, err)
	require.Len(t, g.Key, 43, "256 bits")
	require.Equal(t, "engine-1", g.EngineID)
	require.Equal(t, []string{"sha256/x"}, g.Reach.Pins)
	require.Zero(t, g.Position)
	require.True(t, g.WantManifest, "the bridge did not say which it has")
	require.False(t, r.info("b1").Online)

	again, err := r.OpenLink(t.Context(), hello)
	require.NoError(t, err, "the answer may have been lost")
	require.Equal(t, g.Key, again.Key)
	r.open() // and the engine may have been killed
	again, err = r.OpenLink(t.Context(), hello)
	require.NoError(t, err)
	require.Equal(t, g.Key, again.Key)

	require.NoError(t, r.ConfirmKey(t.Context(), "b1"))
	require.NoError(t, r.ConfirmKey(t.Context(), "b1"))
	_, err = r.OpenLink(t.Context(), hello)
	require.ErrorIs(t, err, link.ErrRefused, "a token is used once")
	r.open()
	_, err = r.OpenLink(t.Context(), hello)
	require.ErrorIs(t, err, link.ErrRefused)
	hash := r.net.hosts[urlOf("b1")].manifest.Hash()
	g, err = r.OpenLink(t.Context(), link.Hello{BridgeID: "b1", Key: g.Key, Epoch: "one", ManifestHash: hash})
	require.NoError(t, err)
	require.Empty(t, g.Key)
	require.False(t, g.WantManifest)
}

func TestLinksThatAreRefused(t *testing.T) {
	r := newRig(t, "b1", "b2")
	r.mustBind("b1")
	r.mustBind("b2")
	key := r.link("b2")
	for name, h := range map[string]link.Hello{
		"an unknown bridge":     {BridgeID: "b9", Token: token},
		"no secret":             {BridgeID: "b1"},
		"no secret, with a key": {BridgeID: "b2"},
		"another token":         {BridgeID: "b1", Token: token + "x"},
		"a key before the link": {BridgeID: "b1", Key: key},
		"the token as key":      {BridgeID: "b1", Key: token},
		"a used token":          {BridgeID: "b2", Token: token},
		"the key as token":      {BridgeID: "b2", Token: key},
		"another key":           {BridgeID: "b2", Key: key[1:]},
		"a key with the token":  {BridgeID: "b1", Key: "x", Token: token},
	} {
		h.Epoch = "one"
		_, err := r.OpenLink(t.Context(), h)
		require.ErrorIs(t, err, link.ErrRefused, name)
	}
	for _, epoch := range []string{"", strings.Repeat("x", 129), "a\nb"} {
		_, err := r.OpenLink(t.Context(), link.Hello{BridgeID: "b1", Token: token, Epoch: epoch})
		require.ErrorIs(t, err, link.ErrProtocol)
	}
	r.store.set("update", errDisk)
	_, err := r.OpenLink(t.Context(), link.Hello{BridgeID: "b1", Token: token, Epoch: "one"})
	require.ErrorIs(t, err, errDisk, "the bridge must not become free because of the engine's disk")
}

// A bridge opens its link as soon as it is bound, which may be before the engine has stored that.
func TestALinkThatIsFasterThanItsBinding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "b1")
		opened := make(chan error, 1)
		r.net.atBind = func() {
			go func() {
				_, err := r.OpenLink(context.WithoutCancel(t.Context()), link.Hello{BridgeID: "b1", Token: token, Epoch: "one"})
				opened <- err
			}()
			time.Sleep(time.Second)
		}
		r.mustBind("b1")
		require.NoError(t, <-opened)

		r.net.add("b2")
		r.store.set("add", errDisk)
		r.net.atBind = func() {
			go func() {
				_, err := r.OpenLink(context.WithoutCancel(t.Context()), link.Hello{BridgeID: "b2", Token: token, Epoch: "one"})
				opened <- err
			}()
			time.Sleep(time.Second)
		}
		_, _, err := r.bind("b2")
		require.ErrorIs(t, err, errDisk)
		require.ErrorIs(t, <-opened, link.ErrRefused)
	})
}

// An engine that is killed between the answer of the bridge and its store knows nothing of the binding: the bridge is refused and becomes free.
func TestAnEngineThatIsKilledWhileItBinds(t *testing.T) {
	r := newRig(t, "b1")
	r.store.set("add", errDisk)
	r.net.atBind = func() { r.net.hosts[urlOf("b1")].fail = discovery.ErrConnection } // no release arrives
	_, _, err := r.bind("b1")
	require.ErrorIs(t, err, errDisk)
	require.Equal(t, link.StatusBound, r.net.status(urlOf("b1")))
	r.store.set("add", nil)
	r.open()
	_, err = r.OpenLink(t.Context(), link.Hello{BridgeID: "b1", Token: token, Epoch: "one"})
	require.ErrorIs(t, err, link.ErrRefused)
}

func TestPositionsOutlastRestartsAndBindings(t *testing.T) {
	r := newRig(t, "b1")
	r.mustBind("b1")
	key := r.link("b1")
	position := func(epoch string) uint64 {
		g, err := r.OpenLink(t.Context(), link.Hello{BridgeID: "b1", Key: key, Epoch: epoch})
		require.NoError(t, err)
		return g.Position
	}
	require.NoError(t, r.StorePosition(t.Context(), "b1", "one", 7))
	require.NoError(t, r.StorePosition(t.Context(), "b1", "one", 5))
	require.EqualValues(t, 7, position("one"))
	require.Zero(t, position("two"))
	r.open()
	require.EqualValues(t, 7, position("one"))
	require.NoError(t, r.Unbind(t.Context(), "b1"))
	r.mustBind("b1")
	key = r.link("b1")
	require.EqualValues(t, 7, position("one"), "its buffer goes on where it was")
	require.NoError(t, r.StorePosition(t.Context(), "b1", "two", 1))
	require.EqualValues(t, 1, position("two"))
	require.Zero(t, position("one"))
}

// Without its tags the samples of a bridge would wait, and nobody would learn of it.
func TestABridgeThatCannotBeShownHasNoLink(t *testing.T) {
	r := newRig(t, "b1")
	r.mustBind("b1")
	key := r.link("b1")
	hello := link.Hello{BridgeID: "b1", Key: key, Epoch: "one"}
	r.house.drivers, r.house.fail = map[string]int{}, discovery.ErrDriverTaken // a driver of the settings has its id
	r.open()
	_, err := r.OpenLink(t.Context(), hello)
	require.ErrorIs(t, err, discovery.ErrDriverTaken)
	require.Contains(t, r.info("b1").Problem, "another driver with the id")
	r.house.fail = nil
	_, err = r.OpenLink(t.Context(), hello)
	require.NoError(t, err)
	require.Equal(t, map[string]int{"b1": 1}, r.house.drivers)
	require.Empty(t, r.info("b1").Problem)

	m := r.net.hosts[urlOf("b1")].manifest
	m.Tags, r.house.fail = many(3), errDisk
	require.ErrorIs(t, r.UpdateManifest(t.Context(), "b1", m), errDisk)
	require.Equal(t, "its tags cannot be shown: internal error", r.info("b1").Problem)
	r.house.fail = nil
	_, err = r.OpenLink(t.Context(), hello)
	require.NoError(t, err)
	require.Equal(t, map[string]int{"b1": 3}, r.house.drivers, "by the manifest that is stored")
}

func TestALinkOfABridgeThatIsNoLongerBoundIsRefused(t *testing.T) {
	r := newRig(t, "b1")
	r.mustBind("b1")
	require.NoError(t, r.LinkChanged(t.Context(), "b1", true))
	require.NoError(t, r.Unbind(t.Context(), "b1"))
	require.ErrorIs(t, r.LinkChanged(t.Context(), "b1", true), link.ErrRefused)
}

func TestAManifestThatChanges(t *testing.T) {
	r := newRig(t, "b1")
	r.mustBind("b1")
	m := r.net.hosts[urlOf("b1")].manifest
	m.BindingToken = ""
	require.NoError(t, r.UpdateManifest(t.Context(), "b1", m))
	m.Tags, m.DriverType, m.ActiveSubmodels = many(3), "OpcUa", []string{}
	require.NoError(t, r.UpdateManifest(t.Context(), "b1", m))
	require.Equal(t, 3, r.house.drivers["b1"])
	info := r.info("b1")
	require.Equal(t, "OpcUa", info.DriverType)
	require.Equal(t, 3, info.TagCount)
	require.Equal(t, "[]", info.ActiveSubmodelsJSON())
	r.open()
	require.Equal(t, 3, r.info("b1").TagCount)

	bad := m
	bad.Tags = append(many(3), many(1)...)
	require.ErrorIs(t, r.UpdateManifest(t.Context(), "b1", bad), discovery.ErrBadManifest)
	bad = m
	bad.DriverID = "other"
	require.ErrorIs(t, r.UpdateManifest(t.Context(), "b1", bad), discovery.ErrDriverChanged)
	bad = m
	bad.BridgeID = "other"
	require.ErrorIs(t, r.UpdateManifest(t.Context(), "b1", bad), discovery.ErrMismatch)
	require.ErrorIs(t, r.UpdateManifest(t.Context(), "b9", m), link.ErrRefused)
	require.Equal(t, 3, r.info("b1").TagCount)
}

func TestLostSamplesAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "b1")
		r.mustBind("b1")
		require.NoError(t, r.Lost(t.Context(), "b1", "one", 5, 5))
		time.Sleep(59 * time.Minute)
		require.NoError(t, r.Lost(t.Context(), "b1", "one", 2, 10))
		require.NoError(t, r.Event(t.Context(), "b1", link.Event{Kind: "SamplesDropped", Text: "the disk\x00 is full"}))
		require.NoError(t, r.Lost(t.Context(), "b1", "one", 2, 10), "the outcome of the first attempt was not known")
		require.EqualValues(t, 7, r.info("b1").Lost)
		require.EqualValues(t, 10, r.info("b1").Position)
		r.open() // killed: the bridge sends again what follows the position, and not what was lost
		info := r.info("b1")
		require.EqualValues(t, 10, info.Position)
		require.EqualValues(t, 7, info.Lost)
		require.EqualValues(t, 7, info.RecentlyLost)
		require.Equal(t, "the disk is full", info.LostText)
		require.True(t, info.LosesAt(time.Now()))
		time.Sleep(time.Hour)
		require.False(t, info.LosesAt(time.Now()))
		require.NoError(t, r.Lost(t.Context(), "b1", "one", 1, 12))
		info = r.info("b1")
		require.EqualValues(t, 8, info.Lost)
		require.EqualValues(t, 1, info.RecentlyLost, "another series")
		require.Empty(t, info.LostText)

		r.store.set("update", errDisk)
		require.ErrorIs(t, r.Lost(t.Context(), "b1", "one", 1, 14), errDisk)
		require.EqualValues(t, 8, r.info("b1").Lost)
	})
}

func TestTheDriverOfABridgeGoesDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "b1")
		r.mustBind("b1")
		event := func(kind string, at time.Time) error {
			return r.Event(t.Context(), "b1", link.Event{Kind: kind, Time: at, Text: "no route"})
		}
		state := func() discovery.Info { return r.States()[0] }
		began := time.Now()
		require.NoError(t, event(link.DriverOffline, began))
		time.Sleep(29 * time.Second)
		require.False(t, state().DriverDown)
		time.Sleep(time.Second)
		require.True(t, state().DriverDown)
		require.Equal(t, "no route", state().DriverDownText)
		require.NoError(t, event(link.DriverOffline, time.Now()), "again")
		require.True(t, state().DriverDownAt.Equal(began))
		r.open()
		require.True(t, state().DriverDownAt.Equal(began), "it is stored")
		time.Sleep(30 * time.Second)
		require.True(t, state().DriverDown)
		require.NoError(t, event(link.DriverOnline, time.Now()))
		require.True(t, state().DriverDownAt.IsZero())
		require.Empty(t, r.house.past, "the alarm was raised")

		// While the link was down the driver was down for a minute, and then for a second.
		began = time.Now()
		time.Sleep(time.Hour)
		require.NoError(t, event(link.DriverOffline, began))
		require.False(t, state().DriverDown)
		r.house.pastErr = errDisk
		require.ErrorIs(t, event(link.DriverOnline, began.Add(time.Minute)), errDisk, "it comes again")
		r.house.pastErr = nil
		require.NoError(t, event(link.DriverOnline, began.Add(time.Minute)))
		require.NoError(t, event(link.DriverOffline, began.Add(2*time.Minute)))
		require.NoError(t, event(link.DriverOnline, began.Add(2*time.Minute+time.Second)))
		require.Equal(t, []string{"b1 1m0s no route"}, r.house.past)

		require.NoError(t, event(link.DriverOffline, time.Now().Add(time.Hour)), "the bridge's clock is ahead")
		require.True(t, state().DriverDownAt.Equal(time.Now()))
		require.NoError(t, event(link.DriverOnline, time.Time{}))
		require.NoError(t, event("Unheard", time.Now()))
		require.ErrorIs(t, r.Event(t.Context(), "b9", link.Event{Kind: link.DriverOnline}), link.ErrRefused)
	})
}
