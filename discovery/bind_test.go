package discovery_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/discovery"
	"github.com/otkit/otkit/discovery/link"
)

func TestBindAndUnbind(t *testing.T) {
	r := newRig(t, "b1")
	b, m, err := r.bind("b1")
	require.NoError(t, err)
	require.Equal(t, token, b.Token)
	require.Equal(t, "http://b1:5100", b.BaseURL())
	require.Equal(t, "engine-1", b.EngineID)
	require.Equal(t, token, m.BindingToken)
	require.Equal(t, []string{"status http://b1:5100", "bind  http://engine:5001 http://b1:5100"}, r.net.taken())
	require.Equal(t, []string{"b1"}, r.house.names())
	info := r.info("b1")
	require.False(t, info.Online, "never before the first link")
	require.Empty(t, info.Token, "it is shown once")
	require.Equal(t, `["OperationalData"]`, info.ActiveSubmodelsJSON())
	host, port := info.Endpoint()
	require.Equal(t, "b1", host)
	require.Equal(t, 5100, port)
	stored, err := r.store.Bindings(t.Context())
	require.NoError(t, err)
	require.Equal(t, token, stored[0].Token)

	_, _, err = r.bind("b1")
	require.ErrorIs(t, err, discovery.ErrAlreadyBound)
	require.NoError(t, r.Unbind(t.Context(), "b1"))
	require.Equal(t, link.StatusFree, r.net.status(urlOf("b1")))
	require.Empty(t, r.house.names())
	require.Empty(t, r.Bindings())
	require.ErrorIs(t, r.Unbind(t.Context(), "b1"), discovery.ErrNotBound)
	r.mustBind("b1")
}

func TestWhatIsMissingInABind(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct{ id, url, want string }{
		{"", "", "invalid request: bridgeId is required; bridgeUrl is required"},
		{"b1", "", "invalid request: bridgeUrl is required"},
		{"", "http://b1", "invalid request: bridgeId is required"},
		{strings.Repeat("x", 129), "http://b1", "invalid request: bridgeId must not be longer than 128 bytes"},
		{"a\x00", "http://b1", "invalid request: bridgeId must be valid UTF-8 without control characters"},
		{"b1", "b1:5100", "invalid request: bridgeUrl must be like http://10.0.0.5:5100"},
		{"b1", "file:///etc/passwd", "invalid request: bridgeUrl must be like http://10.0.0.5:5100"},
		{"b1", "ftp://b1", "invalid request: bridgeUrl must be like http://10.0.0.5:5100"},
		{"b1", "http://user:pass@b1", "invalid request: bridgeUrl must not have a user"},
		{"b1", "http://b1/admin", "invalid request: bridgeUrl must not have a path, query or fragment"},
		{"b1", "http://b1?x", "invalid request: bridgeUrl must not have a path, query or fragment"},
		{"b1", "http://b1:99999", "invalid request: bridgeUrl must have a port of 1 to 65535"},
	} {
		_, _, err := r.Bind(t.Context(), discovery.BindRequest{BridgeID: c.id, BridgeURL: c.url})
		require.EqualError(t, err, c.want)
		require.ErrorIs(t, err, discovery.ErrInvalid)
	}
	require.Empty(t, r.net.taken())
}

func TestBindNamesTheBridgeThatAnswersInstead(t *testing.T) {
	r := newRig(t, "b1")
	r.net.hosts[urlOf("b1")].status.BridgeID = "b9"
	_, _, err := r.bind("b1")
	require.EqualError(t, err, `another bridge answers at this URL: its id is "b9"`)
}

