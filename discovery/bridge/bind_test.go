package bridge_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/discovery/bridge"
	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/fault"
)

func request(engine string) link.BindRequest {
	return link.BindRequest{EngineID: engine, EngineURL: "http://engine:5001"}
}

func TestOneOfManyBindsABridge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		var wg sync.WaitGroup
		errs := make([]error, 20)
		for i := range errs {
			wg.Go(func() { _, errs[i] = r.host.Bind(t.Context(), request(fmt.Sprint("engine-", i)), "") })
		}
		wg.Wait()
		bound := 0
		for _, err := range errs {
			if err == nil {
				bound++
				continue
			}
			require.ErrorIs(t, err, bridge.ErrBound)
		}
		require.Equal(t, 1, bound)
		require.Equal(t, link.StatusBound, r.host.Status().Status)
	})
}

func TestABindRequestIsChecked(t *testing.T) {
	r := newRig(t, 1, func(o *bridge.Options) { o.BindSecret = "sesame" })
	for _, secret := range []string{"", "Sesame", "sesame "} {
		_, err := r.host.Bind(t.Context(), request("e"), secret)
		require.ErrorIs(t, err, bridge.ErrBindSecret)
	}
	pin := "sha256/" + strings.Repeat("A", 43) + "="
	for field, bad := range map[string]link.BindRequest{
		"engineId":      {EngineURL: "http://e"},
		"engineUrl":     {EngineID: "e", EngineURL: "ftp://e"},
		"enginePins[1]": {EngineID: "e", EngineURL: "https://e", EnginePins: []string{pin, "sha256/AAAA"}},
		"enginePins":    {EngineID: "e", EngineURL: "https://e", EnginePins: make([]string, 100)},
	} {
		_, err := r.host.Bind(t.Context(), bad, "sesame")
		require.ErrorIs(t, err, bridge.ErrBindRequest)
		f, _ := fault.From(err)
		require.Equal(t, field, f.Fields[0].Field)
	}
	for _, url := range []string{"", "http://", "http://user:x@e", "http://e?x", "http://e#x", "://", "http://e/" + strings.Repeat("x", 3000)} {
		_, err := r.host.Bind(t.Context(), link.BindRequest{EngineID: "e", EngineURL: url}, "sesame")
		require.ErrorIs(t, err, bridge.ErrBindRequest, url)
	}
	_, err := r.host.Bind(t.Context(), link.BindRequest{EngineID: "e", EngineURL: "https://e"}, "sesame")
	require.ErrorIs(t, err, bridge.ErrBindRequest, "a link by https needs the engine's key")
	require.ErrorContains(t, err, "enginePins is required")
	require.Equal(t, link.StatusFree, r.host.Status().Status)
	m, err := r.host.Bind(t.Context(), link.BindRequest{EngineID: "e", EngineURL: "https://e", EnginePins: []string{pin}}, "sesame")
	require.NoError(t, err)
	require.Len(t, m.BindingToken, 43, "32 random bytes")
}

func TestTheStatusIsAnnounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var seen []string
		r := newRig(t, 1, func(o *bridge.Options) {
			o.OnStatus = func(s link.Status) {
				mu.Lock()
				defer mu.Unlock()
				seen = append(seen, s.Status+" "+s.BoundEngineID)
			}
		})
		r.bind()
		pass(time.Second)
		require.Equal(t, link.Status{BridgeID: "bridge-1", Status: "bound", BoundEngineID: "engine-1", DriverType: "Test", DriverID: "press", Version: "1"},
			r.host.Status())
		require.NoError(t, r.host.Release(t.Context()))
		require.ErrorIs(t, r.host.Release(t.Context()), bridge.ErrNotBound)
		pass(time.Second)
		require.Equal(t, []string{"free ", "binding ", "bound engine-1", "free "}, seen)
	})
}

func TestTheTokenIsExchangedForAKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		r.engine.do(func() { r.engine.silent = true })
		token := r.bind().BindingToken
		require.True(t, r.host.Authorized(token))
		require.False(t, r.host.Authorized(""))
		require.False(t, r.host.Authorized("key"))
		pass(5 * time.Second)
		require.Equal(t, token, r.engine.hellos[0].Token)
		require.Empty(t, r.engine.hellos[0].Key)
		r.engine.do(func() { r.engine.silent, r.engine.hellos = false, nil })
		pass(20 * time.Second)
		require.Len(t, r.engine.hellos, 2)
		require.Equal(t, token, r.engine.hellos[0].Token)
		require.Equal(t, "key", r.engine.hellos[1].Key)
		require.Empty(t, r.engine.hellos[1].Token)
		require.True(t, r.host.Authorized("key"))
		require.False(t, r.host.Authorized(token), "it is used once")
		r.end()
		r.start()
		pass(time.Second)
		require.Equal(t, "key", r.engine.hellos[2].Key)
		require.True(t, r.host.Authorized("key"))
		require.False(t, r.host.Authorized(token))
	})
}

func TestABindingSurvivesTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		r.bind()
		info, err := os.Stat(r.o.StateFile)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
		r.end() // before the first link
		r.start()
		require.Equal(t, link.StatusBound, r.host.Status().Status)
		_, err = r.host.Bind(t.Context(), request("engine-2"), "")
		require.ErrorIs(t, err, bridge.ErrBound)
		pass(time.Second)
		r.count(1, 3)
		pass(time.Second)
		r.requireCount(3)
	})
}

func TestABindingThatCannotBeStoredIsNone(t *testing.T) {
	dir := t.TempDir()
	r := newRig(t, 1, func(o *bridge.Options) { o.StateFile = filepath.Join(dir, "missing", "binding.json") })
	_, err := r.host.Bind(t.Context(), request("e"), "")
	require.ErrorIs(t, err, bridge.ErrState)
	require.Equal(t, link.StatusFree, r.host.Status().Status)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "missing"), 0o700))
	_, err = r.host.Bind(t.Context(), request("e"), "")
	require.NoError(t, err)
}

func TestADamagedStateIsPutAside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "binding.json")
	for _, text := range []string{"", "{", `{"version":1,"engineId":"e"}`, `{"version":0}`, "\x00\x00\x00"} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		r := newRig(t, 1, func(o *bridge.Options) { o.StateFile = path })
		require.Equal(t, link.StatusFree, r.host.Status().Status)
		aside, err := os.ReadFile(path + ".damaged")
		require.NoError(t, err)
		require.Equal(t, text, string(aside))
		r.end()
	}
	require.NoError(t, os.WriteFile(path, []byte(`{"version":2}`), 0o600))
	o := newRig(t, 1).o
	o.StateFile = path
	_, err := bridge.New(t.Context(), o)
	require.ErrorContains(t, err, "newer version")
}

func TestABridgeThatIsRefusedIsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		r.bind()
		pass(time.Second)
		r.engine.do(func() { r.engine.refuse = true })
		r.engine.cut(link.ErrEnded)
		pass(10 * time.Second)
		require.Equal(t, link.StatusFree, r.host.Status().Status)
		require.Equal(t, bridge.DiscoveryNone, r.host.Link().DiscoveryMethod)
		dials := r.engine.dialed()
		pass(time.Hour)
		require.Equal(t, dials, r.engine.dialed(), "a free bridge is quiet")
		r.engine.do(func() { r.engine.refuse = false })
		r.bind()
		r.engine.do(func() { r.engine.key = "key" })
		pass(time.Second)
		require.True(t, r.host.Link().Connected)
	})
}

// An engine that got the address of another one, over http, must not take its bridges away.
func TestARefusalOfAnotherEngineDoesNotMakeABridgeFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		r.bind()
		pass(time.Second)
		r.engine.do(func() { r.engine.refuse, r.engine.id = true, "engine-2" })
		r.engine.cut(link.ErrEnded)
		r.count(1, 10)
		pass(time.Hour)
		require.Equal(t, link.StatusBound, r.host.Status().Status)
		require.Contains(t, r.host.Link().LastError, "engine-2")
		r.engine.do(func() { r.engine.refuse = false })
		pass(time.Minute)
		require.True(t, r.host.Link().Connected)
		r.requireCount(10)
	})
}

func TestTheEngineLearnsThatABridgeIsReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, deaf := range []bool{false, true} {
			r := newRig(t, 1)
			r.engine.deaf = deaf
			r.bind()
			pass(time.Second)
			require.NoError(t, r.host.Release(t.Context()))
			require.Equal(t, link.StatusFree, r.host.Status().Status, "whatever the engine does")
			r.count(1, 5)
			pass(10 * time.Second)
			require.Equal(t, 1, r.engine.released)
			require.Empty(t, r.engine.values("t0"))
			require.False(t, r.host.Link().Connected)
			r.bind()
			pass(time.Second)
			require.True(t, r.host.Link().Connected)
			r.end()
			require.Equal(t, 1, r.engine.released, "a process that ends is not released")
		}
	})
}

func TestAnEngineMayStoreTheBindingLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		m, err := r.host.Bind(t.Context(), request("engine-1"), "")
		require.NoError(t, err)
		pass(10 * time.Second) // the engine does not know the token yet
		require.NotEmpty(t, r.engine.hellos)
		require.Equal(t, link.StatusBound, r.host.Status().Status)
		r.engine.do(func() { r.engine.token = m.BindingToken })
		pass(10 * time.Second)
		require.True(t, r.host.Link().Connected)

		r = newRig(t, 1)
		_, err = r.host.Bind(t.Context(), request("engine-1"), "")
		require.NoError(t, err)
		pass(2 * time.Minute)
		require.Equal(t, link.StatusFree, r.host.Status().Status, "it never does")
	})
}

func TestAnotherEngineIsNotTheEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		m, err := r.host.Bind(t.Context(), request("engine-2"), "") // the address is that of engine-1
		require.NoError(t, err)
		r.engine.do(func() { r.engine.token = m.BindingToken })
		r.count(1, 10)
		pass(time.Minute)
		require.False(t, r.host.Link().Connected)
		require.Contains(t, r.host.Link().LastError, "engine-1")
		require.Equal(t, link.StatusBound, r.host.Status().Status)
		require.Empty(t, r.engine.stored)
	})
}

func TestWhatWaitsBelongsToOneEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type discarded struct {
			owner   string
			entries uint64
		}
		var seen []discarded
		r := newRig(t, 1, func(o *bridge.Options) {
			o.OnDiscard = func(_ context.Context, owner string, entries uint64) { seen = append(seen, discarded{owner, entries}) }
		})
		pass(time.Second)
		r.bind()
		pass(time.Second)
		r.engine.do(func() { r.engine.away = true })
		r.engine.cut(link.ErrEnded)
		pass(time.Second)
		r.count(1, 100)
		pass(time.Second)
		require.NoError(t, r.host.Release(t.Context()))
		r.count(101, 110) // to nobody
		pass(time.Hour)
		r.engine.do(func() { r.engine.away = false })
		r.bind()
		pass(10 * time.Second)
		require.Equal(t, append(upTo(100), 110), r.engine.values("t0"), "the same engine gets what waited, and the present value")
		require.Empty(t, seen)

		r.engine.do(func() { r.engine.away = true })
		r.engine.cut(link.ErrEnded)
		pass(time.Second)
		r.count(111, 120)
		pass(time.Second)
		require.NoError(t, r.host.Release(t.Context()))
		epoch := r.o.Buffer.Epoch()
		_, err := r.host.Bind(t.Context(), request("engine-2"), "")
		require.NoError(t, err)
		require.Equal(t, []discarded{{"engine-1", 10}}, seen)
		require.NotEqual(t, epoch, r.o.Buffer.Epoch())
		require.NoError(t, r.host.Flush(t.Context()))
		s, err := r.host.Stats(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 1, s.Entries, "the present value, for the new engine")
	})
}

func TestHowTheEngineWasFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		require.Equal(t, bridge.DiscoveryNone, r.host.Link().DiscoveryMethod)
		r.host.SetFoundEngine("http://10.0.0.1:5001")
		require.Equal(t, "http://10.0.0.1:5001", r.host.Link().EngineURL)
		require.Equal(t, bridge.DiscoveryMDNS, r.host.Link().DiscoveryMethod)
		r.bind()
		pass(time.Second)
		s := r.host.Link()
		require.Equal(t, "http://engine:5001", s.EngineURL)
		require.Equal(t, bridge.DiscoveryManual, s.DiscoveryMethod, "the network has another address")
		r.host.SetFoundEngine("http://engine:5001")
		require.Equal(t, bridge.DiscoveryMDNS, r.host.Link().DiscoveryMethod)
		require.True(t, s.Connected)
		require.Empty(t, s.LastError)
		r.engine.do(func() { r.engine.away = true })
		r.engine.cut(link.ErrEnded)
		pass(10 * time.Second)
		require.False(t, r.host.Link().Connected)
		require.Contains(t, r.host.Link().LastError, "connection refused")

		var url string
		r = newRig(t, 1)
		r.o.EngineURL = "http://fixed:1"
		dial := r.engine.dial
		r.o.Dial = func(ctx context.Context, u string, pins []string) (link.BridgeConn, error) {
			url = u
			return dial(ctx, u, pins)
		}
		r.end()
		r.start()
		r.bind()
		pass(time.Second)
		require.Equal(t, "http://fixed:1", url)
		require.Equal(t, bridge.DiscoveryManual, r.host.Link().DiscoveryMethod)
	})
}

func TestWhatTheBufferCouldNotTakeDoesNotGoToAnotherEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &brokenBuffer{Buffer: bridge.NewMemoryBuffer(0)}
		var entries uint64
		r := newRig(t, 1, func(o *bridge.Options) {
			o.Buffer, o.OnDiscard = b, func(_ context.Context, _ string, n uint64) { entries += n }
		})
		pass(time.Second)
		_, err := r.host.Bind(t.Context(), request("engine-0"), "")
		require.NoError(t, err)
		require.NoError(t, r.host.Flush(t.Context()))
		b.set(errors.New("no space"))
		r.count(1, 100)
		require.Error(t, r.host.Flush(t.Context()))
		require.NoError(t, r.host.Release(t.Context()))
		r.bind()
		b.set(nil)
		pass(time.Minute)
		require.Equal(t, []int64{100}, r.engine.values("t0"), "the present value only")
		require.GreaterOrEqual(t, entries, uint64(100))
		require.Zero(t, r.engine.lost)
	})
}

func TestAnAnnouncedAddressDoesNotTakeTheBindingFromHTTPS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dialed sync.Map // by URL
		var found atomic.Value
		found.Store("http://stranger:5001")
		r := newRig(t, 1, func(o *bridge.Options) {
			o.FindEngine = func(context.Context, string) (string, error) { return found.Load().(string), nil } //nolint:forcetypeassert // stored above
			o.Dial = func(_ context.Context, url string, _ []string) (link.BridgeConn, error) {
				dialed.Store(url, true)
				return nil, errors.New("connection refused")
			}
		})
		wasDialed := func(url string) bool { _, ok := dialed.Load(url); return ok }
		q := link.BindRequest{EngineID: "e", EngineURL: "https://engine:5001", EnginePins: []string{"sha256/" + strings.Repeat("A", 43) + "="}}
		_, err := r.host.Bind(t.Context(), q, "")
		require.NoError(t, err)
		pass(time.Minute)
		require.True(t, wasDialed("https://engine:5001"))
		require.False(t, wasDialed("http://stranger:5001"))
		found.Store("https://engine.new:5001")
		pass(time.Minute)
		require.True(t, wasDialed("https://engine.new:5001"))
	})
}

func TestAnEngineWithANewAddressIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		moved := false
		r := newRig(t, 1)
		dial := r.engine.dial
		r.o.Dial = func(ctx context.Context, u string, pins []string) (link.BridgeConn, error) {
			if moved != (u == "http://new:5001") {
				return nil, errors.New("no route to host")
			}
			return dial(ctx, u, pins)
		}
		r.o.FindEngine = func(_ context.Context, id string) (string, error) {
			require.Equal(t, "engine-1", id)
			return "http://new:5001", nil
		}
		r.end()
		r.start()
		r.bind()
		pass(time.Second)
		require.True(t, r.host.Link().Connected)
		moved = true
		r.engine.cut(link.ErrEnded)
		pass(time.Minute)
		require.True(t, r.host.Link().Connected)
		require.Equal(t, "http://new:5001", r.host.Link().EngineURL)
		r.engine.cut(link.ErrEnded)
		pass(time.Second)
		require.True(t, r.host.Link().Connected, "it stays the first one to be tried")
		moved = false
		r.engine.cut(link.ErrEnded)
		pass(time.Minute)
		require.Equal(t, "http://engine:5001", r.host.Link().EngineURL)
	})
}
