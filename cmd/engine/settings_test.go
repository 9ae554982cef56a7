package main_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/openapi/client"
)

const lineSettings = `
server:
  listen: 127.0.0.1:0
log:
  format: json
drivers:
  - id: line
    type: Simulation
    pollIntervalMs: 200
    settings:
      DeviceCount: 2
      TagsPerDevice: 3
`

const lineSettingsJSON = `{
  "Server": {"Listen": "127.0.0.1:0"},
  "Log": {"Format": "json"},
  "Drivers": [{"Id": "line", "Type": "Simulation", "PollIntervalMs": 200,
    "Settings": {"DeviceCount": 2, "TagsPerDevice": 3}}]
}`

func TestSettingsFromAFile(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"engine.yaml": lineSettings, "engine.json": lineSettingsJSON} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := start(t, known, "-config", file(t, name, text), "-data", t.TempDir())
			list, err := e.admin().ListTagsWithResponse(t.Context(), &client.ListTagsParams{DriverFilter: "line"})
			require.NoError(t, err)
			require.Equal(t, 6, list.JSON200.TotalCount)
			var line struct{ Level, Msg string }
			require.NoError(t, json.Unmarshal([]byte(strings.SplitN(e.log.String(), "\n", 2)[0]), &line), "the log is JSON")
		})
	}
}

func TestEnvironmentOverridesAFileAndFlagsOverrideBoth(t *testing.T) {
	t.Parallel()
	env := append([]string{
		"Server__Listen=127.0.0.1:1", // nobody may listen there but root; the flag wins
		"LOG__FORMAT=text", "drivers__0__SETTINGS__devicecount=4", "Server__Lisden=127.0.0.1:2",
	}, known...)
	e := start(t, env, "-config", file(t, "engine.yaml", lineSettings), "-data", t.TempDir(), "-listen", "127.0.0.1:0")
	list, err := e.admin().ListTagsWithResponse(t.Context(), &client.ListTagsParams{DriverFilter: "line"})
	require.NoError(t, err)
	require.Equal(t, 12, list.JSON200.TotalCount)
	require.Contains(t, e.log.String(), "level=INFO")
	require.Equal(t, 1, strings.Count(e.log.String(), "warning: "), e.log)
	require.Equal(t, 1, strings.Count(e.log.String(), "Server__Lisden"), e.log)
}

func TestBadSettingsStopTheStart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file, text string
		env        []string
		words      []string
	}{
		"unknown key in YAML":      {"e.yaml", "server:\n  lisden: :5001\n", nil, []string{"server.lisden"}},
		"unknown key in JSON":      {"e.json", `{"storage": {"path": "x"}}`, nil, []string{"storage.path"}},
		"unknown key in a driver":  {"e.yaml", "drivers:\n  - id: a\n    type: Simulation\n    place: x\n", nil, []string{"drivers[0].place"}},
		"wrong type in YAML":       {"e.yaml", "auth:\n  accessTokenMinutes: soon\n", nil, []string{"auth.accessTokenMinutes"}},
		"wrong type in JSON":       {"e.json", `{"server": {"maxConnections": "many"}}`, nil, []string{"server.maxConnections"}},
		"wrong type in a variable": {"e.yaml", "", []string{"Auth__AccessTokenMinutes=soon"}, []string{"Auth__AccessTokenMinutes"}},
		"out of range":             {"e.yaml", "auth:\n  accessTokenMinutes: 0\n", nil, []string{"auth.accessTokenMinutes"}},
		"no YAML":                  {"e.yaml", "server: [", nil, []string{"e.yaml", "YAML"}},
		"no JSON":                  {"e.json", `{"server": `, nil, []string{"e.json", "JSON"}},
		"driver of no known type":  {"e.yaml", "drivers:\n  - id: a\n    type: Modbuss\n", nil, []string{"drivers[0]", "Modbuss"}},
		"coil that YAML misreads":  {"e.yaml", modbusWith(`Address: 040000`), nil, []string{"drivers[0]", "Settings.Tags[0].Address", "must be in quotes"}},
		"setting of a driver":      {"e.yaml", modbusWith(`Address: "90001"`), nil, []string{"drivers[0]", "Settings.Tags[0].Address"}},
		"blank in the token":       {"e.yaml", "", []string{"Alerting__WebhookToken=two words"}, []string{"alerting.webhookToken", "without blanks"}},
		"short password":           {"e.yaml", "", []string{"Auth__AdminPassword=short"}, []string{"auth.adminPassword"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := filepath.Join(t.TempDir(), "data")
			r := run(t, c.env, "", "-config", file(t, c.file, c.text), "-data", data, "-listen", "127.0.0.1:0")
			r.refused(t, c.words...)
			require.Empty(t, r.out)
			require.NotContains(t, r.err, "short\"")
		})
	}
	run(t, nil, "", "-config", filepath.Join(t.TempDir(), "missing.yaml")).refused(t, "missing.yaml")
	run(t, nil, "", "sevre").refused(t, "sevre")
}

// modbusWith is a file with one Modbus tag.
func modbusWith(address string) string {
	return "drivers:\n  - id: plc1\n    type: Modbus\n    ipAddress: 127.0.0.1\n    settings:\n      Tags:\n        - Name: level\n          Type: Int16\n          " + address + "\n"
}

func TestSecondServerOnTheSameDataDirectoryIsRefused(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	e := start(t, known, "-data", data)
	run(t, nil, "", "-data", data, "-listen", "127.0.0.1:0").refused(t, "in use", data)
	require.Equal(t, http.StatusOK, e.admin().status(), "the first goes on")
	e.stop()
	start(t, nil, "-data", data)
}

