package discovery_test

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/discovery"
)

func TestScan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		full := discovery.Found{Instance: "x", HostName: "edge-1.local", Port: 5100,
			Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.5"), netip.MustParseAddr("fe80::1%eth0")},
			Text: map[string]string{"bridgeId": "press-1", "status": "BOUND", "driverType": "Modbus", "tagCount": "7", "version": "1.2", "tls": "1",
				"tenantId": "plant", "boundEngineId": "engine-9", "name": "Press", "location": "hall"}}
		odd := found("odd", "10.0.0.6", "binding")
		odd.Text["tagCount"], odd.Text["version"] = "-3", "a\nb"
		unknown, nameless, portless, homeless := found("x", "10.0.0.1", "gone"), found("", "10.0.0.1", "free"), found("x", "10.0.0.1", "free"), found("x", "10.0.0.1", "free")
		portless.Port, homeless.Addresses = 0, nil
		r.scan.found = []discovery.Found{full, found("z", "10.0.0.9", "free"), found("z", "10.0.0.9", "free"), odd, unknown, nameless, portless, homeless}
		began := time.Now()
		all, err := r.Scan(t.Context(), 0, false)
		require.NoError(t, err)
		require.Equal(t, 5*time.Second, time.Since(began))
		require.Len(t, all, 3)
		require.Equal(t, discovery.BridgeInfo{BridgeID: "odd", HostName: "odd.local", Address: "10.0.0.6", Port: 5100, Version: "ab", Status: discovery.InProgress,
			DriverType: "Modbus", DiscoveredAt: time.Now().UTC(), BaseURL: "http://10.0.0.6:5100", Addresses: []string{"http://10.0.0.6:5100"}}, all[0])
		require.Equal(t, discovery.BridgeInfo{BridgeID: "press-1", HostName: "edge-1.local", Address: "10.0.0.5", Port: 5100, Version: "1.2", Status: discovery.Bound,
			DriverType: "Modbus", TenantID: "plant", BoundEngineID: "engine-9", TagCount: 7, DiscoveredAt: time.Now().UTC(), BaseURL: "https://10.0.0.5:5100",
			Name: "Press", Location: "hall", Addresses: []string{"https://10.0.0.5:5100", "https://[fe80::1%25eth0]:5100"}}, all[1])
		require.Equal(t, "z", all[2].BridgeID)
		all, err = r.Scan(t.Context(), time.Second, true)
		require.NoError(t, err)
		require.Len(t, all, 2, "the bound one is omitted")
	})
}

func TestScanLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		for _, d := range []time.Duration{-1, time.Millisecond, 31 * time.Second} {
			_, err := r.Scan(t.Context(), d, true)
			require.ErrorIs(t, err, discovery.ErrInvalid)
		}
		r.scan.err = errors.New("no interface")
		_, err := r.Scan(t.Context(), time.Second, true)
		require.ErrorIs(t, err, discovery.ErrScanFailed)
		r.scan.err = nil
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = r.Scan(ctx, 30*time.Second, true)
		require.ErrorIs(t, err, context.DeadlineExceeded)

		var wg sync.WaitGroup
		errs := make([]error, 20)
		for i := range errs {
			wg.Go(func() { _, errs[i] = r.Scan(t.Context(), 10*time.Second+time.Duration(i)*time.Second, true) })
		}
		wg.Wait()
		busy := 0
		for _, err := range errs {
			if err != nil {
				require.ErrorIs(t, err, discovery.ErrScansBusy)
				busy++
			}
		}
		require.Equal(t, 12, busy)
	})
}

func TestScansOfTheSameTimeShareASearch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "b1")
		r.scan.found = []discovery.Found{found("b1", "10.0.0.9", "free"), found("b2", "10.0.0.8", "bound")}
		leaving, leave := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			_, err := r.Scan(leaving, 30*time.Second, true)
			require.ErrorIs(t, err, context.Canceled)
		})
		synctest.Wait()
		for i := range 20 {
			wg.Go(func() {
				all, err := r.Scan(t.Context(), 30*time.Second, i%2 == 0)
				require.NoError(t, err)
				require.Len(t, all, 1+i%2)
			})
		}
		synctest.Wait()
		leave() // the one that began
		wg.Wait()
		require.Equal(t, 1, r.scan.count())
		_, err := r.Scan(t.Context(), time.Second, true)
		require.NoError(t, err)
		require.Equal(t, 2, r.scan.count(), "what was found is not kept")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = r.Scan(ctx, 30*time.Second, true)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		_, err = r.Scan(t.Context(), 30*time.Second, true)
		require.NoError(t, err)
		require.Equal(t, 4, r.scan.count(), "a search that nobody waits for has ended")
	})
}

func TestWithoutAScannerNothingIsFound(t *testing.T) {
	s, err := discovery.New(t.Context(), discovery.Deps{Store: discovery.NewMemory(), Bridges: &network{}}, discovery.Options{EngineID: "e"})
	require.NoError(t, err)
	all, err := s.Scan(t.Context(), 30*time.Second, true)
	require.NoError(t, err)
	require.NotNil(t, all)
	require.Empty(t, all)
}

// A bound bridge that does not say so is omitted too, and what a scan has found is tried when the bridge is bound.
func TestWhatAScanHasFoundIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "b1")
		f := found("b1", "10.0.0.9", "free")
		f.Addresses = append(f.Addresses, netip.MustParseAddr("10.1.0.9"))
		r.scan.found = []discovery.Found{f}
		all, err := r.Scan(t.Context(), time.Second, true)
		require.NoError(t, err)
		require.Len(t, all, 1)
		r.mustBind("b1")
		require.Equal(t, []string{"http://b1:5100", "http://10.0.0.9:5100", "http://10.1.0.9:5100"}, r.info("b1").URLs)
		all, err = r.Scan(t.Context(), time.Second, true)
		require.NoError(t, err)
		require.Empty(t, all)
		require.NoError(t, r.Unbind(t.Context(), "b1"))
		time.Sleep(11 * time.Minute)
		r.mustBind("b1")
		require.Equal(t, []string{"http://b1:5100"}, r.info("b1").URLs, "that was long ago")
	})
}
