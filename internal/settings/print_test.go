package settings_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/internal/engineconfig"
	"github.com/otkit/otkit/internal/settings"
)

func printed[T any](t testing.TB, v T, origins settings.Origins) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, settings.Print(&b, v, origins))
	return b.String()
}

func TestPrintTellsWhereValuesComeFrom(t *testing.T) {
	origins := make(settings.Origins)
	file := write(t, "engine.yaml", everything)
	e := load(t, settings.Options{
		File: file, Origins: origins,
		Environ: []string{"LOG__LEVEL=debug", "Drivers__0__Settings__SlaveId=7", "PLATFORM_MODEL_PATH=m.json", "Drivers__2__Id=x", "Drivers__2__Type=y"},
		Flags:   map[string]any{"tracing.endpoint": "http://c:4318"},
	})
	text := printed(t, e, origins)
	for _, line := range []string{
		"  listen: 127.0.0.1:6001 # file " + file,
		"  endpoint: http://c:4318 # flag",
		"  shutdownTimeout: 30s",
		"  idleTimeout: 1m30s # file " + file,
		"    allowedOrigins: ['https://a.example', 'https://b.example'] # file " + file,
		"  level: debug # environment variable LOG__LEVEL",
		"  modelPath: m.json # environment variable PLATFORM_MODEL_PATH",
		"    maxAge: 744h",
		"  - id: press # file " + file,
		"    settings: # file " + file + ", environment variable Drivers__0__Settings__SlaveId",
		"      SlaveId: 7",
		"      Ratio: 1.5",
		"    backoffMaxMs: 0",
		"  - id: x # environment variable Drivers__2__Id",
	} {
		require.Contains(t, "\n"+text, "\n"+line+"\n")
	}
	require.Less(t, strings.Index(text, "server:"), strings.Index(text, "storage:"), "in the order of the struct")
	require.Equal(t, e, load(t, settings.Options{File: write(t, "again.yaml", text)}), "what is printed can be loaded")
}

func TestPrintOfDefaultsCanBeLoaded(t *testing.T) {
	text := printed(t, engineconfig.Defaults(), nil)
	require.NotContains(t, text, "#")
	require.Equal(t, engineconfig.Defaults(), load(t, settings.Options{File: write(t, "a.yaml", text)}))
}

func TestSecretsAreNeverPrinted(t *testing.T) {
	const secret = "h2nter#2/x"
	e := engineconfig.Defaults()
	e.Auth.AdminPassword = secret
	e.Storage.DSN = "host=db user=me password='" + secret + " 3' dbname=plant"
	e.Tracing.Endpoint = "http://me:h2nter@collector:4318"
	e.Drivers = []engineconfig.Driver{{ID: "a", Type: "b", Settings: json.RawMessage(fmt.Sprintf(
		`{"Password": %[1]q, "auth": [{"api_key": %[1]q, "ClientSecret": {"a": %[1]q}, "User": "me"}], "Url": "mqtt://me:h2nter@broker:1883/t?token=h2nter"}`, secret))}}
	text := printed(t, e, settings.Origins{"auth.adminPassword": "environment variable AUTH__ADMINPASSWORD"})
	require.NotContains(t, text, "h2nter")
	for _, kept := range []string{
		"adminPassword: '****' # environment variable AUTH__ADMINPASSWORD",
		"dsn: host=db user=me password=**** dbname=plant", "endpoint: http://me:****@collector:4318",
		"User: me", "Url: mqtt://me:****@broker:1883/t?token=****",
	} {
		require.Contains(t, text, kept)
	}
	require.Contains(t, printed(t, engineconfig.Defaults(), nil), `adminPassword: ""`, "an empty secret shows that it is empty")
}

