package engineconfig_test

import (
	"bytes"
	"flag"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/engineconfig"
	"github.com/otkit/otkit/internal/settings"
	"github.com/otkit/otkit/transport/metrics"
)

var update = flag.Bool("update", false, "write the reference of the settings again")

const referenceFile = "../../docs/engine-settings.md"

const referenceHead = `# Settings of the engine

Later sources in this list override earlier ones:

1. the defaults below;
2. the file that ` + "`-config`" + ` names, YAML or, when its name ends in .json, JSON. Keys are found without
   regard to case. A key that does not exist, a key given twice or a value that is not allowed stops the
   start with an error that names the key and shows the value;
3. environment variables, in any case. Items of lists have numbers, which begin at 0; a list of plain
   values is also written whole, with commas. Variables reach into the ` + "`settings`" + ` of a driver:
   ` + "`Drivers__0__Settings__SlaveId=3`" + `. Text that is JSON is taken as such there, any other as a string.
   A variable that looks like a setting but is not one is ignored with a warning;
4. flags.

A duration is a number with a unit, such as 30s, 5m or 1h30m. ` + "`engine config print`" + ` shows the settings in
force and where each comes from, ` + "`engine config check`" + ` looks for mistakes.

`

func TestReferenceIsThatOfTheCode(t *testing.T) {
	var b bytes.Buffer
	b.WriteString(referenceHead)
	require.NoError(t, settings.Reference(&b, engineconfig.Defaults()))
	if *update {
		require.NoError(t, os.MkdirAll("../../docs", 0o755))
		require.NoError(t, os.WriteFile(referenceFile, b.Bytes(), 0o644))
	}
	file, err := os.ReadFile(referenceFile)
	require.NoError(t, err)
	require.Equal(t, b.String(), string(file), "run: go test ./internal/engineconfig -run Reference -update")
	for line := range strings.Lines(b.String()) {
		if strings.HasPrefix(line, "| `") {
			require.NotContains(t, line, "|  |\n", "every setting has a meaning")
		}
	}
	require.Contains(t, b.String(), "| `tags.modelPath` | `Tags__ModelPath`, `PLATFORM_MODEL_PATH` | text |  |")
	require.Contains(t, b.String(), "| `storage.driver` | `Storage__Driver` | text: sqlite or postgres | `sqlite` |")
	require.Contains(t, b.String(), "| `drivers[].ipAddress` | `Drivers__0__IpAddress` | text |")
	require.Contains(t, b.String(), "| `tags.history.maxAge` | `Tags__History__MaxAge` | duration: above 0, or negative for no limit | `744h` |")
}

