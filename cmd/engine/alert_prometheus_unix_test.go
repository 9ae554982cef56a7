//go:build unix

package main_test

import (
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/realtest"
)

const (
	prometheusSettings = `
global: {evaluation_interval: 500ms}
alerting: {alertmanagers: [{static_configs: [{targets: ["%s"]}]}]}
rule_files: ["%s"]
`
	prometheusRules = `
groups:
  - name: plant
    rules:
      - alert: OvenTooHot
        expr: vector(1)
        labels: {severity: critical, instance: oven-1}
        annotations: {summary: Oven 1 is too hot}
`
)

// startPrometheus starts a Prometheus with an alert that always fires. Its alerts end by themselves two
// seconds after they were sent last.
func startPrometheus(t *testing.T, alertmanager string) *exec.Cmd {
	t.Helper()
	path := realtest.Need(t, "prometheus")
	said := &output{}
	rules := file(t, "rules.yml", prometheusRules)
	cmd := exec.CommandContext(t.Context(), path, "--storage.tsdb.path="+t.TempDir(), "--rules.alert.resend-delay=500ms",
		fmt.Sprintf("--web.listen-address=127.0.0.1:%d", realtest.FreePort(t)),
		"--config.file="+file(t, "prometheus.yml", fmt.Sprintf(prometheusSettings, strings.TrimPrefix(alertmanager, "http://"), rules)))
	cmd.Stdout, cmd.Stderr = said, said
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGCONT)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("prometheus:\n%s", said)
		}
	})
	return cmd
}

// A Prometheus that is stopped for longer than its alerts are valid has Alertmanager post their end, and
// afterwards the same alerts with the startsAt they had.
func TestAlarmStandsAgainAfterPrometheusWasAway(t *testing.T) {
	t.Parallel()
	e := start(t, known, "-data", t.TempDir())
	s := e.admin()
	am := startAlertmanager(t, e.url+"/api/v1.0/alertsource/webhook", alone)
	prometheus := startPrometheus(t, am.url)
	began := time.Now()
	stands := func(want bool) func() bool {
		return func() bool {
			_, active := s.activeAlarms()["oven-1"]
			return active == want
		}
	}
	eventually(t, "the alert does not come", stands(true))
	for range 2 {
		require.NoError(t, prometheus.Process.Signal(syscall.SIGSTOP))
		eventually(t, "the alarm of a Prometheus that is away stands", stands(false))
		require.NoError(t, prometheus.Process.Signal(syscall.SIGCONT))
		eventually(t, "the alarm does not come back", stands(true))
	}
	e.morePosts(3) // repeats
	require.True(t, stands(true)())
	require.Len(t, s.raisedSince("oven-1", began.Add(-time.Minute)), 3)
	page := s.records("oven-1")
	require.EqualValues(t, 3, page.TotalCount)
	for i, r := range page.Records {
		require.Equal(t, i == 0, r.ResolvedAt.IsZero(), "the newest one lasts")
	}
	answer, err := http.Get(am.url + "/api/v2/alerts?active=true")
	require.NoError(t, err)
	require.Contains(t, body(t, answer.Body), "OvenTooHot", "Alertmanager says the same")
}
