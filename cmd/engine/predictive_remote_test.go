package main_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// The settings name a server that predicts remaining lives. When it is gone, callers are told so immediately.
func TestPredictionsOfAServer(t *testing.T) {
	t.Parallel()
	var asked struct {
		EquipmentID string
		Features    map[string]*float64
	}
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || r.Header.Get("Authorization") != "Bearer T0ken" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		_, _ = io.WriteString(w, `{"days":12.5,"lowDays":10,"highDays":20,"capDays":25,"confidence":1}`)
	}))
	defer model.Close()
	data := t.TempDir()
	hall := newPumpHall(t, data)
	e := start(t, slices.Concat(known, []string{"Log__Format=json", "Predictive__Remote__Url=" + model.URL, "Predictive__Remote__Token=T0ken", "Predictive__Remote__ModelTypes=RUL",
		"Predictive__Remote__Step=1h"}), "-config", file(t, "engine.yaml", pumpSettings), "-data", data)
	s := e.admin()
	require.NotNil(t, s.bulk(hall.tags...).JSON200)
	s.loadRecords(hall)

	life := e.with("").lifeOf(hall.worn, "Bearing")
	require.Equal(t, hall.worn, asked.EquipmentID)
	require.NotNil(t, asked.Features["sensor2.trend"])
	require.Equal(t, []any{12, 0.5, ""}, []any{life.RulDays, life.HealthScore, life.ModelVersion})
	require.Positive(t, life.Confidence)
	model.Close()
	for range 50 {
		answer, err := s.PredictRULWithResponse(t.Context(), hall.worn, "Bearing")
		require.NoError(t, err)
		requireCode(t, http.StatusInternalServerError, "MODEL_NOT_AVAILABLE", answer.StatusCode(), answer.Body)
	}
	e.await("server of the model does not work; predictions paused", 1)
	require.NotContains(t, e.log.String(), "T0ken")
}
