package main_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/openapi/client"
)

// retrain trains a model and waits for it.
func (s *session) retrain(modelType client.ModelType) *client.TrainingResult {
	s.t.Helper()
	answer, err := s.RetrainModelWithResponse(s.t.Context(), modelType)
	require.NoError(s.t, err)
	require.NotNil(s.t, answer.JSON200, "%s %s", answer.Status(), answer.Body)
	return answer.JSON200
}

// trainUntil starts a training and returns when at least a share of it is done.
func (s *session) trainUntil(modelType client.ModelType, progress float64) {
	s.t.Helper()
	started, err := s.StartTrainingWithResponse(s.t.Context(), client.StartTrainingJSONRequestBody{ModelType: modelType})
	require.NoError(s.t, err)
	require.NotNil(s.t, started.JSON202, "%s %s", started.Status(), started.Body)
	eventually(s.t, "the training does not advance", func() bool {
		job, err := s.GetTrainingJobWithResponse(s.t.Context(), started.JSON202.ID)
		require.NoError(s.t, err)
		require.NotNil(s.t, job.JSON200, "%s %s", job.Status(), job.Body)
		return job.JSON200.Progress >= progress
	})
}

func (s *session) failureOf(equipment, tag string) *client.FailurePrediction {
	s.t.Helper()
	answer, err := s.PredictFailureWithResponse(s.t.Context(), equipment, tag)
	require.NoError(s.t, err)
	require.NotNil(s.t, answer.JSON200, "%s %s", answer.Status(), answer.Body)
	return answer.JSON200
}

func (s *session) lifeOf(equipment, component string) *client.RULPrediction {
	s.t.Helper()
	answer, err := s.PredictRULWithResponse(s.t.Context(), equipment, component)
	require.NoError(s.t, err)
	require.NotNil(s.t, answer.JSON200, "%s %s", answer.Status(), answer.Body)
	return answer.JSON200
}

func (s *session) models(modelType client.ModelType) client.ModelList {
	s.t.Helper()
	answer, err := s.ListModelsWithResponse(s.t.Context(), modelType)
	require.NoError(s.t, err)
	require.NotNil(s.t, answer.JSON200, "%s %s", answer.Status(), answer.Body)
	return *answer.JSON200
}

// loadRecords adds the failures and replacements of a hall.
func (s *session) loadRecords(hall pumpHall) (failures, replacements client.RecordImport) {
	s.t.Helper()
	f, err := s.AddFailuresWithBodyWithResponse(s.t.Context(), "text/csv", strings.NewReader(hall.failures))
	require.NoError(s.t, err)
	require.NotNil(s.t, f.JSON200, "%s %s", f.Status(), f.Body)
	r, err := s.AddReplacementsWithBodyWithResponse(s.t.Context(), "text/csv", strings.NewReader(hall.replacements))
	require.NoError(s.t, err)
	require.NotNil(s.t, r.JSON200, "%s %s", r.Status(), r.Body)
	return *f.JSON200, *r.JSON200
}

