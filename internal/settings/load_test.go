package settings_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/internal/engineconfig"
	"github.com/otkit/otkit/internal/serverconfig"
	"github.com/otkit/otkit/internal/settings"
)

// write makes a settings file and gives its path.
func write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func load(t testing.TB, o settings.Options) engineconfig.Engine {
	t.Helper()
	e, warnings, err := settings.Load(engineconfig.Defaults(), o)
	require.NoError(t, err)
	require.Empty(t, warnings)
	return e
}

func TestNothingSetGivesTheDefaults(t *testing.T) {
	require.Equal(t, engineconfig.Defaults(), load(t, settings.Options{}))
	require.Equal(t, engineconfig.Defaults(), load(t, settings.Options{File: write(t, "engine.yaml", "")}))
	require.Equal(t, engineconfig.Defaults(), load(t, settings.Options{File: write(t, "engine.yaml", "# only a comment\n---\n")}))
	require.Equal(t, engineconfig.Defaults(), load(t, settings.Options{File: write(t, "engine.json", "\ufeff{}\n")}))
	require.Equal(t, engineconfig.Defaults(), load(t, settings.Options{
		File: write(t, "engine.yaml", "server:\nlog: {level: null}\ndrivers:\n"),
	}), "null counts as absent")
}

const everything = `
SERVER:
  listen: 127.0.0.1:6001
  MaxBodyBytes: 2048
  idletimeout: 1m30s
  cors: {allowedOrigins: [https://a.example, https://b.example]}
auth: {protectOpenSurfaces: true}
tracing: {sampleRatio: 1e-1}
drivers:
  - id: press
    type: Modbus
    ipAddress: 10.0.0.5
    port: 502
    settings:
      SlaveId: 1
      Ratio: 1.5
      Big: 9007199254740993
      1: one
      Tags: [{Name: level, Address: "40001"}]
  - {id: sim, type: Simulation}
`

func TestFileInYAMLAndJSON(t *testing.T) {
	fromYAML := load(t, settings.Options{File: write(t, "engine.yml", everything)})
	require.Equal(t, "127.0.0.1:6001", fromYAML.Server.Listen)
	require.EqualValues(t, 2048, fromYAML.Server.MaxBodyBytes)
	require.Equal(t, 90*time.Second, fromYAML.Server.IdleTimeout)
	require.Equal(t, 10*time.Second, fromYAML.Server.ReadHeaderTimeout, "what is not set keeps its default")
	require.Equal(t, []string{"https://a.example", "https://b.example"}, fromYAML.Server.CORS.AllowedOrigins)
	require.InDelta(t, 0.1, fromYAML.Tracing.SampleRatio, 1e-12)
	require.Len(t, fromYAML.Drivers, 2)
	require.JSONEq(t, `{"1":"one","Big":9007199254740993,"Ratio":1.5,"SlaveId":1,"Tags":[{"Address":"40001","Name":"level"}]}`,
		string(fromYAML.Drivers[0].Settings))
	require.Contains(t, string(fromYAML.Drivers[0].Settings), "9007199254740993", "numbers are not rounded")
	require.Nil(t, fromYAML.Drivers[1].Settings)

	fromJSON := load(t, settings.Options{File: write(t, "engine.JSON", `{
		"Server": {"Listen": "127.0.0.1:6001", "maxBodyBytes": 2048, "idleTimeout": "1m30s",
			"cors": {"allowedOrigins": ["https://a.example", "https://b.example"]}},
		"auth": {"protectOpenSurfaces": true}, "tracing": {"sampleRatio": 1e-1},
		"drivers": [
			{"id": "press", "type": "Modbus", "ipAddress": "10.0.0.5", "port": 502, "settings":
				{"SlaveId": 1, "Ratio": 1.5, "Big": 9007199254740993, "1": "one", "Tags": [{"Name": "level", "Address": "40001"}]}},
			{"id": "sim", "type": "Simulation", "settings": null}]
	}`)})
	require.Equal(t, fromYAML, fromJSON)
}

