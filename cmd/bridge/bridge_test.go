package main_test

import (
	"bufio"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/realtest"
)

const passive = `{"Driver": {"Id": "line", "Type": "Passive", "Settings": {"Tags": [{"Name": "temp", "Address": "T1", "Type": "Float"}]}}}`

func TestANewcomersBridge(t *testing.T) {
	b := start(t, nil, "-data", t.TempDir())
	text := b.out.String()
	id, ok := b.call(200, "GET", "/api/bridge/status", "", nil)["bridgeId"].(string)
	require.True(t, ok)
	for _, word := range []string{"Bridge " + id, "(Simulation)", "Not bound", "/api/discovery/bind", "/api/bridge/auth/setup", "setupCode"} {
		require.Contains(t, text, word)
	}
	b.call(503, "GET", "/health", "", nil)
	b.call(200, "GET", "/health/ready", "", nil)
	b.call(200, "GET", "/health/live", "", nil)
	token := b.admin()
	require.EqualValues(t, 10, b.call(200, "GET", "/api/bridge/monitoring/tags", token, nil)["totalCount"])
	settings := b.call(200, "GET", "/api/bridge/config", token, nil)
	require.Equal(t, "Simulation", settings["driver"].(map[string]any)["type"])
	b.stop()
	require.NotContains(t, b.out.String()+b.log.String(), password)
}

func TestWhatWasAcknowledgedSurvivesAKill(t *testing.T) {
	data, driver := t.TempDir(), file(t, "driver_settings.json", passive)
	env := []string{"Ingest__Token=device-token", "Bridge__Id=b1"}
	b := start(t, env, "-data", data, "-driver", driver)
	token := b.admin()
	b.call(200, "POST", "/api/bridge/bind", "", map[string]string{"engineId": "e1", "engineUrl": "http://127.0.0.1:9"})
	const samples = 25
	for i := range samples {
		taken := b.call(202, "POST", "/api/bridge/ingest/line", "device-token", map[string]any{"name": "temp", "value": i})
		require.Equal(t, true, taken["buffered"])
	}
	b.kill()

	b = start(t, env, "-data", data, "-driver", driver)
	require.Contains(t, b.out.String(), "Bound to the engine e1")
	require.NotContains(t, b.out.String(), "setupCode")
	require.Equal(t, "e1", b.call(200, "GET", "/api/bridge/status", "", nil)["boundEngineId"])
	b.call(200, "GET", "/api/bridge/license", token, nil) // the session lives on
	buffer := b.call(200, "GET", "/api/bridge/monitoring/buffer", b.login(), nil)
	require.GreaterOrEqual(t, buffer["count"], float64(samples))
	require.Equal(t, true, buffer["enabled"])
	b.call(409, "POST", "/api/bridge/auth/setup", "", map[string]string{"username": "eve", "password": password})
	records := b.call(200, "GET", "/api/bridge/audit?action=bind", b.login(), nil)
	require.EqualValues(t, 1, records["totalCount"])
	require.Equal(t, true, b.call(200, "GET", "/api/bridge/audit/verification", b.login(), nil)["intact"])
	b.stop()
	b.holdsNo(data, password)
}

// holdsNo requires that a text is in no file below a folder.
func (b *bridge) holdsNo(dir, secret string) {
	b.t.Helper()
	require.NoError(b.t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), "reserve") {
			return err
		}
		text, err := os.ReadFile(path)
		require.NotContains(b.t, string(text), secret, path)
		return err
	}))
}

