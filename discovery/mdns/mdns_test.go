package mdns_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otkit/otkit/discovery"
	"github.com/otkit/otkit/discovery/mdns"
	"github.com/otkit/otkit/internal/realtest"
)

// uniqueType returns a service type that no other test on this network announces.
func uniqueType() string { return "_ot-" + strings.ToLower(rand.Text()[:10]) + "._tcp" }

// scan returns what a scan of that length finds. Without an interface the test is skipped.
func scan(t *testing.T, service string, length time.Duration) []discovery.Found {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	found, err := mdns.NewScanner(mdns.ScannerOptions{}).Scan(ctx, service)
	if errors.Is(err, mdns.ErrNoInterface) {
		realtest.Skip(t, err.Error())
	}
	require.NoError(t, err)
	return found
}

// eventually scans until ok reports that what was found is right.
func eventually(t *testing.T, service string, ok func([]discovery.Found) bool) {
	t.Helper()
	var found []discovery.Found
	for range 40 {
		if found = scan(t, service, 500*time.Millisecond); ok(found) {
			return
		}
	}
	t.Fatalf("%s: found %v", service, found)
}

func advertise(t *testing.T, s mdns.Service, o mdns.Options) *mdns.Advertisement {
	t.Helper()
	a, err := mdns.Advertise(s, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	return a
}

func TestScanFindsWhatIsAdvertised(t *testing.T) {
	defer goleak.VerifyNone(t)
	service := uniqueType()
	one := advertise(t, mdns.Service{Instance: `Halle 3.1 "Süd"`, Type: service, Port: 5002,
		Text: []string{`name=Prüfstand \ 1`, "status=free", "flag"}}, mdns.Options{})
	two := advertise(t, mdns.Service{Instance: "two", Type: service, Port: 5003,
		Addresses: []netip.Addr{netip.MustParseAddr("2001:db8::7"), netip.MustParseAddr("192.0.2.7")}, HostName: "gateway.local"}, mdns.Options{})
	eventually(t, service, func(found []discovery.Found) bool {
		return len(found) == 2 && found[0].Instance == `Halle 3.1 "Süd"` && found[0].Port == 5002 && len(found[0].Addresses) > 0 &&
			fmt.Sprint(found[0].Text) == fmt.Sprint(map[string]string{"name": `Prüfstand \ 1`, "status": "free", "flag": ""}) &&
			found[1].HostName == "gateway.local" && fmt.Sprint(found[1].Addresses) == "[192.0.2.7 2001:db8::7]"
	})
	require.NoError(t, two.Close())
	eventually(t, service, func(found []discovery.Found) bool { return len(found) == 1 })
	require.NoError(t, one.Close())
}

// A change of the text races neither with the questions of others nor with Close, and the last one counts.
func TestSetTextWhileOthersAsk(t *testing.T) {
	service := uniqueType()
	a := advertise(t, mdns.Service{Instance: "busy", Type: service, Port: 1, Text: []string{"n=0"}}, mdns.Options{})
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		for range 4 {
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			_, _ = mdns.NewScanner(mdns.ScannerOptions{}).Scan(ctx, service)
			cancel()
		}
	}()
	last := 0
	for open := true; open; {
		select {
		case <-asked:
			open = false
		case <-time.After(5 * time.Millisecond):
		}
		last++
		require.NoError(t, a.SetText([]string{fmt.Sprint("n=", last)}))
	}
	eventually(t, service, func(found []discovery.Found) bool {
		return len(found) == 1 && found[0].Text["n"] == fmt.Sprint(last)
	})
	go func() { _ = a.SetText([]string{"n=late"}) }()
	require.NoError(t, a.Close())
	require.NoError(t, a.SetText([]string{"n=later"}), "after Close it changes nothing")
}

// A scan sees a text that changes while it runs.
func TestScanReturnsTheNewestText(t *testing.T) {
	service := uniqueType()
	a := advertise(t, mdns.Service{Instance: "b", Type: service, Port: 1, Text: []string{"status=free"}}, mdns.Options{})
	eventually(t, service, func(found []discovery.Found) bool { return len(found) == 1 })
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	time.AfterFunc(300*time.Millisecond, func() { _ = a.SetText([]string{"status=bound"}) })
	found, err := mdns.NewScanner(mdns.ScannerOptions{}).Scan(ctx, service)
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, "bound", found[0].Text["status"])
}

func TestNoSuchInterface(t *testing.T) {
	_, err := mdns.NewScanner(mdns.ScannerOptions{Interfaces: []string{"none-such"}}).Scan(t.Context(), "_x._tcp")
	require.ErrorIs(t, err, mdns.ErrNoInterface)

	log := make(warnings, 10)
	a := advertise(t, mdns.Service{Instance: "a", Type: "_x._tcp", Port: 1},
		mdns.Options{Interfaces: []string{"none-such"}, CheckInterval: time.Millisecond, Logger: slog.New(log)})
	require.Equal(t, "mDNS advertisement failed; retrying", <-log)
	time.Sleep(20 * time.Millisecond)
	require.NoError(t, a.Close())
	require.Empty(t, log, "one warning, however often it looks")
}

// warnings is a log that keeps messages.
type warnings chan string

func (w warnings) Enabled(context.Context, slog.Level) bool { return true }
func (w warnings) Handle(_ context.Context, r slog.Record) error {
	w <- r.Message
	return nil
}
func (w warnings) WithAttrs([]slog.Attr) slog.Handler { return w }
func (w warnings) WithGroup(string) slog.Handler      { return w }
