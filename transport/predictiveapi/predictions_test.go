package predictiveapi_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/predictive"
)

var (
	pumpPath = url.PathEscape(pump)
	tagPath  = url.PathEscape(pump + ".vibration")
)

func TestEveryCallAnswers(t *testing.T) {
	p := newPlant(t, options{failures: 20})
	for _, modelType := range []string{"FailurePrediction", "RUL"} {
		v := p.post("/retrain/"+modelType, "").json(200)
		require.Equal(t, true, v["success"])
		require.Equal(t, modelType, v["modelType"])
		require.Equal(t, "v1", v["version"])
		require.NotZero(t, v["trainingSamples"])
		m := p.get("/metrics/" + modelType).json(200)
		require.Equal(t, "v1", m["version"])
		decisions := 0
		for _, n := range m["confusionMatrix"].(map[string]any) {
			decisions += int(n.(float64))
		}
		require.Equal(t, int(m["testSampleCount"].(float64)), decisions)
		require.Equal(t, modelType == "RUL", m["rmse"] != nil)
		require.Equal(t, m, p.get("/metrics/"+strings.ToLower(modelType)+"?version=v1").json(200))
	}

	v := p.get("/failure-prediction/" + pumpPath + "/" + tagPath).json(200)
	require.Equal(t, "Failure", v["prediction"], "the bearing is old")
	require.Equal(t, pump, v["equipmentId"])
	require.Equal(t, pump+".vibration", v["tagId"])
	require.Len(t, v["features"], 3)
	require.Equal(t, "v1", v["modelVersion"])

	v = p.get("/rul/" + pumpPath + "/Bearing").json(200)
	require.Zero(t, v["rulDays"])
	require.Equal(t, "Bearing", v["componentName"])
	at, err := time.Parse(time.RFC3339, v["predictedAt"].(string))
	require.NoError(t, err)
	require.Equal(t, p.now, at)

	v = p.get("/anomaly/" + tagPath).json(200)
	require.Contains(t, []any{"Low", "Medium", "High", "Critical"}, v["severity"])

	v = p.post("/anomaly/multivariate", `{"tagIds":["`+pump+`.vibration","`+pump+`.temperature"]}`).json(200)
	require.Len(t, v["tagScores"], 2)
	require.NotNil(t, v["contributingTags"], "a list is never null")

	require.JSONEq(t, `["`+pump+`"]`, p.get("/equipments").body)
	require.JSONEq(t, `["`+pump+`.temperature","`+pump+`.vibration"]`, p.get("/equipments/"+pumpPath+"/tags").body)
	require.JSONEq(t, `["Bearing"]`, p.get("/equipments/"+pumpPath+"/components").body)

	v = p.get("/models/RUL").json(200)
	require.Equal(t, true, v["models"].([]any)[0].(map[string]any)["serving"])
	require.Empty(t, v["damaged"])
}

func TestPredictionsSayWhatIsMissing(t *testing.T) {
	p := newPlant(t, options{failures: 2})
	for _, c := range []struct {
		path, code, text string
		status           int
	}{
		{"/failure-prediction/nobody/" + tagPath, "UNKNOWN_EQUIPMENT", "nobody", 400},
		{"/failure-prediction/" + pumpPath + "/nothing", "UNKNOWN_TAG", "nothing", 400},
		{"/rul/nobody/Bearing", "UNKNOWN_EQUIPMENT", "nobody", 400},
		{"/rul/" + pumpPath + "/Wing", "UNKNOWN_COMPONENT", "Wing", 400},
		{"/anomaly/nothing", "UNKNOWN_TAG", "nothing", 400},
		{"/failure-prediction/" + pumpPath + "/" + tagPath, "MODEL_NOT_AVAILABLE", "no model of type FailurePrediction has been trained", 500},
		{"/rul/" + pumpPath + "/Bearing", "MODEL_NOT_AVAILABLE", "no model of type RUL has been trained", 500},
		{"/metrics/RUL", "MODEL_NOT_FOUND", "", 404},
		{"/metrics/RUL?version=v7", "MODEL_NOT_FOUND", "", 404},
		{"/metrics/RUL?version=v0", "MODEL_VERSION", "", 400},
		{"/metrics/RUL?version=..%2Fv1", "MODEL_VERSION", "", 400},
		{"/metrics/Weather", "MODEL_TYPE", "FailurePrediction and RUL", 400},
		{"/metrics/..%2F..%2Fetc%2Fpasswd", "MODEL_TYPE", "", 400},
		{"/models/RUL_v1", "MODEL_TYPE", "", 400},
		{"/training-set/Weather", "MODEL_TYPE", "", 400},
		{"/jobs/none", "JOB_NOT_FOUND", "none", 404},
	} {
		require.Contains(t, p.get(c.path).refused(c.status, c.code), c.text, c.path)
	}
	p.wrong(http.MethodGet, "/anomaly/multivariate", "").refused(400, "UNKNOWN_TAG") // a tag may have this name
	for _, path := range []string{"/failure-prediction/%20/x", "/failure-prediction/x/%09", "/rul/%20/x", "/rul/x/%20", "/anomaly/%20", "/equipments/%20/tags", "/equipments/%C2%A0/components"} {
		require.Contains(t, p.get(path).refused(400, "INVALID_REQUEST"), "is required", path)
	}
	require.JSONEq(t, `[]`, p.get("/equipments/nobody/tags").body)
	require.JSONEq(t, `["Bearing","Motor","Gearbox","Pump","Seal"]`, p.get("/equipments/nobody/components").body)
	for body, code := range map[string]string{
		`{"tagIds":["a","b"]}`: "UNKNOWN_TAG", `{"tagIds":["a"]}`: "INVALID_REQUEST", `{}`: "INVALID_REQUEST", `{"tagIds":7}`: "INVALID_REQUEST", `{`: "INVALID_REQUEST",
	} {
		p.wrong(http.MethodPost, "/anomaly/multivariate", body).refused(400, code)
	}
}