func TestLaterSourcesWin(t *testing.T) {
	file := write(t, "engine.yaml", "server: {listen: ':1', idleTimeout: 2s, shutdownTimeout: 3s}\nlog: {level: warn}\n")
	e := load(t, settings.Options{
		File:    file,
		Environ: []string{"Server__IdleTimeout=22s", "SERVER__SHUTDOWNTIMEOUT=33s"},
		Flags:   map[string]any{"server.shutdowntimeout": 333 * time.Second, "Server.MaxConnections": 5, "log.format": "json", "storage.dataDir": nil},
	})
	require.Equal(t, ":1", e.Server.Listen)
	require.Equal(t, 22*time.Second, e.Server.IdleTimeout)
	require.Equal(t, 333*time.Second, e.Server.ShutdownTimeout)
	require.Equal(t, 5, e.Server.MaxConnections)
	require.Equal(t, serverconfig.Log{Level: "warn", Format: "json", Requests: true}, e.Log)
	require.Equal(t, "data", e.Storage.DataDir, "a flag that was not given")
}

// profiled has defaults that depend on a setting.
type profiled struct {
	Profile string `key:"profile"`
	Beat    int    `key:"beat"`
}

func (p profiled) ProfileDefaults(defaults profiled) profiled {
	if p.Profile == "edge" {
		defaults.Beat = 60
	}
	return defaults
}

func TestProfileChoosesDefaultsOnly(t *testing.T) {
	for text, beat := range map[string]int{"profile: x": 30, "profile: edge": 60, "profile: edge\nbeat: 5": 5} {
		p, _, err := settings.Load(profiled{Beat: 30}, settings.Options{File: write(t, "a.yaml", text)})
		require.NoError(t, err)
		require.Equal(t, beat, p.Beat, text)
	}
}

func TestDefaultListIsReplacedByTheFileAndChangedByTheEnvironment(t *testing.T) {
	defaults := engineconfig.Defaults()
	defaults.Drivers = []engineconfig.Driver{
		{ID: "one", Type: "Simulation", Port: 1, Settings: json.RawMessage(`{"a":1}`)},
		{ID: "two", Type: "Simulation"},
	}
	e, _, err := settings.Load(defaults, settings.Options{Environ: []string{"Drivers__1__Port=7"}})
	require.NoError(t, err)
	require.Equal(t, 7, e.Drivers[1].Port)
	require.Equal(t, defaults.Drivers[0], e.Drivers[0])

	e, _, err = settings.Load(defaults, settings.Options{File: write(t, "engine.yaml", "drivers: [{id: three, type: Modbus}]")})
	require.NoError(t, err)
	require.Equal(t, []engineconfig.Driver{{ID: "three", Type: "Modbus"}}, e.Drivers)

	e, _, err = settings.Load(defaults, settings.Options{File: write(t, "engine.yaml", "drivers: []")})
	require.NoError(t, err)
	require.Empty(t, e.Drivers)
}

