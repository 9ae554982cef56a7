package engineconfig_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/predictivealarms"
	"github.com/otkit/otkit/predictive/alarmfailures"
	"github.com/otkit/otkit/predictive/monitor"
)

func TestPredictiveMonitorByDefault(t *testing.T) {
	parts, problems := build(t, "{}")
	require.Empty(t, problems)
	o := parts.Options.Predictive
	require.Equal(t, monitor.Options{Interval: 15 * time.Minute, MaxLoad: 0.25, MaxTargets: 1000, MinProbability: 0.5, MinConfidence: 0.1, Results: 5, Positive: 3}, o.Monitor)
	require.Zero(t, o.Retrain.Every, "nothing is trained unasked")
	require.Zero(t, o.Retrain.PSI)
	require.False(t, o.WithoutMonitor || o.WithoutTags || o.WithoutFailures || o.Alarms.Disabled)
	require.Equal(t, map[monitor.Kind]alarms.Severity{monitor.Failure: alarms.Warning, monitor.RUL: alarms.Warning, monitor.Anomaly: alarms.Warning}, o.Alarms.Severities)
}

func TestPredictiveMonitor(t *testing.T) {
	parts, problems := build(t, `
predictive:
  monitor: {enabled: false, interval: 5m, maxLoad: 0.5, maxTargets: 7, equipments: [pump*], failureTags: ['*.vibration'], components: [Seal],
    anomalyTags: ['*.temp'], minProbability: 0.8, minConfidence: 0.3, remainingLife: 48h, results: 9, positive: 4, clear: 1, tags: false}
  schedule: {every: 168h, psi: 0.3, checks: 5, pause: 48h, checkInterval: 30m}
  alarms: {enabled: false, failureSeverity: Error, rulSeverity: Info, anomalySeverity: Critical, recordFailures: false, failureKeys: ['rule:trip-*'], mergeGap: 10m, startDelay: 5s}
`)
	require.Empty(t, problems)
	o := parts.Options.Predictive
	require.True(t, o.WithoutMonitor && o.WithoutTags && o.WithoutFailures)
	require.Equal(t, monitor.Options{Interval: 5 * time.Minute, MaxLoad: 0.5, MaxTargets: 7, Equipments: []string{"pump*"}, Tags: []string{"*.vibration"},
		Components: []string{"Seal"}, Anomalies: []string{"*.temp"}, MinProbability: 0.8, MinConfidence: 0.3, Within: 48 * time.Hour, Results: 9, Positive: 4, Clear: 1}, o.Monitor)
	require.Equal(t, monitor.RetrainOptions{Every: 168 * time.Hour, PSI: 0.3, Checks: 5, Pause: 48 * time.Hour, CheckInterval: 30 * time.Minute}, o.Retrain)
	require.Equal(t, predictivealarms.Options{Disabled: true, Severities: map[monitor.Kind]alarms.Severity{monitor.Failure: alarms.Error,
		monitor.RUL: alarms.Info, monitor.Anomaly: alarms.Critical}}, o.Alarms)
	require.Equal(t, alarmfailures.Options{Keys: []string{"rule:trip-*"}, MergeGap: 10 * time.Minute, StartDelay: 5 * time.Second}, o.Failures)
}
