package settings_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/engineconfig"
	"github.com/otkit/otkit/internal/serverconfig"
	"github.com/otkit/otkit/internal/settings"
)

func TestEnvironment(t *testing.T) {
	e := load(t, settings.Options{Environ: []string{
		"Server__Tls__CertFile=cert.pem", "SERVER__TLS__KEYFILE=key=.pem", "server__maxbodybytes=4096",
		"Server__Cors__AllowedOrigins=https://a.example, https://b.example", "Server__IdleTimeout=5m",
		"Auth__ProtectOpenSurfaces=TRUE", "Tags__History__Enabled=0", "Tracing__SampleRatio=0.25",
		"Log__Format=json",
	}})
	require.Equal(t, serverconfig.TLS{CertFile: "cert.pem", KeyFile: "key=.pem"}, e.Server.TLS)
	require.EqualValues(t, 4096, e.Server.MaxBodyBytes)
	require.Equal(t, []string{"https://a.example", "https://b.example"}, e.Server.CORS.AllowedOrigins)
	require.Equal(t, 5*time.Minute, e.Server.IdleTimeout)
	require.True(t, e.Auth.ProtectOpenSurfaces)
	require.False(t, e.Tags.History.Enabled)
	require.InDelta(t, 0.25, e.Tracing.SampleRatio, 0)
	require.Equal(t, "json", e.Log.Format)
}

func TestEnvironmentMakesAndChangesItems(t *testing.T) {
	environ := []string{ // in an order that is not that of the list
		"Drivers__2__Type=Simulation", "DRIVERS__2__ID=third", "Drivers__0__IpAddress=10.9.9.9",
		"Drivers__0__Settings__slaveid=3", "Drivers__0__Settings__Tags__0__ADDRESS=40002",
		"Drivers__0__Settings__Tags__1__Name=new", "Drivers__0__Settings__Protocol=Tcp", "Drivers__0__Settings__Strict=true",
		`Drivers__1__Settings={"DeviceCount": 2}`, "Drivers__1__Settings__Deep__Down=1.50",
		"Drivers__1__Settings__Quoted=\"7\"",
		"Server__Cors__AllowedOrigins__1=https://c.example",
	}
	e := load(t, settings.Options{File: write(t, "engine.yaml", everything), Environ: environ})
	require.Len(t, e.Drivers, 3)
	require.Equal(t, "10.9.9.9", e.Drivers[0].IPAddress)
	require.Equal(t, 502, e.Drivers[0].Port)
	require.JSONEq(t, `{"SlaveId": 3, "Ratio": 1.5, "Big": 9007199254740993, "1": "one", "Protocol": "Tcp", "Strict": true,
		"Tags": [{"Name": "level", "Address": "40002"}, {"Name": "new"}]}`, string(e.Drivers[0].Settings),
		"a string stays one, other text is taken as JSON where it is JSON")
	require.Contains(t, string(e.Drivers[0].Settings), "9007199254740993")
	require.JSONEq(t, `{"DeviceCount": 2, "Deep": {"Down": 1.50}, "Quoted": "7"}`, string(e.Drivers[1].Settings))
	require.Equal(t, engineconfig.Driver{ID: "third", Type: "Simulation"}, e.Drivers[2])
	require.Equal(t, []string{"https://a.example", "https://c.example"}, e.Server.CORS.AllowedOrigins)
}

func TestManyItemsComeInTheOrderOfTheirNumbers(t *testing.T) {
	var environ []string
	for _, n := range []string{"10", "2", "0", "1", "9", "3", "8", "7", "6", "5", "4"} {
		environ = append(environ, "Drivers__"+n+"__Id=d"+n, "Drivers__"+n+"__Type=x")
	}
	e := load(t, settings.Options{Environ: environ})
	require.Len(t, e.Drivers, 11)
	require.Equal(t, "d10", e.Drivers[10].ID)
}

func TestWarnings(t *testing.T) {
	_, warnings, err := settings.Load(engineconfig.Defaults(), settings.Options{
		Environ: []string{
			"Server__Lisen=:1", "Sever__Listen=:1", "Log__=x", "AUTH__BANANA__SPLIT=x", "Drivers__1__Prt=x", "Server__Listen__0=x",
			"Server__Listen\n__x=1",
			// other programs' variables
			"GIT__X=1", "__CF_USER=1", "FOO__BAR__BAZ=1", "PATH=/bin", "Listen=x", "=C:=x", "nonsense", "Bridge__BindSecret=x", "__=", "____=",
			"Tracing__Slack=x",
		},
		Ignore: []string{"TRACING__S"},
	})
	require.NoError(t, err)
	require.Equal(t, []settings.Warning{
		{Name: "AUTH__BANANA__SPLIT"},
		{Name: "Drivers__1__Prt", Near: "Drivers__1__Port"},
		{Name: "Log__", Near: ""},
		{Name: "Server__Lisen", Near: "Server__Listen"},
		{Name: "Server__Listen\n__x", Near: "Server__Listen"},
		{Name: "Server__Listen__0", Near: "Server__Listen"},
		{Name: "Sever__Listen", Near: "Server__Listen"},
	}, warnings)
	require.Equal(t, "environment variable AUTH__BANANA__SPLIT names no setting and is ignored", warnings[0].String())
	require.Equal(t, `environment variable "Server__Listen\n__x" names no setting and is ignored; did you mean Server__Listen?`, warnings[4].String())
}

