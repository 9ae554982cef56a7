package main_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const predictions = "/api/v1.0/predictive-maintenance/"

// withPumps puts the pumps of the demo back.
const withPumps = "Predictive__ExcludeDrivers="

// answer calls without a token and decodes what is answered.
func (e *engine) answer(method, path, body string) (status int, answer any) {
	e.t.Helper()
	request, err := http.NewRequestWithContext(e.t.Context(), method, e.url+predictions+path, strings.NewReader(body))
	require.NoError(e.t, err)
	request.Header.Set("Content-Type", "application/json")
	got, err := http.DefaultClient.Do(request)
	require.NoError(e.t, err)
	defer got.Body.Close()
	require.NoError(e.t, json.NewDecoder(got.Body).Decode(&answer), path)
	return got.StatusCode, answer
}

func TestDemoPredicts(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	e := start(t, with(known, []string{withPumps}), "-demo", "-data", data)
	eventually(t, "the first models are not trained", func() bool {
		failure, _ := e.answer(http.MethodGet, "metrics/FailurePrediction", "")
		life, _ := e.answer(http.MethodGet, "metrics/RUL", "")
		return failure == http.StatusOK && life == http.StatusOK
	})
	status, equipments := e.answer(http.MethodGet, "equipments", "")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, []any{"pump1", "pump2", "pump3", "pump4", "pump5", "pump6"}, equipments)
	// One pump or another may be under repair.
	answering := slices.IndexFunc(equipments.([]any), func(id any) bool {
		pump := id.(string)
		_, tags := e.answer(http.MethodGet, "equipments/"+pump+"/tags", "")
		require.Len(t, tags, 4)
		_, components := e.answer(http.MethodGet, "equipments/"+pump+"/components", "")
		require.Equal(t, []any{"Bearing", "Seal"}, components)
		for _, path := range []string{"failure-prediction/" + pump + "/" + pump + ".vibration", "rul/" + pump + "/Bearing", "rul/" + pump + "/Seal",
			"anomaly/" + pump + ".temperature"} {
			if status, answer := e.answer(http.MethodGet, path, ""); status != http.StatusOK {
				require.Equal(t, "INSUFFICIENT_DATA", answer.(map[string]any)["code"], "%s: %v", path, answer)
				return false
			}
		}
		status, answer := e.answer(http.MethodPost, "anomaly/multivariate", `{"tagIds":["`+pump+`.vibration","`+pump+`.flow"]}`)
		require.Equal(t, http.StatusOK, status, "%v", answer)
		return true
	})
	require.GreaterOrEqual(t, answering, 0)
	status, _ = e.answer(http.MethodGet, "anomaly/sim.temperature", "")
	require.Equal(t, http.StatusOK, status, "a tag of what is no equipment")
	status, trained := e.answer(http.MethodPost, "retrain/RUL", "")
	require.Equal(t, http.StatusOK, status, "%v", trained)
	require.Equal(t, "v2", trained.(map[string]any)["version"])
	failures := failuresOf(e.admin())
	require.Greater(t, failures, 20)
	e.stop()

	e = start(t, with(known, []string{withPumps}), "-demo", "-data", data)
	status, metrics := e.answer(http.MethodGet, "metrics/RUL", "")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "v2", metrics.(map[string]any)["version"], "what is there is not trained again")
	_, jobs := e.answer(http.MethodGet, "jobs", "")
	require.Empty(t, jobs)
	require.InDelta(t, failures, failuresOf(e.admin()), 1, "a pump may have failed meanwhile")
}

func failuresOf(s *session) int {
	s.t.Helper()
	answer, err := s.ListFailuresWithResponse(s.t.Context(), nil)
	require.NoError(s.t, err)
	require.NotNil(s.t, answer.JSON200, "%s %s", answer.Status(), answer.Body)
	return answer.JSON200.TotalCount
}
