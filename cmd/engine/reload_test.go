//go:build unix

package main_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSIGHUPReloadsAndEndsNothing(t *testing.T) {
	t.Parallel()
	config := file(t, "engine.yaml", "log:\n  level: info\n")
	e := start(t, known, "-config", config, "-data", t.TempDir())
	hangup := func(times int) {
		t.Helper()
		e.signal(syscall.SIGHUP)
		eventually(t, "nothing is reloaded", func() bool { return strings.Count(e.log.String(), "msg=reloaded") == times })
	}
	probed := func() bool { // a line of level debug
		e.report("/health/live")
		return strings.Contains(e.log.String(), "path=/health/live")
	}
	require.False(t, probed())
	require.NoError(t, os.WriteFile(config, []byte("log:\n  level: debug\n"), 0o600))
	hangup(1)
	eventually(t, "the level is not taken over", probed)
	require.NoError(t, os.WriteFile(config, []byte("log:\n  level: loud\n"), 0o600))
	hangup(2)
	require.Contains(t, e.log.String(), "failed to reload settings")
	require.NoError(t, os.WriteFile(config, []byte("log:\n  level: error\nserver:\n  idleTimeout: 1m\n"), 0o600))
	e.signal(syscall.SIGHUP)
	e.admin()
	e.stop()
}

func TestSIGHUPWhileStartingEndsNothing(t *testing.T) {
	t.Parallel()
	env := with(known, []string{"Storage__Driver=postgres", "Storage__Dsn=postgres://u:p@127.0.0.1:1/db?sslmode=disable", "Storage__StartWait=5m"})
	e := launch(t, binary(t), env, "-data", t.TempDir())
	eventually(t, "the engine does not wait", func() bool { return strings.Contains(e.log.String(), "failed to reach PostgreSQL; retrying") })
	e.signal(syscall.SIGHUP)
	time.Sleep(50 * time.Millisecond) // a signal that ended it would do so at once
	e.signal(syscall.SIGTERM)
	require.Equal(t, 0, e.exit(), "%s", e.log)
}

func TestACertificateThatExpiresSoonAndAKeyThatDoesNotFitYet(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	put := func(cert, key []byte, at time.Time) {
		for path, text := range map[string][]byte{certFile: cert, keyFile: key} {
			require.NoError(t, os.WriteFile(path, text, 0o600))
			require.NoError(t, os.Chtimes(path, at, at))
		}
	}
	cert, key := ca.issueUntil(x509.ExtKeyUsageServerAuth, time.Now().Add(5*24*time.Hour+time.Hour))
	put(cert, key, time.Now())
	e := start(t, with(known, []string{"Server__Tls__CertFile=" + certFile, "Server__Tls__KeyFile=" + keyFile}), "-data", t.TempDir())
	roots := &tls.Config{RootCAs: ca.pool()}
	s := e.secure(roots)
	h := &http.Client{Transport: &http.Transport{TLSClientConfig: roots, DisableKeepAlives: true}}
	get := func(path string) string {
		answer, err := h.Get(e.url + path)
		require.NoError(t, err)
		return body(t, answer.Body)
	}
	var r report
	health := func() report {
		r = report{}
		require.NoError(t, json.Unmarshal([]byte(get("/health")), &r))
		return r
	}
	require.Equal(t, "Degraded", health().Results["tls"].Status)
	require.InDelta(t, 5, r.Results["tls"].Data["daysLeft"], 0)
	require.Contains(t, get("/metrics"), "otkit_tls_certificate_expiry_days 5.")
	eventually(t, "no alarm is raised", func() bool {
		return strings.Contains(s.activeAlarms()["engine"].Message, "certificate of the engine expires on")
	})

	// The key comes later than the certificate, and its file looks as before.
	at := time.Now().Add(time.Second)
	cert, right := ca.issueUntil(x509.ExtKeyUsageServerAuth, time.Now().Add(60*24*time.Hour))
	_, wrong := ca.issue(x509.ExtKeyUsageServerAuth)
	require.Len(t, wrong, len(right))
	put(cert, wrong, at)
	eventually(t, "the files that do not fit are not noticed", func() bool { return strings.Contains(health().Results["tls"].Description, "cannot be used") })
	e.says("TLS files are not usable")
	put(cert, right, at)
	eventually(t, "the key is not tried again", func() bool { return health().Results["tls"].Status == "Healthy" })
	eventually(t, "the alarm is not cleared", func() bool { return s.activeAlarms()["engine"].Message == "" })
	e.signal(syscall.SIGHUP)
	eventually(t, "nothing is reloaded", func() bool { return strings.Contains(e.log.String(), "msg=reloaded") })
	require.Equal(t, "Healthy", health().Results["tls"].Status)
}