func TestBadVariables(t *testing.T) {
	for text, want := range map[string]string{
		"Server__MaxConnections=many":              `Server__MaxConnections must be a whole number, not "many" (environment variable)`,
		"Server__MaxConnections=":                  `Server__MaxConnections must be a whole number, not "" (environment variable)`,
		"SERVER__MAXCONNECTIONS= 5":                `SERVER__MAXCONNECTIONS must be a whole number, not " 5" (environment variable)`,
		"Server__MaxConnections=5.0":               `Server__MaxConnections must be a whole number, not "5.0" (environment variable)`,
		"Server__MaxBodyBytes=1e30":                `Server__MaxBodyBytes must be a whole number, not "1e30" (environment variable)`,
		"Server__MaxBodyBytes=9999999999999999999": `Server__MaxBodyBytes is out of range: "9999999999999999999" (environment variable)`,
		"Tracing__SampleRatio=inf":                 `Tracing__SampleRatio must be a number, not "inf" (environment variable)`,
		"Tracing__SampleRatio=1e999":               `Tracing__SampleRatio is out of range: "1e999" (environment variable)`,
		"Log__Requests=yes":                        `Log__Requests must be true or false, not "yes" (environment variable)`,
		"Server__IdleTimeout=30":                   `Server__IdleTimeout must be a duration such as "30s" or "1h30m", not "30" (environment variable)`,
		"Drivers__1__Port=5":                       "Drivers__1__Port is beyond the list: its next item has the number 0 (environment variable)",
		"Drivers__0__Settings=[1]":                 "Drivers__0__Settings must be an object, not a list (environment variable); drivers[0].id is required; drivers[0].type is required",
		"Drivers__0__Settings={":                   "Drivers__0__Settings must be an object in JSON (environment variable); drivers[0].id is required; drivers[0].type is required",
		"Drivers__0__Settings__Tags__1__X=5":       "", // makes an object with the member 1
		"Server__Cors__AllowedOrigins__1=x":        "Server__Cors__AllowedOrigins__1 is beyond the list: its next item has the number 0 (environment variable)",
	} {
		_, _, err := settings.Load(engineconfig.Defaults(), settings.Options{Environ: []string{text}})
		if want == "" {
			require.ErrorContains(t, err, "drivers[0].id is required")
			continue
		}
		require.EqualError(t, err, "settings are not valid: "+want, text)
	}
	file := write(t, "engine.yaml", everything)
	for text, want := range map[string]string{
		"Drivers__0__Settings__SlaveId__X=1": "Drivers__0__Settings__SlaveId__X has no member X: what it should be in is a number (environment variable)",
		"Drivers__0__Settings__Tags__2__X=1": "Drivers__0__Settings__Tags__2__X is beyond the list: its next item has the number 1 (environment variable)",
		"Drivers__0__Settings__Tags__Name=1": "Drivers__0__Settings__Tags__Name needs the number of a list item in place of Name (environment variable)",
	} {
		_, _, err := settings.Load(engineconfig.Defaults(), settings.Options{File: file, Environ: []string{text}})
		require.EqualError(t, err, "settings are not valid: "+want, text)
	}
}

func TestOneSettingUnderTwoNames(t *testing.T) {
	_, _, err := settings.Load(engineconfig.Defaults(), settings.Options{Environ: []string{"Log__Level=info", "LOG__LEVEL=warn"}})
	require.EqualError(t, err, "settings are not valid: Log__Level and LOG__LEVEL set the same to different values (environment variables)")
	require.Equal(t, "warn", load(t, settings.Options{Environ: []string{"Log__Level=warn", "LOG__LEVEL=warn"}}).Log.Level)
}

func TestSecondName(t *testing.T) {
	e := load(t, settings.Options{Environ: []string{"PLATFORM_MODEL_PATH=/a"}, File: write(t, "a.yaml", "tags: {modelPath: /file}")})
	require.Equal(t, "/a", e.Tags.ModelPath)
	e = load(t, settings.Options{Environ: []string{"Tags__ModelPath=/b", "PLATFORM_MODEL_PATH=/a"}})
	require.Equal(t, "/b", e.Tags.ModelPath, "the regular name is stronger")
	e = load(t, settings.Options{Environ: []string{"PLATFORM_MODEL_PATH=", "platform_model_path=/x"}, File: write(t, "a.yaml", "tags: {modelPath: /file}")})
	require.Equal(t, "/file", e.Tags.ModelPath, "empty counts as absent, and the case is that of the tag")
}
