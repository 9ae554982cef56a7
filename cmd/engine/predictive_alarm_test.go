package main_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/openapi/client"
)

const tripSettings = `
drivers:
  - {id: line, type: Simulation, settings: {DeviceCount: 1, TagsPerDevice: 1, Scenario: Sine, PeriodMs: 3000, UpdateIntervalMs: 100}}
predictive: {alarms: {failureKeys: ["rule:trip-*"], mergeGap: 1s, startDelay: 1s}}
`

// A Critical alarm that failureKeys names becomes a failure of the tag's equipment, which trainings learn from; another does not.
func TestACriticalAlarmBecomesAFailure(t *testing.T) {
	t.Parallel()
	e := start(t, known, "-config", file(t, "engine.yaml", tripSettings), "-data", t.TempDir())
	s := e.admin()
	list, err := s.ListEquipmentTagsWithResponse(t.Context(), "line")
	require.NoError(t, err)
	require.NotNil(t, list.JSON200, "%s %s", list.Status(), list.Body)
	tag := (*list.JSON200)[0]
	s.good(tag)
	least, most := s.number(tag), s.number(tag)
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		v := s.number(tag)
		least, most = min(least, v), max(most, v)
	}
	for _, id := range []string{"trip-line", "high"} {
		s.addRule(rules.Rule{ID: id, Tag: tag, Kind: rules.High, Limit: (least + most) / 2, Severity: alarms.Critical, Enabled: true})
	}
	var found []client.Failure
	require.Eventually(t, func() bool {
		list, err := s.ListFailuresWithResponse(t.Context(), &client.ListFailuresParams{EquipmentID: "line"})
		require.NoError(t, err)
		require.NotNil(t, list.JSON200, "%s %s", list.Status(), list.Body)
		found = list.JSON200.Items
		return len(found) > 0
	}, time.Minute, 200*time.Millisecond)
	for _, f := range found {
		require.EqualValues(t, "alarm", f.Source)
		require.Equal(t, found[0].Code, f.Code, "of one rule")
		require.True(t, f.End.After(f.Start), "%v to %v", f.Start, f.End)
	}
	rows, err := s.ExportTrainingSetWithResponse(t.Context(), "FailurePrediction")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, rows.StatusCode(), "%s", rows.Body)
	require.Contains(t, string(rows.Body), "\nline/"+tag+",0,", "the life that it ended")
}
