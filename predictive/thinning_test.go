package predictive

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/predictive/learn"
)

// TestManyHealthyPumpsLeaveTheRowsBeforeFailures has ten failures among pumps that have nearly all of the history. Thinned alike, the bounded memory of
// a training has too few rows before failures.
func TestManyHealthyPumpsLeaveTheRowsBeforeFailures(t *testing.T) {
	p := newFleet(t, fleetOptions{pumps: 10, lives: 1, sensors: 2, component: "Bearing", spares: 60})
	p.now = laterOf(p.now, epoch.Add(30*24*time.Hour))
	s := newService(t, p)
	r, err := s.Retrain(t.Context(), FailureModel)
	require.NoError(t, err, r.Message)
	meta, data, err := s.deps.Registry.Get(t.Context(), FailureModel, 0)
	require.NoError(t, err)
	m := meta.Metrics

	// All rows of the units that were held out, not thinned, tell whether the figures are honest.
	b, err := decodeFor(FailureModel, data)
	require.NoError(t, err)
	f, err := s.fleet(t.Context())
	require.NoError(t, err)
	tr := &trainer{s: s, fleet: f, bundle: bundle{modelType: FailureModel, horizon: 30}}
	members, _ := tr.failing()
	plan, err := tr.divide(t.Context(), tr.planRole(members, "sensor2"))
	require.NoError(t, err)
	model, pooled := b.find("sensor2")
	require.False(t, pooled)
	plan.extractor, plan.maxRows = model.extractor, 1_000_000
	tab, err := s.build(t.Context(), plan)
	require.NoError(t, err)
	require.Equal(t, 1, tab.data.Thinning())
	test := tab.all().only(plan.division.tests)
	var probabilities []float64
	for i := range test.rows {
		probabilities = append(probabilities, model.probability(test.Row(i)))
	}
	ece, err := learn.CalibrationError(probabilities, test.near(30), nil)
	require.NoError(t, err)
	auc, err := learn.ROCAUC(probabilities, test.near(30), nil)
	require.NoError(t, err)
	require.LessOrEqual(t, ece, 0.02)
	require.LessOrEqual(t, *m.ECE, 0.02)
	require.InDelta(t, ece, *m.ECE, 0.01)
	require.InDelta(t, auc, *m.AUC, 0.02)
	require.InEpsilon(t, len(test.rows)/2, m.TestSampleCount, 0.1, "every second row of lives that failed stands for itself, and others for as many")
	require.Greater(t, meta.Positives, 150)
}