func TestBridgesThatCannotBeBound(t *testing.T) {
	for name, c := range map[string]struct {
		change   func(r *rig, h *host)
		want     error
		released bool // it was bound, and must be free again
	}{
		"another one answers": {func(_ *rig, h *host) { h.status.BridgeID = "b9" }, discovery.ErrMismatch, false},
		"it is bound":         {func(_ *rig, h *host) { h.status.Status = link.StatusBound }, discovery.ErrAlreadyBound, false},
		"it is being bound":   {func(_ *rig, h *host) { h.status.Status = link.StatusBinding }, discovery.ErrAlreadyBound, false},
		"somebody was faster": {func(_ *rig, h *host) { h.bindErr = discovery.ErrAlreadyBound }, discovery.ErrAlreadyBound, false},
		"it is gone":          {func(_ *rig, h *host) { h.fail = discovery.ErrConnection }, discovery.ErrConnection, false},
		"it wants a secret":   {func(_ *rig, h *host) { h.bindErr = discovery.ErrDenied }, discovery.ErrDenied, false},
		"its driver's id is taken": {func(r *rig, h *host) {
			r.house.drivers["b1"] = 1
		}, discovery.ErrDriverTaken, false},
		"its status has no driver":        {func(r *rig, h *host) { h.status.DriverID, r.house.drivers["b1"] = "", 1 }, discovery.ErrDriverTaken, true},
		"its manifest is of another":      {func(_ *rig, h *host) { h.manifest.BridgeID = "b9" }, discovery.ErrMismatch, true},
		"it has no driver":                {func(_ *rig, h *host) { h.manifest.DriverID = "" }, discovery.ErrBadManifest, true},
		"its driver has a bad id":         {func(_ *rig, h *host) { h.manifest.DriverID = "a/b" }, discovery.ErrBadManifest, true},
		"its driver has no type":          {func(_ *rig, h *host) { h.manifest.DriverType = "" }, discovery.ErrBadManifest, true},
		"a tag has an unknown type":       {func(_ *rig, h *host) { h.manifest.Tags[0].DataType = "Complex" }, discovery.ErrBadManifest, true},
		"a tag has no name":               {func(_ *rig, h *host) { h.manifest.Tags[0].Name = "" }, discovery.ErrBadManifest, true},
		"a tag has a bad name":            {func(_ *rig, h *host) { h.manifest.Tags[0].Name = "a\nb" }, discovery.ErrBadManifest, true},
		"a tag has a long name":           {func(_ *rig, h *host) { h.manifest.Tags[0].Name = strings.Repeat("x", 256) }, discovery.ErrBadManifest, true},
		"a tag has a bad access":          {func(_ *rig, h *host) { h.manifest.Tags[0].Access = "Execute" }, discovery.ErrBadManifest, true},
		"two tags have one name":          {func(_ *rig, h *host) { h.manifest.Tags = append(h.manifest.Tags, h.manifest.Tags[0]) }, discovery.ErrBadManifest, true},
		"it has too many tags":            {func(_ *rig, h *host) { h.manifest.Tags = many(200_001) }, discovery.ErrBadManifest, true},
		"it has a bad submodel":           {func(_ *rig, h *host) { h.manifest.ActiveSubmodels = []string{""} }, discovery.ErrBadManifest, true},
		"the binding is not stored":       {func(r *rig, _ *host) { r.store.set("add", errDisk) }, errDisk, true},
		"the outcome is not known":        {func(r *rig, _ *host) { r.store.set("add, late", errDisk) }, errDisk, true},
		"the tags cannot be shown":        {func(r *rig, _ *host) { r.house.fail = errDisk }, errDisk, true},
		"its driver's id was taken since": {func(r *rig, _ *host) { r.house.fail = discovery.ErrDriverTaken }, discovery.ErrDriverTaken, true},
		"its token is too long":           {func(_ *rig, h *host) { h.manifest.BindingToken = strings.Repeat("x", 1025) }, discovery.ErrBadManifest, true},
		"the engine has no URL":           {func(r *rig, _ *host) { r.opts.EngineURL = nil; r.open() }, discovery.ErrNoEngineURL, false},
		"there are too many bindings":     {func(r *rig, _ *host) { r.opts.MaxBindings = 1; r.net.add("b2"); r.open(); r.mustBind("b2") }, discovery.ErrTooMany, false},
		"its driver is another one's": {func(r *rig, h *host) {
			r.net.add("b2")
			r.net.hosts[urlOf("b2")].manifest.DriverID = "b1"
			r.mustBind("b2")
		}, discovery.ErrDriverTaken, false},
		"a binding of the store knows": {func(r *rig, h *host) { taken(r) }, discovery.ErrDriverTaken, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, "b1")
			c.change(r, r.net.hosts[urlOf("b1")])
			before := len(r.Bindings())
			r.net.taken()
			_, _, err := r.bind("b1")
			require.ErrorIs(t, err, c.want)
			require.Len(t, r.Bindings(), before)
			calls := strings.Join(r.net.taken(), "\n")
			require.Equal(t, c.released, strings.Contains(calls, "release "), calls)
			if c.released {
				require.Equal(t, link.StatusFree, r.net.status(urlOf("b1")))
			}
			stored, err := r.store.Bindings(t.Context())
			require.NoError(t, err)
			for _, b := range stored {
				require.NotEqual(t, "b1", b.BridgeID, "nothing is left in the store")
			}
		})
	}
}

