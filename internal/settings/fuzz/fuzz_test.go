// Package fuzz has the fuzz tests of package settings. They have a directory of their own because a fuzzer instruments all that a test
// imports, and the other tests import the whole engine.
package fuzz

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/settings"
)

// engine has settings of every kind.
type engine struct {
	Server struct {
		Listen      string        `key:"listen" default:":5001" rule:"address"`
		IdleTimeout time.Duration `key:"idleTimeout" default:"2m" rule:">0"`
		CORS        struct {
			AllowedOrigins []string `key:"allowedOrigins"`
		} `key:"cors"`
	} `key:"server"`
	Log struct {
		Level    string `key:"level" default:"info" rule:"debug|info|warn|error"`
		Requests bool   `key:"requests" default:"true"`
	} `key:"log"`
	Password string  `key:"password" secret:"true"`
	DSN      string  `key:"dsn" secret:"url"`
	Ratio    float64 `key:"ratio" default:"1" rule:">0..1"`
	Drivers  []struct {
		ID       string          `key:"id" rule:"required" unique:"true"`
		Type     string          `key:"type" rule:"required"`
		Port     int             `key:"port" rule:"1..65535|0 for the type's default"`
		Settings json.RawMessage `key:"settings"`
	} `key:"drivers"`
}

func printed(t testing.TB, e engine) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, settings.Print(&b, e, nil))
	return b.String()
}

// Any file is either refused with one line, or what it gives can be printed, and where nothing in it is
// masked, loaded again to the same.
func fuzzFile(f *testing.F, name string) {
	dir := f.TempDir()
	path, copied := filepath.Join(dir, name), filepath.Join(dir, "again.yaml")
	f.Fuzz(func(t *testing.T, text []byte) {
		require.NoError(t, os.WriteFile(path, text, 0o600))
		e, _, err := settings.Load(settings.Defaults[engine](), settings.Options{File: path})
		if err != nil {
			require.ErrorIs(t, err, settings.ErrInvalid)
			require.NotContains(t, err.Error(), "\n")
			return
		}
		for _, d := range e.Drivers {
			require.True(t, d.Settings == nil || json.Valid(d.Settings))
		}
		out := printed(t, e)
		if strings.Contains(out, "****") {
			return
		}
		require.NoError(t, os.WriteFile(copied, []byte(out), 0o600))
		again, _, err := settings.Load(settings.Defaults[engine](), settings.Options{File: copied})
		require.NoError(t, err, out)
		require.Equal(t, out, printed(t, again))
	})
}

func FuzzYAMLFile(f *testing.F) {
	f.Add([]byte("SERVER:\n  listen: 127.0.0.1:1\n  idletimeout: 1m30s\n  cors: {allowedOrigins: [https://a.example]}\n"))
	f.Add([]byte("drivers:\n  - {id: a, type: b, settings: {Ratio: 1.5, Big: 9007199254740993, 1: one, t: 2026-01-01}}\n"))
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
		e, warnings, err := settings.Load(settings.Defaults[engine](), settings.Options{Environ: []string{a, b}})
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
