package bridgeconfig_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/bridgehost"
	"github.com/otkit/otkit/internal/bridgeconfig"
	"github.com/otkit/otkit/internal/settings"
	"github.com/otkit/otkit/tags"
)

var update = flag.Bool("update", false, "write the reference of the settings again")

const referenceFile = "../../docs/bridge-settings.md"

const referenceHead = `# Settings of the bridge

Later sources in this list override earlier ones:

1. the defaults below, those of ` + "`server.profile`" + ` included;
2. the file that ` + "`-config`" + ` names, JSON, or YAML when its name does not end in .json. If it names a folder, that is its
   appsettings.json. Keys are found without regard to case. A key that does not exist, a key given twice or a value that is not
   allowed stops the start with one line that names the key and shows the value;
3. the file that ` + "`-driver`" + ` names, or the driver_settings.json in the folder of ` + "`-config`" + `. It has the section ` + "`driver`" + `;
4. environment variables, in any case. Items of lists have numbers, which begin at 0; a list of plain values is also written
   whole, with commas. Variables reach into the settings of the driver: ` + "`Driver__Settings__PollIntervalMs=500`" + `. Text that
   is JSON is taken as such there, any other as a string. A variable that looks like a setting but is not one is ignored with
   a warning;
5. flags.

A duration is a number with a unit, such as 30s, 5m or 1h30m. ` + "`bridge config print`" + ` shows the settings in force and
where each comes from, ` + "`bridge config check`" + ` looks for mistakes.

An appsettings.json:

    {
      "Bridge": {"Name": "Press 7", "Location": "Hall 2"},
      "OfflineBuffer": {"Enabled": true, "DbPath": "buffer.db", "MaxSizeMb": 500, "MessageTtlHours": 72},
      "CloudConnection": {"Transport": "Grpc", "EngineUrl": "http://engine:5001", "RetryIntervalSeconds": 5}
    }

A driver_settings.json:

    {"Driver": {"Id": "press", "Type": "Modbus", "IpAddress": "192.168.1.10", "Port": 502, "Settings": {
      "Protocol": "TCP", "SlaveId": 1, "PollIntervalMs": 1000,
      "Tags": [{"Name": "pressure", "Address": "40001", "Type": "Float32"}]}}}

`

func TestReferenceIsThatOfTheCode(t *testing.T) {
	var b bytes.Buffer
	b.WriteString(referenceHead)
	require.NoError(t, settings.Reference(&b, bridgeconfig.Defaults()))
	if *update {
		require.NoError(t, os.WriteFile(referenceFile, b.Bytes(), 0o644))
	}
	file, err := os.ReadFile(referenceFile)
	require.NoError(t, err)
	require.Equal(t, b.String(), string(file), "run: go test ./internal/bridgeconfig -run Reference -update")
	for line := range strings.Lines(b.String()) {
		if strings.HasPrefix(line, "| `") {
			require.NotContains(t, line, "|  |\n", "every setting has a meaning")
		}
	}
	require.Contains(t, b.String(), "| `offlineBuffer.maxSizeMb` | `OfflineBuffer__MaxSizeMb` | integer: 8 to 1048576 | `500` |")
	require.Contains(t, b.String(), "| `driver.ipAddress` | `Driver__IpAddress` | text |")
}

// The files on the page are settings that can be read.
func TestTheFilesOnThePageAreValid(t *testing.T) {
	dir := t.TempDir()
	for i, block := range jsonBlocks(referenceHead) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, []string{bridgeconfig.AppFile, bridgeconfig.DriverFile}[i]), []byte(block), 0o600))
	}
	files, err := bridgeconfig.Files(dir, "")
	require.NoError(t, err)
	b := read(t, files, "Driver__IpAddress=10.0.0.9", "Driver__Settings__PollIntervalMs=250")
	require.Equal(t, "Press 7", b.Bridge.Name)
	require.Equal(t, "http://engine:5001", b.CloudConnection.EngineURL)
	require.Equal(t, "press", b.Driver.ID)
	require.Equal(t, "10.0.0.9", b.Driver.IPAddress, "the environment overrides the file")
	o := build(t, b)
	require.Equal(t, "press.pressure", o.Driver.Options.Tags[0].Name)
	require.Equal(t, 250*time.Millisecond, o.Driver.Options.Tags[0].PollInterval)
}

// jsonBlocks returns the indented objects of a page.
func jsonBlocks(page string) (blocks []string) {
	var block strings.Builder
	for line := range strings.Lines(page + "\n") {
		if strings.HasPrefix(line, "    ") {
			block.WriteString(line)
			continue
		}
		if block.Len() > 0 {
			blocks = append(blocks, block.String())
			block.Reset()
		}
	}
	return blocks
}

// read returns settings without problems.
func read(t *testing.T, files []string, environ ...string) bridgeconfig.Bridge {
	t.Helper()
	b, problems, warnings, err := bridgeconfig.Read(files, environ, nil, nil)
	require.NoError(t, err)
	require.NoError(t, problems.Err())
	require.Empty(t, warnings)
	return b
}