// taken gives the driver's id to a binding of another engine on the same store.
func taken(r *rig) {
	b := discovery.Binding{BridgeID: "other", DriverID: "b1", EngineID: "engine-2", URLs: []string{"http://other"}}
	require.NoError(r.t, r.store.AddBinding(r.t.Context(), b, link.Manifest{}))
	r.opts.Shared = true
	r.open()
}

func many(n int) []link.ManifestTag {
	list := make([]link.ManifestTag, n)
	for i := range list {
		list[i] = link.ManifestTag{Name: fmt.Sprint("tag", i), DataType: "Float"}
	}
	return list
}

func TestABridgeWithManyTags(t *testing.T) {
	r := newRig(t, "b1")
	r.net.hosts[urlOf("b1")].manifest.Tags = many(100_000)
	r.mustBind("b1")
	require.Equal(t, 100_000, r.house.drivers["b1"])
	require.Equal(t, 100_000, r.info("b1").TagCount)
}

func TestTheSecretOfABind(t *testing.T) {
	r := newRig(t, "b1", "b2")
	r.opts.BindSecret = "of the settings"
	r.open()
	r.mustBind("b1")
	_, _, err := r.Bind(t.Context(), discovery.BindRequest{BridgeID: "b2", BridgeURL: "HTTP://B2:5100/", Secret: "own"})
	require.NoError(t, err)
	calls := r.net.taken()
	require.Equal(t, "bind of the settings http://engine:5001 http://b1:5100", calls[1])
	require.Equal(t, "bind own http://engine:5001 http://b2:5100", calls[3])
}

func TestOneOfTwoConcurrentBindsWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "b1")
		r.net.hosts[urlOf("b1")].delay = time.Second
		errs := make([]error, 5)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() { _, _, errs[i] = r.bind("b1") })
		}
		wg.Wait()
		bound := 0
		for _, err := range errs {
			if err == nil {
				bound++
			} else {
				require.ErrorIs(t, err, discovery.ErrAlreadyBound)
			}
		}
		require.Equal(t, 1, bound)
		require.Equal(t, link.StatusBound, r.net.status(urlOf("b1")), "the losers do not release it")
	})
}

func TestTwoBridgesWithOneDriverID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "b1", "b2")
		for _, id := range []string{"b1", "b2"} {
			h := r.net.hosts[urlOf(id)]
			h.delay, h.manifest.DriverID, h.status.DriverID = time.Second, "pump", ""
		}
		var errs [2]error
		var wg sync.WaitGroup
		for i, id := range []string{"b1", "b2"} {
			wg.Go(func() { _, _, errs[i] = r.bind(id) })
		}
		wg.Wait()
		require.Len(t, r.Bindings(), 1)
		winner := r.Bindings()[0].BridgeID
		for i, id := range []string{"b1", "b2"} {
			if id == winner {
				require.NoError(t, errs[i])
				require.Equal(t, link.StatusBound, r.net.status(urlOf(id)))
			} else {
				require.ErrorIs(t, errs[i], discovery.ErrDriverTaken)
				require.Equal(t, link.StatusFree, r.net.status(urlOf(id)))
			}
		}
	})
}

