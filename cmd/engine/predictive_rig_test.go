package main_test

import (
	"encoding/csv"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/storetest"
	"github.com/otkit/otkit/openapi/client"
	"github.com/otkit/otkit/predictive/simfleet"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/history"
)

// pumpHall is a plant whose pumps have run to failure again and again, with a sample of each sensor an hour, and run now.
type pumpHall struct {
	tags                   []client.TagConfig
	failures, replacements string // CSV
	worn, fresh            string // the pump that fails soon, and one that has just been repaired
}

const (
	hallPumps   = 6
	hallLives   = 4
	hallSensors = 4
)

// pumpSettings keep the whole history, let a training begin with few failures, and an alarm with the first prediction of one.
const pumpSettings = `
tags: {history: {maxAge: -1s}}
predictive: {horizon: 48h, minFailures: 8, maxRows: 1500, monitor: {results: 1, positive: 1, minConfidence: 0, maxLoad: 1}}
`

// newPumpHall fills the history of a data directory.
func newPumpHall(t *testing.T, data string) pumpHall {
	t.Helper()
	units, err := simfleet.New(simfleet.Options{Units: hallPumps * (hallLives + 1), Settings: 1, Sensors: hallSensors, Seed: 7})
	require.NoError(t, err)
	hall := pumpHall{worn: "pump1", fresh: "pump2"}
	var samples []history.Sample
	failures, replacements := [][]string{{"id", "equipmentId", "component", "start", "end"}}, [][]string{{"id", "equipmentId", "component", "at", "reason"}}
	end := time.Now().UTC().Truncate(time.Minute)
	for n := range hallPumps {
		pump := fmt.Sprintf("pump%d", n+1)
		for j := range hallSensors {
			hall.tags = append(hall.tags, client.TagConfig{TagID: fmt.Sprintf("%s.sensor%d", pump, j+1), DriverID: pump, Address: fmt.Sprint(j), DataType: client.Float, Unit: "mm/s"})
		}
		lives := units[n*(hallLives+1) : (n+1)*(hallLives+1)]
		now := &lives[hallLives] // has not failed yet
		switch pump {
		case hall.worn:
			now.Stop(len(now.Sensors) - 5)
		case hall.fresh:
			now.Stop(40)
		default:
			now.Stop(len(now.Sensors) / 2)
		}
		hours := 0
		for _, u := range lives {
			hours += len(u.Sensors)
		}
		at := end.Add(-time.Duration(hours+hallLives*5) * time.Hour)
		replacements = append(replacements, []string{"", pump, "Bearing", at.Format(time.RFC3339), "preventive"})
		for k, u := range lives {
			for _, values := range u.Sensors {
				at = at.Add(time.Hour)
				for j, v := range values {
					samples = append(samples, history.Sample{Tag: fmt.Sprintf("%s.sensor%d", pump, j+1), Time: at, Value: tags.FloatValue(v), Quality: tags.Good})
				}
			}
			if k < hallLives {
				repaired := at.Add(5 * time.Hour)
				failures = append(failures, []string{fmt.Sprintf("%s-%d", pump, k), pump, "Bearing", at.Add(time.Minute).Format(time.RFC3339), repaired.Format(time.RFC3339)})
				at = repaired
			}
		}
	}
	hall.failures, hall.replacements = table(t, failures), table(t, replacements)
	db := storetest.OpenSQLite(t, data, storage.Options{})
	require.NoError(t, db.History().Append(t.Context(), samples))
	require.NoError(t, db.Close())
	return hall
}

func table(t *testing.T, rows [][]string) string {
	t.Helper()
	var text strings.Builder
	require.NoError(t, csv.NewWriter(&text).WriteAll(rows))
	return text.String()
}