func TestEngineValidates(t *testing.T) {
	for text, want := range map[string]string{
		"server: {listen: '5001'}":                                              `server.listen must be host:port or :port, with a port 0 to 65535, not "5001"`,
		"server: {listen: ':65536'}":                                            `server.listen must be host:port or :port, with a port 0 to 65535, not ":65536"`,
		"server: {listen: ':-1'}":                                               `server.listen must be host:port or :port, with a port 0 to 65535, not ":-1"`,
		"server: {listen: ':http'}":                                             `server.listen must be host:port or :port, with a port 0 to 65535, not ":http"`,
		"server: {name: '" + strings.Repeat("x", 61) + "'}":                     `server.name must have at most 60 characters, and no control characters: "` + strings.Repeat("x", 61) + `"`,
		"server: {listen: ''}":                                                  `server.listen must be host:port or :port, with a port 0 to 65535, not ""`,
		"server: {listen: '::1:5001'}":                                          `server.listen must be host:port or :port, with a port 0 to 65535, not "::1:5001"`,
		"server: {maxBodyBytes: 1023}":                                          "server.maxBodyBytes must be 1024 to 1073741824, not 1023",
		"server: {maxConnections: 0}":                                           "server.maxConnections must be at least 1, not 0",
		"server: {maxConnectionsPerAddress: 0}":                                 "server.maxConnectionsPerAddress must be at least 1, or -1 for no limit, not 0",
		"server: {rateLimit: {perAddress: 0}}":                                  "server.rateLimit.perAddress must be at least 1, or -1 for no limit, not 0",
		"server: {rateLimit: {perAccount: -2}}":                                 "server.rateLimit.perAccount must be at least 1, or -1 for no limit, not -2",
		"server: {hubs: {maxPerAccount: 0}}":                                    "server.hubs.maxPerAccount must be at least 1, or -1 for no limit, not 0",
		"server: {hubs: {maxPerAddress: 0}}":                                    "server.hubs.maxPerAddress must be at least 1, or -1 for no limit, not 0",
		"server: {trustedProxies: [10.0.0.0/8, proxy]}":                         `server.trustedProxies[1] must be an address or a network such as 10.1.0.0/16 or fd00::/8, not "proxy"`,
		"server: {allowedHosts: ['a:5001']}":                                    `server.allowedHosts[0] must be a name such as plant.example.com, without scheme and port, not "a:5001"`,
		"server: {allowedHosts: [a, '*']}":                                      "server.allowedHosts must not have others beside *",
		"auth: {openSurfacesFrom: [10.0.0.0/33]}":                               `auth.openSurfacesFrom[0] must be an address or a network such as 10.1.0.0/16 or fd00::/8, not "10.0.0.0/33"`,
		"metrics: {token: 'a b'}":                                               "metrics.token must be visible ASCII without blanks",
		"tags: {maxWithoutToken: 0}":                                            "tags.maxWithoutToken must be at least 1, or -1 for no limit, not 0",
		"server: {readHeaderTimeout: 0s}":                                       "server.readHeaderTimeout must be above 0, not 0s",
		"server: {idleTimeout: -1s}":                                            "server.idleTimeout must be above 0, not -1s",
		"server: {shutdownTimeout: '0'}":                                        "server.shutdownTimeout must be above 0, not 0s",
		"server: {tls: {certFile: a}}":                                          "server.tls.keyFile is needed with server.tls.certFile",
		"server: {tls: {keyFile: a}}":                                           "server.tls.certFile is needed with server.tls.keyFile",
		"server: {tls: {clientCaFile: a}}":                                      "server.tls.certFile is needed with server.tls.clientCaFile",
		"server: {tls: {certFile: a, keyFile: b, requireClientCert: true}}":     "server.tls.clientCaFile is needed with server.tls.requireClientCert",
		"server: {cors: {allowedOrigins: ['*', 'https://a']}}":                  "server.cors.allowedOrigins must not have others beside *",
		"server: {cors: {allowedOrigins: ['https://a', 'https://b/c']}}":        `server.cors.allowedOrigins[1] must be scheme://host or scheme://host:port, not "https://b/c"`,
		"storage: {driver: mysql}":                                              `storage.driver must be sqlite or postgres, not "mysql"`,
		"storage: {driver: postgres}":                                           "storage.dsn is needed with the driver postgres",
		"storage: {dsn: 'host=x'}":                                              "storage.dsn is for the driver postgres; set storage.driver",
		"storage: {dataDir: ''}":                                                "storage.dataDir is required",
		"auth: {adminUsername: 'a b'}":                                          `auth.adminUsername must be 1 to 64 ASCII letters, digits and ._@-, not "a b"`,
		"auth: {adminPassword: short}":                                          "auth.adminPassword must have at least 8 characters",
		"auth: {accessTokenMinutes: 0}":                                         "auth.accessTokenMinutes must be 1 to 1440, not 0",
		"auth: {accessTokenMinutes: 1441}":                                      "auth.accessTokenMinutes must be 1 to 1440, not 1441",
		"auth: {refreshTokenHours: 0}":                                          "auth.refreshTokenHours must be 1 to 8760, not 0",
		"auth: {issuer: ''}":                                                    "auth.issuer is required",
		"auth: {audience: ''}":                                                  "auth.audience is required",
		"auth: {oidc: {audience: a}}":                                           "auth.oidc.issuer is needed with auth.oidc.audience",
		"auth: {oidc: {issuer: 'https://a'}}":                                   "auth.oidc.audience is needed with auth.oidc.issuer",
		"auth: {oidc: {issuer: 'http://a.example', audience: a}}":               `auth.oidc.issuer must be an https URL, or an http one on a loopback address, not "http://a.example"`,
		"auth: {oidc: {issuer: 'https://', audience: a}}":                       `auth.oidc.issuer must be an https URL, or an http one on a loopback address, not "https://"`,
		"auth: {oidc: {issuer: 'https://a', audience: a, rolesClaim: ''}}":      "auth.oidc.rolesClaim is required",
		"auth: {issuer: 'https://a', oidc: {issuer: 'https://a', audience: a}}": "auth.oidc.issuer must differ from auth.issuer",
		"log: {level: loud}":                                                    `log.level must be debug, info, warn or error, not "loud"`,
		"log: {format: xml}":                                                    `log.format must be text or json, not "xml"`,
		"tracing: {protocol: udp}":                                              `tracing.protocol must be http or grpc, not "udp"`,
		"tracing: {sampleRatio: 0}":                                             "tracing.sampleRatio must be above 0, up to 1, not 0",
		"tracing: {sampleRatio: 1.01}":                                          "tracing.sampleRatio must be above 0, up to 1, not 1.01",
		"tracing: {endpoint: 'collector:4318'}":                                 "tracing.endpoint must be a URL such as http://collector:4318, without a user",
		"tags: {history: {maxAge: 0s}}":                                         "tags.history.maxAge must be above 0, or negative for no limit, not 0s",
		"tags: {history: {maxBytes: 0}}":                                        "tags.history.maxBytes must be above 0, or negative for no limit, not 0",
		"tags: {history: {flushEvery: 2m}}":                                     "tags.history.flushEvery must be above 0, up to 1m, not 2m",
		"alarms: {driverOffline: {delay: 999ms}}":                               "alarms.driverOffline.delay must be at least 1s, not 999ms",
		"alarms: {driverOffline: {severity: error}}":                            `alarms.driverOffline.severity must be Info, Warning, Error or Critical, not "error"`,
		"alerting: {historyMaxAge: 719h}":                                       "alerting.historyMaxAge must be at least 720h, not 719h",
		"alerting: {floods: [{every: -1s}]}":                                    "alerting.floods[0].every must be at least 0, not -1s",
		"alerting: {routes: {info: [webhook], none: [webhook]}}":                `alerting.routes.none[0] must not name "webhook", which is in a row`,
		"alerting: {webhookToken: ' secret'}":                                   "alerting.webhookToken must be visible ASCII without blanks",
		"alerting: {webhookToken: 'sec ret'}":                                   "alerting.webhookToken must be visible ASCII without blanks",
		"alerting: {webhookToken: \"secret\\n\"}":                               "alerting.webhookToken must be visible ASCII without blanks",
		"alerting: {webhookToken: 'sécret'}":                                    "alerting.webhookToken must be visible ASCII without blanks",
		"predictive: {horizon: 59m}":                                            "predictive.horizon must be at least 1h, not 59m",
		"predictive: {horizon: 48h, lookback: 48h}":                             "predictive.lookback must be above predictive.horizon, not 48h",
		"predictive: {minFailures: 2}":                                          "predictive.minFailures must be 3 to 1000, not 2",
		"predictive: {keep: 0}":                                                 "predictive.keep must be at least 1, or -1 for all, not 0",
		"predictive: {settingTags: ['*.load', '*.[a']}":                         `predictive.settingTags[1] must be a pattern, in which [ needs a ], and \ a character after it, not "*.[a"`,
		"predictive: {monitor: {interval: 500ms}}":                              "predictive.monitor.interval must be at least 1s, not 500ms",
		"predictive: {monitor: {positive: 6}}":                                  "predictive.monitor.positive must be at most predictive.monitor.results, not 6",
		"predictive: {monitor: {clear: 3}}":                                     "predictive.monitor.clear must be below predictive.monitor.positive, not 3",
		"predictive: {monitor: {anomalyTags: ['[']}}":                           `predictive.monitor.anomalyTags[0] must be a pattern, in which [ needs a ], and \ a character after it, not "["`,
		"predictive: {schedule: {every: 59m}}":                                  "predictive.schedule.every must be at least 1h, or 0 for never, not 59m",
		"predictive: {alarms: {rulSeverity: Bad}}":                              `predictive.alarms.rulSeverity must be Info, Warning, Error or Critical, not "Bad"`,
		"predictive: {alarms: {failureKeys: ['rule:[']}}":                       `predictive.alarms.failureKeys[0] must be a pattern, in which [ needs a ], and \ a character after it, not "rule:["`,
		"tags: {writeLogMaxAge: 0s}":                                            "tags.writeLogMaxAge must be above 0, not 0s",
		"drivers: [{id: a, type: b}, {id: a, type: b}]":                         "drivers[1].id is that of drivers[0] as well",
		"drivers: [{type: b}]":                                                  "drivers[0].id is required",
		"drivers: [{id: a}]":                                                    "drivers[0].type is required",
		"drivers: [{id: a/b, type: b}]":                                         `drivers[0].id must not contain / or control characters: "a/b"`,
		"drivers: [{id: a, type: b, port: 65536}]":                              "drivers[0].port must be 1 to 65535, or 0 for the type's default, not 65536",
		"drivers: [{id: a, type: b, requires: {network: [1]}}]":                 "drivers[0].requires must be texts: network is not",
		"drivers: [{id: a, type: b, requires: {'': x}}]":                        "drivers[0].requires must have names of 1 to 128 bytes and values of at most 128",
		"drivers: [{id: a, type: b, timeoutMs: -1}]":                            "drivers[0].timeoutMs must be 0 to 86400000, not -1",
	} {
		path := write(t, "a.yaml", text)
		_, _, err := settings.Load(engineconfig.Defaults(), settings.Options{File: path})
		require.ErrorIs(t, err, settings.ErrInvalid, text)
		// A key that is missing has no place that it comes from.
		got := strings.ReplaceAll(err.Error(), " (file "+path+")", "")
		require.Equal(t, "settings are not valid: "+want, got, text)
	}
}

