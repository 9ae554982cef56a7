package main_test

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/realtest"
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
	curl := realtest.Need(t, "curl")
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
	e.followPage(curl)
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

// followPage runs the commands of docs/predictive.md.
func (e *engine) followPage(curl string) {
	e.t.Helper()
	page, err := os.ReadFile(repository + "/docs/predictive.md")
	require.NoError(e.t, err)
	var script strings.Builder
	for i, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllSubmatch(page, -1) {
		if i > 0 { // the first one starts the engine
			script.Write(block[1])
		}
	}
	cmd := exec.CommandContext(e.t.Context(), "sh", "-c", strings.NewReplacer("localhost:5001", e.addr, "curl ", curl+" ").Replace(script.String()))
	cmd.Dir = e.t.TempDir()
	out, err := cmd.CombinedOutput()
	require.NoError(e.t, err, "%s", out)
	for _, code := range regexp.MustCompile(`"code":"([A-Z_]+)"`).FindAllSubmatch(out, -1) {
		require.Equal(e.t, "INSUFFICIENT_DATA", string(code[1]), "only a pump under repair has no prediction: %s", out)
	}
	require.Contains(e.t, string(out), `"version":"v2"`)
	require.Regexp(e.t, `\{"added":0,"skipped":\d\d+\}\n$`, string(out))
}

func failuresOf(s *session) int {
	s.t.Helper()
	answer, err := s.ListFailuresWithResponse(s.t.Context(), nil)
	require.NoError(s.t, err)
	require.NotNil(s.t, answer.JSON200, "%s %s", answer.Status(), answer.Body)
	return answer.JSON200.TotalCount
}