// A plant is set up with its tags, its history and its records; then models are trained, predict, and outlive kills, damage and a restore.
func TestPredictionsOfAPlant(t *testing.T) {
	t.Parallel()
	data, config := t.TempDir(), file(t, "engine.yaml", pumpSettings)
	hall := newPumpHall(t, data)
	e := start(t, known, "-config", config, "-data", data)
	s, anyone := e.admin(), e.with("")
	require.NotNil(t, s.bulk(hall.tags...).JSON200)
	equipments, err := anyone.ListEquipmentsWithResponse(t.Context())
	require.NoError(t, err)
	require.Equal(t, &[]string{"pump1", "pump2", "pump3", "pump4", "pump5", "pump6"}, equipments.JSON200)

	none, err := anyone.PredictFailureWithResponse(t.Context(), hall.worn, hall.worn+".sensor1")
	require.NoError(t, err)
	requireCode(t, http.StatusInternalServerError, "MODEL_NOT_AVAILABLE", none.StatusCode(), none.Body)
	early, err := anyone.RetrainModelWithResponse(t.Context(), "RUL")
	require.NoError(t, err)
	requireCode(t, http.StatusInternalServerError, "TRAINING_FAILED", early.StatusCode(), early.Body)
	require.Contains(t, string(early.Body), "failures")
	refused, err := anyone.AddFailuresWithBodyWithResponse(t.Context(), "text/csv", strings.NewReader(hall.failures))
	require.NoError(t, err)
	require.Equal(t, http.StatusUnauthorized, refused.StatusCode(), "who is not known changes nothing that a training learns from")

	failures, replacements := s.loadRecords(hall)
	require.Equal(t, client.RecordImport{Added: hallPumps * hallLives}, failures)
	require.Equal(t, client.RecordImport{Added: hallPumps}, replacements)
	for _, model := range []client.ModelType{"FailurePrediction", "RUL"} {
		result := anyone.retrain(model)
		require.True(t, result.Success)
		require.Equal(t, "v1", result.Version)
	}
	worn, fresh := anyone.failureOf(hall.worn, hall.worn+".sensor1"), anyone.failureOf(hall.fresh, hall.fresh+".sensor1")
	require.Greater(t, worn.FailureProbability, fresh.FailureProbability+0.5)
	require.Greater(t, anyone.lifeOf(hall.fresh, "Bearing").HealthScore, anyone.lifeOf(hall.worn, "Bearing").HealthScore+0.5)
	odd, err := anyone.DetectAnomalyWithResponse(t.Context(), hall.fresh+".sensor1")
	require.NoError(t, err)
	require.NotNil(t, odd.JSON200, "%s %s", odd.Status(), odd.Body)
	eventually(t, "health is not Healthy", func() bool { return e.health().Results["predictive"].Status == client.Healthy })

	// Operators see it without asking.
	s.good("predictive." + hall.fresh + ".Bearing.healthScore")
	s.good("predictive." + hall.worn + "." + hall.worn + ".sensor1.failureProbability")
	eventually(t, "no alarm of "+hall.worn, func() bool { return s.alarm(t, "Failure of "+hall.worn+" predicted") != nil })
	require.Nil(t, s.alarm(t, "Failure of "+hall.fresh))

	// A process that is killed or stopped while it trains leaves what was there.
	for n, end := range []func(){func() { e.kill() }, func() { e.kill() }, func() { e.stop() }} {
		s.trainUntil("FailurePrediction", float64(n)*0.3)
		end()
		e = start(t, known, "-config", config, "-data", data)
		s, anyone = e.with(s.token), e.with("")
		require.Empty(t, s.models("FailurePrediction").Damaged)
		require.Equal(t, "v1", anyone.lifeOf(hall.worn, "Bearing").ModelVersion)
		anyone.failureOf(hall.worn, hall.worn+".sensor1")
	}
	requireWholeModels(t, data)
	second := anyone.retrain("RUL")
	require.Equal(t, "v2", second.Version)
	for _, line := range []string{`otkit_predictive_trainings_total{model_type="RUL",outcome="Succeeded"} 1`, `otkit_predictive_model_rows{model_type="FailurePrediction"} `} {
		eventually(t, "metrics lack "+line, func() bool { // a scrape of a busy engine goes on without what takes long
			metrics, err := http.Get(e.url + "/metrics")
			require.NoError(t, err)
			return strings.Contains(body(t, metrics.Body), line)
		})
	}

	// A backup that is restored elsewhere predicts the same.
	archive, elsewhere := filepath.Join(t.TempDir(), "plant.backup"), filepath.Join(t.TempDir(), "data")
	run(t, nil, "", "backup", "-config", config, "-data", data, archive).ok(t)
	before := anyone.lifeOf(hall.worn, "Bearing")
	e.stop()
	run(t, nil, "", "restore", "-config", config, "-data", elsewhere, archive).ok(t)
	requireWholeModels(t, elsewhere)
	e = start(t, known, "-config", config, "-data", elsewhere)
	s, anyone = e.with(s.token), e.with("")
	after := anyone.lifeOf(hall.worn, "Bearing")
	require.Equal(t, []any{"v2", before.RulDays}, []any{after.ModelVersion, after.RulDays})
	again, _ := s.loadRecords(hall)
	require.Equal(t, client.RecordImport{Skipped: hallPumps * hallLives}, again)
	e.stop()

	// A damaged model is told, and the one before serves.
	model := filepath.Join(elsewhere, "models", "RUL_v2")
	whole, err := os.ReadFile(model)
	require.NoError(t, err)
	whole[len(whole)/2] ^= 1
	require.NoError(t, os.WriteFile(model, whole, 0o600))
	e = start(t, known, "-config", config, "-data", elsewhere)
	s, anyone = e.with(s.token), e.with("")
	require.Equal(t, "v1", anyone.lifeOf(hall.worn, "Bearing").ModelVersion)
	require.Len(t, s.models("RUL").Damaged, 1)
	var health client.HealthResult
	eventually(t, "health is not Degraded", func() bool {
		health = e.health().Results["predictive"]
		return health.Status == client.Degraded && health.Description != "the models cannot be read"
	})
	require.Equal(t, "damaged models: RUL_v2", health.Description)
}

// requireWholeModels asserts that the metadata in a data directory have their models.
func requireWholeModels(t *testing.T, data string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(data, "models", "*_v*"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		if name, isMeta := strings.CutSuffix(path, ".json"); isMeta {
			require.Contains(t, paths, name)
		}
	}
}

// requireCode asserts a status and the code of a problem.
func requireCode(t *testing.T, status int, code string, gotStatus int, body []byte) {
	t.Helper()
	require.Equal(t, status, gotStatus, "%s", body)
	require.Contains(t, string(body), fmt.Sprintf(`"code":%q`, code))
}
