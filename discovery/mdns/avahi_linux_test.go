package mdns_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/discovery"
	"github.com/otkit/otkit/discovery/mdns"
	"github.com/otkit/otkit/internal/realtest"
)

// avahi is an avahi-daemon on a machine of its own that a cable connects with ours.
type avahi struct {
	net realtest.Network
}

func needAvahi(t *testing.T) {
	for _, program := range []string{"avahi-daemon", "avahi-browse", "avahi-publish-service", "dbus-daemon", "ip"} {
		realtest.Need(t, program)
	}
}

// startAvahi starts avahi behind a cable whose end here is near0, 10.77.0.1.
func startAvahi(t *testing.T) avahi {
	t.Helper()
	a := avahi{realtest.NewNetwork(t)}
	a.net.Cable(t, "near0", "10.77.0.1/24", "far0", "10.77.0.2/24")
	dir := t.TempDir()
	bus, conf := filepath.Join(dir, "bus"), filepath.Join(dir, "avahi.conf")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bus.conf"), []byte(`<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>system</type><listen>unix:path=`+bus+`</listen><auth>EXTERNAL</auth><policy context="default">
<allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>`), 0o600))
	require.NoError(t, os.WriteFile(conf, []byte("[server]\nhost-name=other\nallow-interfaces=far0\n[wide-area]\nenable-wide-area=no\n"), 0o600))
	t.Setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path="+bus)
	require.NoError(t, os.MkdirAll("/run/avahi-daemon", 0o755)) //nolint:gosec // ours alone
	a.start(t, "dbus-daemon", "--config-file="+filepath.Join(dir, "bus.conf"), "--nofork", "--nopidfile")
	require.Eventually(t, func() bool { _, err := os.Stat(bus); return err == nil }, time.Minute, 10*time.Millisecond)
	a.start(t, "avahi-daemon", "-f", conf, "--no-drop-root", "--no-chroot")
	require.Eventually(t, func() bool { return a.command(t, "avahi-browse", "-a", "-t").Run() == nil }, time.Minute, 100*time.Millisecond)
	return a
}

func (a avahi) command(t *testing.T, name string, args ...string) *exec.Cmd {
	line := a.net.Args(name, args...)
	return exec.CommandContext(t.Context(), line[0], line[1:]...) //nolint:gosec // programs of tests
}

// start runs a program until the test ends and returns where its output goes.
func (a avahi) start(t *testing.T, name string, args ...string) (output string) {
	t.Helper()
	output = filepath.Join(t.TempDir(), "output")
	file, err := os.Create(output) //nolint:gosec // of the test
	require.NoError(t, err)
	cmd := a.command(t, name, args...)
	cmd.Stdout, cmd.Stderr = file, file
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = file.Close()
		if t.Failed() {
			text, _ := os.ReadFile(output) //nolint:gosec // of the test
			t.Logf("%s: %s", name, text)
		}
	})
	return output
}

// browse returns what avahi finds and resolves now.
func (a avahi) browse(t *testing.T, service string) string {
	t.Helper()
	out, err := a.command(t, "avahi-browse", "-r", "-t", "-p", service).CombinedOutput()
	require.NoError(t, err, string(out))
	return string(out)
}

// eventually waits until what avahi finds has all of the words and returns it.
func (a avahi) eventually(t *testing.T, service string, words ...string) (out string) {
	t.Helper()
	for range 40 {
		out = a.browse(t, service)
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(out, w) }) {
			return out
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("not all of %q: %s", words, out)
	return ""
}

func TestAvahiSeesUs(t *testing.T) {
	needAvahi(t)
	if !realtest.Isolated(t) {
		return
	}
	a := startAvahi(t)
	const service = "_platform-bridge._tcp"
	ad, err := mdns.Advertise(mdns.Service{Instance: `Press 1.5 "bar" (東)`, Type: service, Port: 5002,
		Text: []string{"bridgeId=press-7", "status=free", `name=Prüfstand \ 1`, "location=" + strings.Repeat("x", 300)}}, mdns.Options{})
	require.NoError(t, err)
	other, err := mdns.Advertise(mdns.Service{Instance: "other", Type: service, Port: 5003, Text: []string{"bridgeId=other"}}, mdns.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, other.Close()) }()

	out := a.eventually(t, service, `"bridgeId=press-7"`, `"status=free"`, `"name=Pr\195\188fstand \\ 1"`, ";10.77.0.1;5002;", "bridgeId=other")
	require.Contains(t, out, `=;far0;IPv4;Press\0321\.5\032\034bar\034\032\040\230\157\177\041;`)
	require.Contains(t, out, `"location=`+strings.Repeat("x", 246)+`"`)

	watched := a.start(t, "avahi-browse", "-p", service)
	changed := time.Now()
	require.NoError(t, ad.SetText([]string{"bridgeId=press-7", "status=bound"}))
	a.eventually(t, service, `"status=bound"`)
	t.Logf("avahi has the new text %v after SetText", time.Since(changed))
	require.NotContains(t, a.browse(t, service), `"status=free"`)

	require.NoError(t, ad.Close())
	require.NoError(t, ad.Close())
	require.Eventually(t, func() bool { return !strings.Contains(a.browse(t, service), "press-7") }, time.Minute, 100*time.Millisecond) // one that began before waits for what is gone
	require.Contains(t, a.browse(t, service), "bridgeId=other", "a goodbye takes nothing from others")
	var seen []byte
	require.Eventually(t, func() bool {
		seen, err = os.ReadFile(watched) //nolint:gosec // of the test
		return err == nil && strings.Contains(string(seen), "-;far0;IPv4;Press")
	}, time.Minute, 100*time.Millisecond)
	require.Equal(t, 1, strings.Count(string(seen), "+;far0;IPv4;Press"), "the change of the text took the service away: %s", seen)
}

func TestWeSeeAvahi(t *testing.T) {
	needAvahi(t)
	if !realtest.Isolated(t) {
		return
	}
	a := startAvahi(t)
	const service = "_platform-bridge._tcp"
	a.start(t, "avahi-publish-service", "Halle 3.1 “Süd”", service, "8080", "bridgeId=b-1", "status=free", "flag", "STATUS=bound")
	a.start(t, "avahi-publish-service", "second", service, "8081", "bridgeId=b-2")
	var found []discovery.Found
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var err error
		found, err = mdns.NewScanner(mdns.ScannerOptions{}).Scan(ctx, service)
		require.NoError(t, err)
		return len(found) == 2 && len(found[0].Addresses) > 1 // it may announce one before the other
	}, time.Minute, time.Millisecond)
	require.Equal(t, "Halle 3.1 “Süd”", found[0].Instance)
	require.Equal(t, "other.local", found[0].HostName)
	require.Equal(t, 8080, found[0].Port)
	require.Equal(t, map[string]string{"bridgeId": "b-1", "status": "free", "flag": ""}, found[0].Text)
	require.Equal(t, "10.77.0.2", found[0].Addresses[0].String())
	require.Equal(t, "http://10.77.0.2:8080", found[0].URLs("http")[0])
	last := found[0].Addresses[len(found[0].Addresses)-1]
	require.True(t, last.Is6() && last.IsLinkLocalUnicast(), "%v", found[0].Addresses)
	require.Equal(t, "near0", last.Zone())
	require.Equal(t, "second", found[1].Instance)
}
