package settings_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/settings"
)

// Any file is either refused with one line, or what it gives can be printed, and where nothing in it is
// masked, loaded again to the same.
func fuzzFile(f *testing.F, name string) {
	path := filepath.Join(f.TempDir(), name)
	f.Fuzz(func(t *testing.T, text []byte) {
		require.NoError(t, os.WriteFile(path, text, 0o600))
		e, _, err := settings.Load(settings.EngineDefaults(), settings.Options{File: path})
		if err != nil {
			require.ErrorIs(t, err, settings.ErrInvalid)
			require.NotContains(t, err.Error(), "\n")
			return
		}
		for _, d := range e.Drivers {
			require.True(t, d.Settings == nil || json.Valid(d.Settings))
		}
		out := printed(t, e, nil)
		if strings.Contains(out, "****") {
			return
		}
		again, _, err := settings.Load(settings.EngineDefaults(), settings.Options{File: write(t, "again.yaml", out)})
		require.NoError(t, err, out)
		require.Equal(t, out, printed(t, again, nil))
	})
}

func FuzzYAMLFile(f *testing.F) {
	f.Add([]byte(everything))
	f.Add([]byte("drivers: [{id: a, type: b, settings: &x {a: 1}}, {id: b, type: c, settings: *x}]"))
	f.Add([]byte("log: {level: info, Level: warn}"))
	f.Add([]byte("server: {<<: {listen: ':1'}}"))
	fuzzFile(f, "a.yaml")
}

func FuzzJSONFile(f *testing.F) {
	f.Add([]byte(`{"server":{"listen":":1","idleTimeout":"3s"},"drivers":[{"id":"a","type":"b","settings":{"x":[1,2.5e3,null,"é"]}}]}`))
	f.Add([]byte(`{"log":{"level":"info","level":"warn"}}`))
	f.Add([]byte(`{"drivers":[{"id":"a","type":"b","settings":{"n":1e400,"s":"\u0085\ud800"}}]}`))
	fuzzFile(f, "a.json")
}

func FuzzEnvironment(f *testing.F) {
	f.Add("Server__Listen=:1", "SERVER__LISTEN=:1")
	f.Add("Drivers__0__Id=a", "Drivers__0__Settings__A__0__B=[1]")
	f.Add("Drivers__0__Settings={\"a\":1}", "Drivers__0__Settings__A__b=1")
	f.Add("Server__Cors__AllowedOrigins=a,b", "Server__Cors__AllowedOrigins__2=c")
	f.Add("__=", "Log____=")
	f.Fuzz(func(t *testing.T, a, b string) {
		e, warnings, err := settings.Load(settings.EngineDefaults(), settings.Options{Environ: []string{a, b}})
		for _, w := range warnings {
			require.NotContains(t, w.String(), "\n")
		}
		if err != nil {
			require.ErrorIs(t, err, settings.ErrInvalid)
			return
		}
		var out bytes.Buffer
		require.NoError(t, settings.Print(&out, e, nil))
	})
}
