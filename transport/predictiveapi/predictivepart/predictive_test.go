package predictivepart_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/predictiveapi/predictivepart"
	"github.com/otkit/otkit/transport/server"
)

// serve returns a server with the part alone, over a history without samples.
func serve(t *testing.T, o predictivepart.Options) (*predictivepart.Predictive, *server.Server) {
	t.Helper()
	o.History, o.Inventory, o.WithoutMonitor = historian{}, predictive.DriverInventory(plant), true
	part, err := predictivepart.New(t.Context(), nil, nil, o)
	require.NoError(t, err)
	s, err := server.New(t.Context(), server.Options{Authenticator: auth.AuthenticatorFunc(anyone)}, part.Part())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.Background())) })
	s.Start()
	return part, s
}

func ask(s *server.Server, method, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest(method, path, http.NoBody))
	return w
}

type checked struct {
	Status, Description string
	Data                map[string]string
}

func healthOf(t *testing.T, s *server.Server) checked {
	t.Helper()
	var health struct{ Results map[string]checked }
	require.NoError(t, json.Unmarshal(ask(s, http.MethodGet, "/health").Body.Bytes(), &health))
	return health.Results["predictive"]
}

func putModel(t *testing.T, r predictive.Registry) {
	t.Helper()
	_, err := r.Put(t.Context(), predictive.Meta{ModelType: predictive.RULModel, Kind: "test", Default: true, Samples: 12}, []byte("model"))
	require.NoError(t, err)
}

func TestADamagedModelIsTold(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "models")
	part, s := serve(t, predictivepart.Options{ModelDir: dir})
	require.Equal(t, checked{Status: "Healthy", Description: "no model is damaged", Data: map[string]string{}}, healthOf(t, s))
	putModel(t, part.Registry())
	putModel(t, part.Registry())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "RUL_v2"), []byte("mudel"), 0o600))
	_, s = serve(t, predictivepart.Options{ModelDir: dir})
	h := healthOf(t, s)
	require.Equal(t, "Degraded", h.Status)
	require.Equal(t, "damaged models: RUL_v2", h.Description)
	require.Contains(t, ask(s, http.MethodGet, "/metrics").Body.String(), "\notkit_predictive_model_rows{model_type=\"RUL\"} 12\n")
}

func TestATrainingThatFailedIsNoFault(t *testing.T) {
	_, s := serve(t, predictivepart.Options{})
	require.Equal(t, http.StatusInternalServerError, ask(s, http.MethodPost, "/api/v1.0/predictive-maintenance/retrain/RUL").Code)
	h := healthOf(t, s)
	require.Equal(t, "Healthy", h.Status)
	require.Equal(t, map[string]string{"lastTrainingOfRUL": "Failed"}, h.Data)
	require.Contains(t, ask(s, http.MethodGet, "/metrics").Body.String(), "\notkit_predictive_trainings_total{model_type=\"RUL\",outcome=\"Failed\"} 1\n")
}

func TestAnswersAreCounted(t *testing.T) {
	var told []predictive.Answer
	_, s := serve(t, predictivepart.Options{Service: predictive.Options{OnAnswer: func(a predictive.Answer) { told = append(told, a) }}})
	const base = "/api/v1.0/predictive-maintenance"
	require.Equal(t, http.StatusBadRequest, ask(s, http.MethodGet, base+"/anomaly/pump1.vibration").Code)
	require.Equal(t, http.StatusBadRequest, ask(s, http.MethodGet, base+"/anomaly/nothing").Code)
	require.Equal(t, http.StatusInternalServerError, ask(s, http.MethodGet, base+"/failure-prediction/pump1/pump1.vibration").Code)
	page := ask(s, http.MethodGet, "/metrics").Body.String()
	for _, line := range []string{`{call="Anomaly",outcome="INSUFFICIENT_DATA"} 1`, `{call="Anomaly",outcome="UNKNOWN_TAG"} 1`, `{call="Anomaly",outcome="Positive"} 0`,
		`{call="FailurePrediction",outcome="MODEL_NOT_AVAILABLE"} 1`} {
		require.Contains(t, page, "\notkit_predictive_answers_total"+line+"\n")
	}
	require.Contains(t, page, "\notkit_predictive_answer_seconds_count{call=\"Anomaly\"} 2\n")
	require.Len(t, told, 3)
}

func TestADamagedModelThatIsRemovedIsForgotten(t *testing.T) {
	dir, now := filepath.Join(t.TempDir(), "models"), time.Now()
	part, s := serve(t, predictivepart.Options{ModelDir: dir, Now: func() time.Time { return now }})
	for range 4 {
		putModel(t, part.Registry())
	}
	for _, name := range []string{"RUL_v2", "RUL_v3"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("mudel"), 0o600))
	}
	require.Equal(t, "damaged models: RUL_v3, RUL_v2", healthOf(t, s).Description)
	require.Equal(t, http.StatusForbidden, ask(s, http.MethodDelete, "/api/v1.0/predictive-maintenance/models/RUL/v3").Code, "by an operator")
	require.NoError(t, part.Service().DeleteModel(t.Context(), predictive.RULModel, 3))
	now = now.Add(15 * time.Second)
	require.Equal(t, "damaged models: RUL_v2", healthOf(t, s).Description)
	for _, name := range []string{"RUL_v2", "RUL_v2.json"} { // by hand
		require.NoError(t, os.Remove(filepath.Join(dir, name)))
	}
	now = now.Add(15 * time.Second)
	require.Equal(t, "Healthy", healthOf(t, s).Status)
}
