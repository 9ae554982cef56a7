package demo

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/history"
	"github.com/otkit/otkit/transport/predictiveapi/predictivepart"
)

// pastOf is a predictive.History of a history store.
type pastOf struct{ history.Store }

func (h pastOf) Samples(ctx context.Context, tag string, from, to time.Time) iter.Seq2[predictive.Sample, error] {
	return func(yield func(predictive.Sample, error) bool) {
		for s, err := range h.Range(ctx, tag, from, to) {
			v, _ := s.Value.Float()
			if !yield(predictive.Sample{Time: s.Time, Value: v}, err) {
				return
			}
		}
	}
}

// The past of the demo trains models that tell which pump fails next. Nothing is an anomaly just because the plant goes on, read more often.
func TestTheDemoCanBePredicted(t *testing.T) {
	now := noon
	store, records := history.NewMemory(), new(predictive.MemoryRecords)
	_, err := fillPumpHistory(t.Context(), allPumps(), store, noon)
	require.NoError(t, err)
	_, err = addPumpRecords(t.Context(), allPumps(), records, noon)
	require.NoError(t, err)
	var o predictivepart.Options
	setPredictions(&o)
	o.Service.Clock = func() time.Time { return now }
	s, err := predictive.New(predictive.Deps{History: pastOf{store}, Records: records, Registry: new(predictive.MemoryRegistry),
		Inventory: predictive.DriverInventory(func(context.Context) (list []predictive.DriverTag, err error) {
			for _, p := range allPumps() {
				for _, tag := range p.tags() {
					list = append(list, predictive.DriverTag{ID: tag.Name, DriverID: tag.Driver, Unit: tag.Unit})
				}
			}
			return list, nil
		})}, o.Service)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.Background())) })
	for _, modelType := range predictive.ModelTypes() {
		training, err := s.Retrain(t.Context(), modelType)
		require.NoError(t, err)
		require.True(t, training.Success)
		require.Greater(t, training.F1Score, 0.6, modelType)
	}
	for range 3 { // hours in which the plant is read each minute
		for range 60 {
			now = now.Add(pumpInterval)
			for _, p := range allPumps() {
				var batch []history.Sample
				for i, tag := range p.tags() {
					batch = append(batch, history.Sample{Tag: tag.Name, Time: now, Value: tags.FloatValue(p.at(i, now)), Quality: tags.Good})
				}
				require.NoError(t, store.Append(t.Context(), batch))
			}
		}
	}
	for _, modelType := range predictive.ModelTypes() {
		m, err := s.Metrics(t.Context(), modelType, 0)
		require.NoError(t, err)
		require.NotEmpty(t, m.Drift)
		require.Less(t, m.Drift[0].PSI, 0.25, "%s of %s: nothing has changed", m.Drift[0].Feature, modelType)
	}
	anomalies, failing := 0, 0
	for _, p := range allPumps() {
		var ids []string
		for _, tag := range p.tags() {
			a, err := s.Anomaly(t.Context(), tag.Name)
			require.NoError(t, err)
			if a.IsAnomaly {
				anomalies++
			}
			failure, err := s.FailurePrediction(t.Context(), p.id(), tag.Name)
			require.NoError(t, err)
			if _, next := p.ends(bearing, now); tag.Address == "vibration" {
				left := next.at.Sub(now).Hours()
				require.True(t, left > 12 || failure.FailureProbability > 0.6, "the bearing of %s fails in %.0f hours: %v", p.id(), left, failure.FailureProbability)
				require.True(t, left < 36 || failure.FailureProbability < 0.6, "the bearing of %s fails in %.0f hours: %v", p.id(), left, failure.FailureProbability)
			}
			ids = append(ids, tag.Name)
		}
		_, err := s.Multivariate(t.Context(), ids)
		require.NoError(t, err)
		for _, w := range []wearPart{bearing, seal} {
			life, err := s.RUL(t.Context(), p.id(), w.component)
			require.NoError(t, err)
			_, next := p.ends(w, now)
			if left := next.at.Sub(now).Hours() / 24; next.failed && left < 1 {
				require.Less(t, life.LowDays, 1.5, "%s of %s ends in %.1f days", w.component, p.id(), left)
				failing++
			} else if left > 3 {
				require.Greater(t, life.HighDays, 2., "%s of %s ends in %.1f days", w.component, p.id(), left)
			}
		}
	}
	require.Positive(t, failing)
	require.LessOrEqual(t, anomalies, 1)
}