func TestDataByCurl(t *testing.T) {
	curl := realtest.Need(t, "curl")
	b := start(t, []string{"Ingest__Token=device-token"}, "-data", t.TempDir(), "-driver", file(t, "driver_settings.json", passive))
	send := func(args ...string) string {
		out, err := exec.Command(curl, append([]string{"-s", "-w", " %{http_code}", b.url + "/api/bridge/ingest/line"}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	body := `[{"address": "T1", "value": 21.5}, {"name": "temp", "value": 22, "timestamp": "2026-11-23T08:00:00+01:00"}]`
	require.Equal(t, `{"accepted":2,"buffered":false} 202`, send("-H", "Authorization: Bearer device-token", "--json", body))
	require.Contains(t, send("--json", body), " 401")
}

func TestASecondBridgeOnTheDataIsRefused(t *testing.T) {
	data := t.TempDir()
	start(t, nil, "-data", data)
	run(t, nil, "-data", data, "-listen", "127.0.0.1:0").refused(t, "in use by another server")
}

func TestBadStarts(t *testing.T) {
	for name, tt := range map[string]struct {
		env  []string
		args []string
		want []string
	}{
		"transport":     {[]string{"CloudConnection__Transport=Mqtt"}, nil, []string{"must be Grpc", "Mqtt"}},
		"unknown key":   {nil, []string{"-config", file(t, "appsettings.json", `{"Bufer": {}}`)}, []string{"Bufer"}},
		"no JSON":       {nil, []string{"-config", file(t, "appsettings.json", `{`)}, []string{"is not JSON"}},
		"missing file":  {nil, []string{"-driver", "/nowhere/driver_settings.json"}, []string{"/nowhere/driver_settings.json"}},
		"empty folder":  {nil, []string{"-config", t.TempDir()}, []string{"appsettings.json"}},
		"driver":        {[]string{"Driver__Type=Telegraph"}, nil, []string{"Telegraph", "Modbus, Passive, Simulation"}},
		"weak password": {[]string{"Auth__AdminPassword=secret"}, nil, []string{"auth.adminPassword must have at least 12 characters"}},
		"argument":      {nil, []string{"run"}, []string{"run"}},
		"data":          {nil, []string{"-data", file(t, "data", "")}, []string{"data"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, tt.env, append(tt.args, "-listen", "127.0.0.1:0")...)
			if name == "argument" {
				r = run(t, tt.env, tt.args...)
			}
			r.refused(t, tt.want...)
		})
	}
}

func TestAnUnknownVariableIsOneWarning(t *testing.T) {
	b := start(t, []string{"Driver__IpAdress=10.0.0.1"}, "-data", t.TempDir())
	require.Equal(t, 1, strings.Count(b.log.String(), "warning: "))
	require.Contains(t, b.log.String(), "Driver__IpAddress")
}

func TestSettingsArePrintedAndChecked(t *testing.T) {
	r := run(t, []string{"Bridge__BindSecret=open-sesame", "Server__Profile=edge"}, "config", "print")
	require.Equal(t, 0, r.code, r.err)
	require.Contains(t, r.out, "maxSizeMb: 512")
	require.NotContains(t, r.out, "open-sesame")
	require.Equal(t, result{0, "settings are valid\n", ""}, run(t, nil, "config", "check"))
	run(t, []string{"Driver__Settings__Fancy=1"}, "config", "check").refused(t, "Fancy")
	run(t, nil, "config").refused(t, "config needs print or check")
	run(t, nil, "config", "pritn").refused(t, "config needs print or check")
	for _, args := range [][]string{{"-h"}, {"help"}, {"users", "-h"}, {"users", "list", "-h"}} {
		r := run(t, nil, args...)
		require.Equal(t, 0, r.code, args)
		require.Contains(t, r.err, "usage: bridge ", args)
	}
	require.Equal(t, 0, run(t, nil, "version").code)
}

func TestTheFirstSignalDrainsAndTheSecondEnds(t *testing.T) {
	b := start(t, nil, "-data", t.TempDir())
	address, err := url.Parse(b.url)
	require.NoError(t, err)
	conn, err := net.Dial("tcp", address.Host)
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	// A request whose body does not come keeps the bridge from ending.
	_, err = fmt.Fprintf(conn, "POST /api/bridge/auth/login HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 10\r\n\r\n")
	require.NoError(t, err)
	line, err := bufio.NewReader(conn).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "100 Continue", "the bridge reads the body")
	require.NoError(t, b.cmd.Process.Signal(syscall.SIGTERM))
	eventually(t, "the bridge does not stop", func() bool { return strings.Contains(b.log.String(), "server is stopping") })
	select {
	case <-b.ended:
		t.Fatal("the request was not waited for")
	default:
	}
	require.NoError(t, b.cmd.Process.Signal(syscall.SIGTERM))
	require.Equal(t, 1, b.exit())
}
