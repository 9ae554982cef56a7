package predictive

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFailureModel(t *testing.T) {
	p := newFleet(t, fleetOptions{pumps: 8, lives: 3, sensors: 4, component: "Bearing"})
	s := newService(t, p)
	begun := time.Now()
	result, err := s.Retrain(t.Context(), FailureModel)
	require.NoError(t, err)
	t.Logf("%+v in %s", result, time.Since(begun))
	m, err := s.Metrics(t.Context(), FailureModel, 0)
	require.NoError(t, err)
	t.Logf("%+v auc=%v ece=%v", m, *m.AUC, *m.ECE)
	for pump := range p.tags {
		f, err := s.FailurePrediction(t.Context(), pump, pump+".sensor2")
		t.Logf("%+v %v", f, err)
	}
}

func TestRULModel(t *testing.T) {
	p := newFleet(t, fleetOptions{pumps: 8, lives: 3, sensors: 4, component: "Bearing"})
	s := newService(t, p)
	begun := time.Now()
	result, err := s.Retrain(t.Context(), RULModel)
	require.NoError(t, err)
	t.Logf("%+v in %s", result, time.Since(begun))
	m, err := s.Metrics(t.Context(), RULModel, 0)
	require.NoError(t, err)
	t.Logf("%+v rmse=%v cover=%v cap=%v", m, *m.RMSE, *m.Coverage, *m.CapDays)
	for pump := range p.tags {
		f, err := s.RUL(t.Context(), pump, "Bearing")
		t.Logf("%+v %v", f, err)
	}
}