func TestTrainingsSayWhatIsMissing(t *testing.T) {
	p := newPlant(t, options{failures: 2})
	v := p.post("/retrain/RUL", "").json(500)
	require.Equal(t, "TRAINING_FAILED", v["code"])
	require.Contains(t, v["detail"], "2 lives that ended by a failure, 5 needed")
	require.NotEmpty(t, v["traceId"], "it leads to the log")
	p.post("/retrain/Weather", "").refused(400, "MODEL_TYPE")
	p.post("/jobs", `{"modelType":"Weather"}`).refused(400, "MODEL_TYPE")
	p.wrong(http.MethodPost, "/jobs", `{}`).refused(400, "INVALID_REQUEST")
	newPlant(t, options{}).get("/training-set/RUL").refused(400, "INSUFFICIENT_DATA")

	j := p.get("/jobs").body
	require.Contains(t, j, `"state":"Failed"`)
	require.Contains(t, j, `"version":""`)
	require.Contains(t, j, `"trainedAt":null`)
}

// damaged is a registry with a damaged model.
type damaged struct{ *predictive.MemoryRegistry }

// Damaged implements predictive.Inspector.
func (damaged) Damaged(_ context.Context, modelType predictive.ModelType) ([]predictive.Damage, error) {
	return []predictive.Damage{{ModelType: modelType, Version: 9, Problem: "/secret/RUL_v9 has a wrong checksum"}}, nil
}

func TestModelsAreListedWithDamagedOnes(t *testing.T) {
	registry := damaged{new(predictive.MemoryRegistry)}
	p := newPlant(t, options{failures: 8, registry: registry})
	for range 2 {
		p.post("/retrain/RUL", "").json(200)
	}
	_, err := registry.Put(t.Context(), predictive.Meta{ModelType: predictive.RULModel}, []byte("not better than v2"))
	require.NoError(t, err)
	v := p.get("/models/rul").json(200)
	models := v["models"].([]any)
	require.Len(t, models, 3)
	worse, newest, older := models[0].(map[string]any), models[1].(map[string]any), models[2].(map[string]any)
	require.Equal(t, []any{"v3", false, false}, []any{worse["version"], worse["serving"], worse["promoted"]})
	require.Equal(t, []any{"v2", true, "v1"}, []any{newest["version"], newest["serving"], newest["parent"]})
	require.Equal(t, []any{"v1", false, nil}, []any{older["version"], older["serving"], older["parent"]})
	require.Equal(t, newest["dataHash"], older["dataHash"])
	require.Equal(t, []any{map[string]any{"version": "v9"}}, v["damaged"], "without what may name files")

	a := p.get("/training-set/RUL")
	require.Equal(t, 200, a.status)
	require.Equal(t, "text/csv; charset=utf-8", a.header.Get("Content-Type"))
	require.Contains(t, a.header.Get("Content-Disposition"), "training-set-RUL.csv")
	require.Greater(t, strings.Count(a.body, "\n"), 100)
	require.Empty(t, p.call(t.Context(), http.MethodHead, "/training-set/RUL", "").body)
}

func TestAVersionOfAModelIsRemoved(t *testing.T) {
	p := newPlant(t, options{failures: 20})
	for _, version := range []string{"v1", "v2"} {
		require.Equal(t, version, p.post("/retrain/RUL", "").json(200)["version"])
	}
	remove := func(path string) answer { return p.call(t.Context(), http.MethodDelete, path, "") }
	life := "/rul/" + pumpPath + "/Bearing"
	v := p.get(life).json(200)
	require.Equal(t, "v2", v["modelVersion"])
	require.Equal(t, p.now.Truncate(time.Hour).UTC().Format(time.RFC3339), v["sampledAt"])
	require.Equal(t, 204, remove("/models/rul/v2").status)
	require.Equal(t, "v1", p.get(life).json(200)["modelVersion"], "the one before serves")
	remove("/models/RUL/v2").refused(404, "MODEL_NOT_FOUND")
	remove("/models/RUL/newest").refused(400, "MODEL_VERSION")
	remove("/models/weather/v1").refused(400, "MODEL_TYPE")
	require.Equal(t, 204, remove("/models/RUL/1").status)
	p.get(life).refused(500, "MODEL_NOT_AVAILABLE")
	require.Equal(t, "v3", p.post("/retrain/RUL", "").json(200)["version"])
}