func TestValidationTellsWhereValuesComeFrom(t *testing.T) {
	path := write(t, "a.yaml", "log: {level: loud}\nserver: {cors: {allowedOrigins: [x]}}")
	_, _, err := settings.Load(engineconfig.Defaults(), settings.Options{
		File: path, Environ: []string{"DRIVERS__0__ID=a", "DRIVERS__0__PORT=-5"}, Flags: map[string]any{"server.listen": "nowhere"},
	})
	require.EqualError(t, err, "settings are not valid: "+
		`server.listen must be host:port or :port, with a port 0 to 65535, not "nowhere" (flag); `+
		`server.cors.allowedOrigins[0] must be scheme://host or scheme://host:port, not "x" (file `+path+"); "+
		`log.level must be debug, info, warn or error, not "loud" (file `+path+"); "+
		"drivers[0].type is required; "+
		"drivers[0].port must be 1 to 65535, or 0 for the type's default, not -5 (environment variable DRIVERS__0__PORT)")
}

func TestValuesThatAreFine(t *testing.T) {
	for _, text := range []string{
		"server: {listen: '[fe80::1%eth0]:5001'}",
		"server: {tls: {certFile: a, keyFile: b, clientCaFile: c, requireClientCert: true}, cors: {allowedOrigins: ['*']}}",
		"storage: {driver: postgres, dsn: 'host=x'}",
		"auth: {oidc: {issuer: 'http://[::1]:8080/realms/a', audience: a}}",
		"auth: {adminPassword: 'ääääöööö'}",
		"tracing: {endpoint: 'https://collector.example/v1', protocol: grpc}",
		"tags: {history: {maxAge: -1s, maxBytes: -1}}",
		"drivers: [{id: a, type: b}, {id: A, type: b}]",
	} {
		load(t, settings.Options{File: write(t, "a.yaml", text)})
	}
}

func TestADriverIsDefinedForAllEngines(t *testing.T) {
	path := write(t, "a.yaml", "drivers: [{id: line, type: Simulation, pollIntervalMs: 500, requires: {network: hall-1, zone: 2}, settings: {TagsPerDevice: 2}}]")
	s, problems, _, err := settings.Inspect(engineconfig.Defaults(), settings.Options{File: path})
	require.NoError(t, err)
	drivers := s.Build(problems, "1.2.3", slog.New(slog.DiscardHandler), metrics.New(metrics.Options{})).Options.Tags.Drivers
	require.NoError(t, problems.Err())
	require.Len(t, drivers, 1)
	d := drivers[0].Definition
	require.Equal(t, "line", d.ID)
	require.Equal(t, "Simulation", d.Type)
	require.True(t, d.Enabled)
	require.Equal(t, 500*time.Millisecond, d.PollInterval)
	require.Equal(t, map[string]string{"network": "hall-1", "zone": "2"}, d.Requires)
	require.JSONEq(t, `{"TagsPerDevice": 2}`, string(d.Settings))
}