func TestPortInUse(t *testing.T) {
	t.Parallel()
	first := start(t, nil, "-data", t.TempDir())
	data := t.TempDir()
	run(t, nil, "", "-data", data, "-listen", first.addr).refused(t, "in use")
	e := start(t, nil, "-data", data)
	require.NotEmpty(t, e.firstPassword(), "a start that failed has made no account whose password nobody saw")
}

func TestConfigPrintMasksSecrets(t *testing.T) {
	t.Parallel()
	text := "auth:\n  adminPassword: file-secret-123\nstorage:\n  driver: postgres\n"
	env := []string{"Storage__Dsn=postgres://otkit:dsn-secret-789@db.example.com/plant?sslmode=disable"}
	r := run(t, env, "", "config", "print", "-config", file(t, "engine.yaml", text), "-listen", "127.0.0.1:7001").ok(t)
	require.NotContains(t, r.out, "-secret-")
	require.Contains(t, r.out, "db.example.com")
	require.Contains(t, r.out, "127.0.0.1:7001")
	require.Contains(t, r.out, "Storage__Dsn", "it tells where a value comes from")

	plain := run(t, nil, "", "config", "print", "-config", file(t, "engine.yaml", lineSettings)).ok(t)
	again := run(t, nil, "", "config", "check", "-config", file(t, "printed.yaml", plain.out)).ok(t)
	require.Contains(t, again.out, "valid")
}

func TestConfigCheck(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	run(t, nil, "", "config", "check", "-data", data, "-config", file(t, "e.yaml", modbusWith(`Address: "40001"`))).ok(t)
	run(t, nil, "", "config", "check", "-data", data, "-config", file(t, "e.yaml", modbusWith(`Address: 40001`))).ok(t)
	run(t, nil, "", "config", "check", "-data", data, "-config", file(t, "e.yaml", modbusWith(`Address: "90001"`))).
		refused(t, "drivers[0]", "plc1", "Settings.Tags[0].Address")
	run(t, nil, "", "config", "check", "-data", data, "-config", file(t, "e.yaml", modbusWith(`Place: "40001"`))).
		refused(t, "drivers[0]", "Settings.Tags[0].Place")
	run(t, []string{"Aas__Mappings__0__Shell=urn:pump", `Aas__Mappings__0__Tags=pump\`}, "", "config", "check", "-data", data).
		refused(t, "aas.mappings[0].tags[0]")
	run(t, []string{"Aas__Events__Url=mqtts://127.0.0.1:1", "Aas__Events__CaFile=/nowhere/ca.crt"}, "", "config", "check", "-data", data).
		refused(t, "aas.events.caFile", "/nowhere/ca.crt")
	run(t, []string{"Alerting__Webhook__Url=https://a.example/b"}, "", "config", "check", "-data", data).
		refused(t, `alerting.routes must name the channel "webhook"`, "alerting.routes.none")
	run(t, []string{"Alerting__Webhook__Url=https://a.example/b", "Alerting__Routes__None=webhook"}, "", "config", "check", "-data", data).ok(t)
	run(t, []string{"Server__MaxBodyBytes=much", "Storage__Driver=papyrus", "Alerting__Email__Host=mail", "Alerting__Email__From=x", "Alerting__Email__To=a@b.c",
		"Alerting__Line__Token=geheim", "Alerting__Fcm__CredentialsFile=/nowhere/key.json", "Aas__Delegation__Allow=ftp://x"},
		"", "config", "check", "-data", data, "-config", file(t, "e.yaml", "logs: 1\nserver: {tls: {certFile: /nowhere/a, keyFile: /nowhere/b}}\ndrivers: [{id: plc1, type: Modbuss}]\n")).
		refused(t, `Server__MaxBodyBytes must be a whole number, not "much"`, `storage.driver must be sqlite or postgres, not "papyrus"`,
			`alerting.email.from must be an address, not "x" (environment variable Alerting__Email__From)`, "alerting.line.to",
			"alerting.fcm.credentialsFile", "/nowhere/key.json", `aas.delegation.allow[0] must be an http or https URL without user, query or fragment, not "ftp://x"`,
			"logs is not a known setting; did you mean log?", "server.tls is not usable", "/nowhere/a", "drivers[0]", "Modbuss")
	_, err := os.Stat(data)
	require.ErrorIs(t, err, os.ErrNotExist, "looking changes nothing")
	require.Equal(t, 2, run(t, nil, "", "config", "chekc").code)
}

func TestMetricsHealthAndProtectedSurfaces(t *testing.T) {
	t.Parallel()
	e := start(t, append([]string{"Auth__ProtectOpenSurfaces=true"}, known...), "-demo", "-data", t.TempDir())
	s := e.admin()
	s.good("sim.pressure")
	eventually(t, "health is not Healthy", func() bool { return e.health().Status == client.Healthy })
	for path, status := range map[string]int{
		"/health": 200, "/health/ready": 200, "/health/live": 200, "/openapi.yaml": 200,
		"/metrics": 401, "/api/v1.0/config/tags": 401, "/nothing": 404,
	} {
		answer, err := http.Get(e.url + path)
		require.NoError(t, err)
		text := body(t, answer.Body)
		require.Equal(t, status, answer.StatusCode, "%s %s", path, text)
	}
	metrics, err := s.GetMetricsWithResponse(t.Context())
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, metrics.StatusCode())
	require.Contains(t, string(metrics.Body), `driver="sim"`)
}