// Each file is refused with exactly this text after its name.
func TestBadFiles(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a.yaml", "server: {lisen: ':1'}", "server.lisen is not a known setting; did you mean server.listen?"},
		{"a.yaml", "lgo: {level: warn}", "lgo is not a known setting; did you mean log?"},
		{"a.yaml", "sever: {listen: ':1'}", "sever is not a known setting; did you mean server?"},
		{"a.yaml", "server: {certFile: x}", "server.certFile is not a known setting; did you mean server.tls.certFile?"},
		{"a.yaml", "listen: ':1'", "listen is not a known setting; did you mean server.listen?"},
		{"a.yaml", "banana: 1", "banana is not a known setting"},
		{"a.yaml", "drivers: [{id: a, type: b, slave: 1}]", "drivers[0].slave is not a known setting"},
		{"a.yaml", "\"se\\nver\": 1", `"se\nver" is not a known setting; did you mean server?`},
		{"a.yaml", "server: {listen: 5001}", "server.listen must be a string, not the number 5001: put it in quotes"},
		{"a.yaml", "server: {listen: true}", "server.listen must be a string, not true"},
		{"a.yaml", "server: {listen: 2026-01-02}", "server.listen must be a string, not a date: put it in quotes"},
		{"a.yaml", "server: {maxConnections: '5'}", `server.maxConnections must be a whole number, not the string "5"`},
		{"a.yaml", "server: {maxConnections: 1.5}", "server.maxConnections must be a whole number, not the number 1.5"},
		{"a.yaml", "server: {maxBodyBytes: 99999999999999999999}", "server.maxBodyBytes must be a whole number, not the number 1e+20"},
		{"a.json", `{"server": {"maxBodyBytes": 99999999999999999999}}`, "server.maxBodyBytes is out of range: 99999999999999999999"},
		{"a.json", `{"server": {"maxBodyBytes": 1e3}}`, "server.maxBodyBytes must be a whole number, not the number 1e3"},
		{"a.yaml", "tracing: {sampleRatio: .nan}", "tracing.sampleRatio must be a number, not the number NaN"},
		{"a.yaml", "tracing: {sampleRatio: '1'}", `tracing.sampleRatio must be a number, not the string "1"`},
		{"a.yaml", "log: {requests: 'true'}", `log.requests must be true or false, not the string "true"`},
		{"a.yaml", "log: {requests: 1}", "log.requests must be true or false, not the number 1"},
		{"a.yaml", "server: {idleTimeout: 30}", `server.idleTimeout must be a duration such as "30s" or "1h30m", not the number 30`},
		{"a.yaml", "server: {idleTimeout: 30 seconds}", `server.idleTimeout must be a duration such as "30s" or "1h30m", not the string "30 seconds"`},
		{"a.yaml", "server: ':1'", "server must be an object, not a string"},
		{"a.yaml", "server: [1]", "server must be an object, not a list"},
		{"a.yaml", "drivers: {id: a}", "drivers must be a list, not an object"},
		{"a.yaml", "drivers: [a]", "drivers[0] must be an object, not a string"},
		{"a.yaml", "drivers: [null]", "drivers[0] must be an object, not null"},
		{"a.yaml", "server: {cors: {allowedOrigins: '*'}}", `server.cors.allowedOrigins must be a list, not the string "*"`},
		{"a.yaml", "server: {cors: {allowedOrigins: [a, 2]}}", `server.cors.allowedOrigins[1] must be a string, not the number 2: put it in quotes; server.cors.allowedOrigins[0] must be scheme://host or scheme://host:port, not "a"`},
		{"a.yaml", "drivers: [{id: a, type: b, settings: 5}]", "drivers[0].settings must be an object, not a number"},
		{"a.yaml", "drivers: [{id: a, type: b, settings: {x: [.inf]}}]", "drivers[0].settings x: item 0: must be a finite number"},
		{"a.yaml", "drivers: [{id: a, type: b, settings: {since: 2026-01-02}}]", "drivers[0].settings since: is a date: put it in quotes"},
		{"a.yaml", "drivers: [{id: a, type: b, settings: {0x1: a, '1': b}}]", "drivers[0].settings has the key 1 twice"},
		{"a.yaml", "drivers: [{id: a, type: b, settings: {1.5: a}}]", "drivers[0].settings has a key that is not a plain word"},
		{"a.yaml", "server: {listen: ':1', Listen: ':2'}", "server.listen is given twice, as Listen and listen"},
		{"a.yaml", "log: {level: info}\nLOG: {format: json}", "log is given twice, as LOG and log"},
		{"a.json", `{"log": {"level": "info", "level": "warn"}}`, "the file has log.level twice"},
		{"a.json", `{"drivers": [{}, {"settings": {"a": {"b": 1, "b": 1}}}]}`, "the file has drivers[1].settings.a.b twice"},
		{"a.yaml", "log: {level: info}\nlog: {level: warn}", `the file is not valid YAML: line 2: mapping key "log" already defined at line 1`},
		{"a.yaml", "log: [", "the file is not valid YAML: line 1: did not find expected node content"},
		{"a.yaml", "auth: {adminPassword: !!int hunter22}", "the file is not valid YAML: cannot decode !!str a value as a !!int"},
		{"a.yaml", "log: {}\n---\nlog: {}", "the file must hold one YAML document, not several"},
		{"a.yaml", "hunter22", "the file must be an object, not a string"},
		{"a.yaml", "\xff", "the file is not valid UTF-8"},
		{"a.json", `{"tracing": {"sampleRatio": 1e999}}`, "the file has a number out of range at tracing.sampleRatio"},
		{"a.json", "{\n  \"log\": }\n", "the file is not JSON at line 2, column 10"},
		{"a.json", "{} {}", "the file is not JSON at line 1, column 4"},
		{"a.json", "[]", "the file must be an object, not a list"},
		{"a.yaml", "server: {listen: 1, banana: 1}", "server.banana is not a known setting; server.listen must be a string, not the number 1: put it in quotes"},
	} {
		path := write(t, c.name, c.text)
		_, _, err := settings.Load(engineconfig.Defaults(), settings.Options{File: path})
		require.ErrorIs(t, err, settings.ErrInvalid, c.text)
		require.Equal(t, "settings are not valid: "+c.want, strings.ReplaceAll(err.Error(), " (file "+path+")", ""), c.text)
		require.NotContains(t, err.Error(), "\n")
	}
}

func TestFileThatCannotBeRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none.yaml")
	_, _, err := settings.Load(engineconfig.Defaults(), settings.Options{File: path})
	require.ErrorIs(t, err, settings.ErrFile)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.EqualError(t, err, "settings file cannot be read: "+path+": no such file or directory")
}

func TestProblemsAreBounded(t *testing.T) {
	text := strings.Repeat("- {x: 1}\n", 500)
	_, _, err := settings.Load(engineconfig.Defaults(), settings.Options{File: write(t, "a.yaml", "drivers:\n"+text)})
	e, ok := fault.From(err)
	require.True(t, ok)
	require.Len(t, e.Fields, 20)
}

func TestBadFlags(t *testing.T) {
	for name, c := range map[string]struct {
		value any
		want  string
	}{
		"server.nothing":  {"x", "server.nothing is not a known setting (flag)"},
		"drivers[1].port": {1, "drivers[1].port is beyond the list: its next item has the number 0 (flag)"},
		"log.requests":    {"perhaps", `log.requests must be true or false, not "perhaps" (flag)`},
		"server.listen":   {5001, "server.listen must be a string, not the number 5001: put it in quotes (flag)"},
	} {
		_, _, err := settings.Load(engineconfig.Defaults(), settings.Options{Flags: map[string]any{name: c.value}})
		require.EqualError(t, err, "settings are not valid: "+c.want)
	}
}

func TestFlagsReachItems(t *testing.T) {
	e := load(t, settings.Options{
		File:  write(t, "engine.yaml", everything),
		Flags: map[string]any{"drivers[0].port": 1502, "drivers.1.settings.DeviceCount": 4, "server.cors.allowedOrigins": []string{"*"}},
	})
	require.Equal(t, 1502, e.Drivers[0].Port)
	require.JSONEq(t, `{"DeviceCount":4}`, string(e.Drivers[1].Settings))
	require.Equal(t, []string{"*"}, e.Server.CORS.AllowedOrigins)
}

func TestStructsThatCannotHoldSettings(t *testing.T) {
	for want, err := range map[string]error{
		"struct cannot hold settings: int is not a struct":                                        loadError(1),
		"struct cannot hold settings: struct { A string }.A needs a key tag that is a plain name": loadError(struct{ A string }{}),
		`struct cannot hold settings: struct { A chan int "key:\"a\"" }.A has the type chan int, which is not supported`: loadError(struct {
			A chan int `key:"a"`
		}{}),
	} {
		require.ErrorIs(t, err, settings.ErrStruct)
		require.EqualError(t, err, want)
	}
}

func loadError[T any](defaults T) error {
	_, _, err := settings.Load(defaults, settings.Options{})
	return err
}