func build(t *testing.T, b bridgeconfig.Bridge) bridgehost.Options {
	t.Helper()
	_, problems, _, err := bridgeconfig.Read(nil, nil, nil, nil)
	require.NoError(t, err)
	o, _ := b.Build(problems, "bridge-1", "1.2.3", slog.New(slog.DiscardHandler))
	require.NoError(t, problems.Err())
	return o
}

func TestNothingSetIsASimulation(t *testing.T) {
	o := build(t, read(t, nil))
	require.Equal(t, "Simulation", o.Driver.Type)
	require.Equal(t, "bridge-1", o.Driver.ID, "two bridges of newcomers have drivers of different ids")
	require.Len(t, o.Driver.Options.Tags, 10)
	i := slices.IndexFunc(o.Driver.Options.Tags, func(t tags.Tag) bool { return t.Name == "bridge-1.setpoint" })
	require.Equal(t, tags.ReadWrite, o.Driver.Options.Tags[i].Access)
	require.Equal(t, 100, o.Ingest.RatePerSecond)
	require.Equal(t, 72*time.Hour, o.Buffer.TTL)
	require.NotNil(t, o.Advertise)
	require.Nil(t, build(t, read(t, nil, "Discovery__Mdns=false")).Advertise)
}

func TestTheEdgeProfile(t *testing.T) {
	edge := read(t, nil, "Server__Profile=edge")
	require.EqualValues(t, 512, edge.OfflineBuffer.MaxSizeMb)
	require.Equal(t, 48, edge.OfflineBuffer.MessageTTLHours)
	require.EqualValues(t, 64, read(t, nil, "Server__Profile=edge", "OfflineBuffer__MaxSizeMb=64").OfflineBuffer.MaxSizeMb, "what is set counts")
}

func TestNamesAreFoundInAnyCase(t *testing.T) {
	b := read(t, nil, "OFFLINEBUFFER__DBPATH=/var/lib/x.db", "ingest__allowedcidrs=10.0.0.0/8,::1", "server__listen=:5060")
	require.Equal(t, "/var/lib/x.db", b.BufferFile())
	require.Len(t, build(t, b).Ingest.From, 2)
	require.Equal(t, ":5060", b.Server.Listen)
	require.Equal(t, filepath.Join("bridge-data", "buffer.db"), read(t, nil).BufferFile())
}

func TestBadSettingsAreNamed(t *testing.T) {
	for variable, want := range map[string]string{
		"CloudConnection__Transport=Mqtt":            `must be Grpc, the only transport of this version, not "Mqtt"`,
		"CloudConnection__EngineUrl=engine:5001":     "CloudConnection__EngineUrl",
		"CloudConnection__RetryIntervalSeconds=0":    "RetryIntervalSeconds",
		"Server__Profile=big":                        "standard",
		"Server__Listen=5100":                        "Server__Listen",
		"Bridge__Id=no spaces":                       "Bridge__Id",
		"Bridge__Name=a\nb":                          "Bridge__Name",
		"Ingest__AllowedCidrs=10.0.0.0/33":           "llowedCidrs",
		"Ingest__RatePerSecond=0":                    "RatePerSecond",
		"OfflineBuffer__MaxSizeMb=0":                 "MaxSizeMb",
		"Auth__AdminPassword=shortPw-9":              "12",
		"License__PublicKeys=xyz":                    "Ed25519",
		"Driver__Id=a/b":                             "Driver__Id",
		"Server__Tls__KeyFile=/k.pem":                "certFile",
		"Driver__Port=70000":                         "Driver__Port",
		"OfflineBuffer__MessageTtlHours=forever":     "MessageTtlHours",
		"Auth__AccessTokenMinutes=0":                 "AccessTokenMinutes",
		"Server__AllowedHosts=http://plant.example":  "llowedHosts",
		"Metrics__Token=with blank":                  "Metrics__Token",
		"Bridge__BindSecret=with blank":              "Bridge__BindSecret",
		"Server__Cors__AllowedOrigins=plant.example": "llowedOrigins",
	} {
		_, problems, _, err := bridgeconfig.Read(nil, []string{variable}, nil, nil)
		require.NoError(t, err)
		require.ErrorContains(t, problems.Err(), want, variable)
		require.NotContains(t, problems.Err().Error(), "shortPw", "no password is shown")
	}
}

func TestBadDriversAreNamed(t *testing.T) {
	for variable, want := range map[string]string{
		"Driver__Type=Telegraph":              `driver.Type must be one of Modbus, Passive, Simulation, not "Telegraph" (environment variable Driver__Type)`,
		"Driver__Settings__TagsPerDevice=-1":  "TagsPerDevice",
		"Driver__Settings__NoSuchMember=true": "NoSuchMember",
	} {
		b, problems, _, err := bridgeconfig.Read(nil, []string{variable}, nil, nil)
		require.NoError(t, err)
		require.NoError(t, problems.Err())
		b.Build(problems, "b", "1", slog.New(slog.DiscardHandler))
		require.ErrorContains(t, problems.Err(), want, variable)
	}
}