// A caller that leaves while the bridge is being bound leaves it either bound and stored, or free.
func TestACallerThatLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "b1")
		ctx, cancel := context.WithCancel(t.Context())
		r.net.atBind = cancel
		_, _, err := r.Bind(ctx, discovery.BindRequest{BridgeID: "b1", BridgeURL: urlOf("b1")})
		require.ErrorIs(t, err, context.Canceled)
		require.Empty(t, r.Bindings())
		require.Equal(t, link.StatusFree, r.net.status(urlOf("b1")))
	})
}

func TestUnbindOfABridgeThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "b1")
		r.mustBind("b1")
		key := r.link("b1")
		r.net.change(urlOf("b1"), func(h *host) { h.delay = time.Hour })
		began := time.Now()
		require.NoError(t, r.Unbind(t.Context(), "b1"))
		require.LessOrEqual(t, time.Since(began), 5*time.Second)
		require.Empty(t, r.house.names())
		_, err := r.OpenLink(t.Context(), link.Hello{BridgeID: "b1", Key: key, Epoch: "one"})
		require.ErrorIs(t, err, link.ErrRefused, "so the bridge becomes free")
	})
}

func TestUnbindWithTheSecretThatTheBridgeHas(t *testing.T) {
	r := newRig(t, "b1")
	r.mustBind("b1")
	r.net.taken()
	g, err := r.OpenLink(t.Context(), link.Hello{BridgeID: "b1", Token: token, Epoch: "one"})
	require.NoError(t, err)
	require.NoError(t, r.Unbind(t.Context(), "b1"), "the bridge did not get the key")
	require.Equal(t, []string{"release " + g.Key + " http://b1:5100", "release " + token + " http://b1:5100"}, r.net.taken())
	require.Equal(t, link.StatusFree, r.net.status(urlOf("b1")))

	r.mustBind("b1")
	r.net.taken()
	key := r.link("b1")
	require.NoError(t, r.Unbind(t.Context(), "b1"))
	require.Equal(t, []string{"release " + key + " http://b1:5100"}, r.net.taken())
}

// An engine whose data directory is lost leaves its bindings in a store that it shared. Its bridges are refused by others and become free.
func TestABindingOfAnEngineThatIsGoneCanBeRemoved(t *testing.T) {
	r := newRig(t, "b1")
	r.mustBind("b1")
	r.opts.EngineID, r.opts.Shared = "engine-2", true
	r.house.drivers = map[string]int{}
	r.open()
	require.NoError(t, r.net.Release(t.Context(), urlOf("b1"), token))
	_, _, err := r.bind("b1")
	require.ErrorIs(t, err, discovery.ErrAlreadyBound)
	require.NoError(t, r.Unbind(t.Context(), "b1"))
	require.ErrorIs(t, r.Unbind(t.Context(), "b1"), discovery.ErrNotBound)
	r.mustBind("b1")
	require.Equal(t, "engine-2", r.info("b1").EngineID)
}

func TestUnbindThatIsNotStored(t *testing.T) {
	r := newRig(t, "b1")
	r.mustBind("b1")
	r.store.set("remove", errDisk)
	require.ErrorIs(t, r.Unbind(t.Context(), "b1"), errDisk)
	require.Len(t, r.Bindings(), 1)
	require.Equal(t, link.StatusBound, r.net.status(urlOf("b1")), "nothing has changed")
	require.Equal(t, []string{"b1"}, r.house.names())
	r.store.set("remove", nil)
	require.NoError(t, r.Unbind(t.Context(), "b1"))
}