func TestPasswordsInDatabaseNames(t *testing.T) {
	for dsn, want := range map[string]string{
		"postgres://me:h2nter@db:5432/plant?sslmode=disable":     "postgres://me:****@db:5432/plant?sslmode=disable",
		"postgres://me:h2nter%40x@db/plant":                      "postgres://me:****@db/plant",
		"postgres://m%40e:h2nt@er@db/plant":                      "postgres://m%40e:****@db/plant",
		"postgres://me@db/plant":                                 "postgres://me@db/plant",
		"postgres:///plant?host=/run/pg&password=h2nter&user=me": "postgres:///plant?host=/run/pg&password=****&user=me",
		"postgres:///plant?p%61ssword=h2nter":                    "postgres:///plant?p%61ssword=****",
		"postgres:///plant?sslpassword=h2nter":                   "postgres:///plant?sslpassword=****",
		"postgres://me:12/h2nter@db/plant":                       "****",
		"postgres://me:h2nter/x@db/plant":                        "****",
		"postgres://me:12?h2nter@db/plant":                       "****",
		"postgres://me:12#h2nter@db/plant":                       "****",
		"host=db password=h2nter":                                "host=db password=****",
		"host=db PASSWORD = 'h2nter \\' h2nter' user=me":         "host=db PASSWORD = **** user=me",
		"password='h2nter h2nter":                                "password=****",
		"host=/run/pg password=h2nter://x":                       "host=/run/pg password=****",
		"postgres:me:h2nter@db/plant?sslmode=disable":            "****",
		"//me:h2nter@db/plant?sslmode=disable":                   "****",
		"me:h2nter@db sslmode=disable":                           "****",
		"password=h2nter\\ h2nter user=me":                       "password=**** user=me",
		"user=me sslpassword=h2nter passfile=x":                  "user=me sslpassword=**** passfile=****",
		"h2nter":                                                 "****",
		"":                                                       `""`,
	} {
		e := engineconfig.Defaults()
		e.Storage.DSN = dsn
		text := printed(t, e, nil)
		require.NotContains(t, text, "h2nter", dsn)
		require.Contains(t, strings.ReplaceAll(text, "'", ""), "dsn: "+want+"\n", dsn)
	}
}

// Whatever is wrong around them, errors and warnings do not show secrets, nor what stands where secrets may stand.
func TestSecretsAreNotInErrors(t *testing.T) {
	const secret = "h2nter"
	for _, o := range []settings.Options{
		{File: write(t, "a.yaml", "auth: {adminPassword: [h2nter]}")},
		{File: write(t, "a.yaml", "auth: {adminPassword: {h: h2nter}}")},
		{File: write(t, "a.yaml", "auth: {adminPassword: !!int h2nter}")},
		{File: write(t, "a.yaml", "h2nter")},
		{File: write(t, "a.json", `{"auth": {"adminPassword": "h2nter}}`)},
		{File: write(t, "a.yaml", "auth: h2nter")},
		{File: write(t, "a.yaml", "metrics: {token: h2nter\\x}\nalerting: {webhookToken: 'h2nt er', webhook: h2nter}")},
		{File: write(t, "a.yaml", "auth: {oidc: {audience: a, issuer: 'ftp://me:h2nter@idp.example'}}")},
		{File: write(t, "a.yaml", "drivers: [{id: a, type: b, settings: h2nter}]")},
		{Environ: []string{"Auth__AdminPassword=h2nter"}},
		{Environ: []string{"Auth__AdminPassword=h2nter", "AUTH__ADMINPASSWORD=h2nter2"}},
		{Environ: []string{"Auth__AdminPassword=h2nter", "Log__Levl=h2nter"}},
		{Environ: []string{"Storage__Dsn=h2nter"}},
		{Environ: []string{"Storage__Driver=other", "Tracing__Endpoint=http://h2nter@x", "Storage__Dsn=h2nter"}},
		{Environ: []string{"Drivers__0__Settings={\"a\": h2nter}"}},
		{Flags: map[string]any{"auth.adminPassword": []string{secret}}},
	} {
		_, warnings, err := settings.Load(engineconfig.Defaults(), o)
		require.Error(t, err)
		require.NotContains(t, fmt.Sprint(err, warnings), secret)
	}
}

func TestErrorsShowWhatIsNotSecret(t *testing.T) {
	_, _, err := settings.Load(engineconfig.Defaults(), settings.Options{
		File:    write(t, "a.yaml", "storage: {driver: papyrus, maxConnections: 1}\nauth: {adminPassword: tiny}\n"),
		Environ: []string{"Server__MaxBodyBytes=much", "Log__Level=" + strings.Repeat("ü", 100)},
		Flags:   map[string]any{"tracing.sampleRatio": 2.5},
	})
	e, ok := fault.From(err)
	require.True(t, ok)
	require.Len(t, e.Fields, 6, "all sources and all kinds of mistakes: %v", err)
	for _, part := range []string{
		`Server__MaxBodyBytes must be a whole number, not "much"`, `storage.driver must be sqlite or postgres, not "papyrus"`,
		"storage.maxConnections must be 4 to 1000, not 1", "auth.adminPassword must have at least 8 characters (",
		`log.level must be debug, info, warn or error, not "` + strings.Repeat("ü", 40) + `..."`,
		"tracing.sampleRatio must be above 0, up to 1, not 2.5 (flag)",
	} {
		require.ErrorContains(t, err, part)
	}
}