func TestAMistakeWithTLSIsToldOnce(t *testing.T) {
	for variables, want := range map[string]string{
		"Server__Tls__CertFile=a.pem": "server.tls.keyFile is needed with server.tls.certFile",
		"Server__Tls__CertFile=/nowhere/a.pem,Server__Tls__KeyFile=/nowhere/a.key": "server.tls is not usable: CertFile and KeyFile: open /nowhere/a.pem: no such file or directory",
	} {
		b, problems, _, err := bridgeconfig.Read(nil, strings.Split(variables, ","), nil, nil)
		require.NoError(t, err)
		b.Build(problems, "b", "1", slog.New(slog.DiscardHandler))
		require.EqualError(t, problems.Err(), "settings are not valid: "+want)
	}
}

func TestAnUnknownVariableIsAWarning(t *testing.T) {
	_, problems, warnings, err := bridgeconfig.Read(nil, []string{"Driver__IpAdress=10.0.0.1", "PATH=/bin", "Other__Program=1"}, nil, nil)
	require.NoError(t, err)
	require.NoError(t, problems.Err())
	require.Len(t, warnings, 1)
	require.Contains(t, warnings[0].String(), "Driver__IpAddress")
}

func TestUnknownKeysStopTheStart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "appsettings.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"OfflineBuffer": {"MaxSizeMB": 5, "MaxSize": 7}}`), 0o600))
	_, problems, _, err := bridgeconfig.Read([]string{file}, nil, nil, nil)
	require.NoError(t, err)
	require.ErrorContains(t, problems.Err(), "offlineBuffer.MaxSize")
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	_, err := bridgeconfig.Files(dir, "")
	require.ErrorContains(t, err, "has neither appsettings.json nor driver_settings.json")
	driver := filepath.Join(dir, bridgeconfig.DriverFile)
	require.NoError(t, os.WriteFile(driver, []byte(`{"Driver": {"Id": "x"}}`), 0o600))
	files, err := bridgeconfig.Files(dir, "")
	require.NoError(t, err)
	require.Equal(t, []string{"", driver}, files)
	files, err = bridgeconfig.Files(dir, "other.json")
	require.NoError(t, err)
	require.Equal(t, []string{"", "other.json"}, files)
	files, err = bridgeconfig.Files(driver, "")
	require.NoError(t, err)
	require.Equal(t, []string{driver, ""}, files)
	_, _, _, err = bridgeconfig.Read([]string{filepath.Join(dir, "missing.json")}, nil, nil, nil)
	require.ErrorContains(t, err, "missing.json")
}

func TestSecretsAreMasked(t *testing.T) {
	b := read(t, nil, "Bridge__BindSecret=s3cret-bind", "Ingest__Token=s3cret-token", "Auth__AdminPassword=s3cret-Pferd-Batterie", "Metrics__Token=s3cret-metrics",
		"Driver__Settings__Password=s3cret-driver", "License__PublicKeys="+base64.StdEncoding.EncodeToString(make([]byte, 32)))
	values, err := settings.Values(b)
	require.NoError(t, err)
	text, err := json.Marshal(values)
	require.NoError(t, err)
	require.NotContains(t, string(text), "s3cret")
	require.Contains(t, string(text), `"bindSecret":"****"`)
	require.Contains(t, string(text), `"maxSizeMb":500`)
}

// Whatever is in the files, the bridge starts or says what is wrong.
func FuzzFiles(f *testing.F) {
	for _, block := range jsonBlocks(referenceHead) {
		f.Add(block)
	}
	f.Add(`{"Driver": {"Type": "Passive", "Settings": {"Tags": [{"Name": "a", "Type": "String:9"}]}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		file := filepath.Join(t.TempDir(), "appsettings.json")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		b, problems, _, err := bridgeconfig.Read([]string{file}, nil, nil, nil)
		if err != nil || problems.Err() != nil || b.Server.TLS.CertFile != "" {
			return
		}
		o, _ := b.Build(problems, "b", "1", slog.New(slog.DiscardHandler))
		require.Equal(t, problems.Err() == nil, o.Driver.Driver != nil)
	})
}

// A bridge that only this machine can reach is not announced to others, but finds engines.
func TestOnlyWhatOthersReachIsAnnounced(t *testing.T) {
	for listen, announced := range map[string]bool{":5100": true, "0.0.0.0:5100": true, "10.0.0.5:5100": true, "127.0.0.1:5100": false, "[::1]:5100": false, "localhost:5100": false} {
		b := bridgeconfig.Defaults()
		b.Server.Listen = listen
		o := build(t, b)
		require.Equal(t, announced, o.Advertise != nil, listen)
		require.NotNil(t, o.FindEngines)
		b.Discovery.Mdns = false
		o = build(t, b)
		require.Nil(t, o.Advertise)
		require.Nil(t, o.FindEngines)
	}
}
