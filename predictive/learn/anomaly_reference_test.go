package learn_test

import (
	"context"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/otkit/otkit/predictive/learn"
)

// anomalyReference has values of other libraries; internal/tools/reference/anomaly.py writes them.
type anomalyReference struct {
	Monitor struct {
		Train, New           [][]float64
		Components           int
		Limits, T2, Q, Index []float64
	}
	Averages struct{ Values, Mean, Deviation []float64 }
	Season   struct {
		Values, Profile []float64
		Period          int
	}
	Drift struct {
		Before, After []float64
		Psi, Ks       float64
	}
}

func readAnomalyReference(t *testing.T) (r anomalyReference) {
	t.Helper()
	text, err := os.ReadFile("testdata/anomaly.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &r))
	return r
}

func TestMonitorAgainstScikitLearn(t *testing.T) {
	r := readAnomalyReference(t).Monitor
	x := mat.NewDense(len(r.Train), len(r.Train[0]), nil)
	for i, row := range r.Train {
		x.SetRow(i, row)
	}
	p := fitPCA(t, x, learn.PCAOptions{})
	require.Equal(t, r.Components, p.Components())
	t2, q := p.Limits()
	require.InEpsilon(t, r.Limits[0], t2, 1e-8)
	require.InEpsilon(t, r.Limits[1], q, 1e-8)
	m := p.Monitor()
	for i, row := range r.New {
		s, err := m.Update(row)
		require.NoError(t, err)
		require.InEpsilon(t, r.T2[i], s.T2, 1e-7, "row %d", i)
		require.InEpsilon(t, r.Q[i], s.Q, 1e-7, "row %d", i)
		require.InEpsilon(t, r.Index[i], s.Index, 1e-7, "row %d", i)
	}
}

// Until a detector is ready, it expects its slow mean, three deviations wide.
func TestDetectorAveragesAgainstPandas(t *testing.T) {
	r := readAnomalyReference(t).Averages
	d := newTestDetector(t, learn.DetectorOptions{})
	for i, x := range r.Values {
		s := d.Update(at(i), x)
		if i > 1 {
			require.InEpsilon(t, s.Expected, r.Mean[i-1], 1e-10, "sample %d", i)
			require.InEpsilon(t, 6*r.Deviation[i-1], s.High-s.Low, 1e-9, "sample %d", i)
		}
	}
}

func TestSeasonAgainstStatsmodels(t *testing.T) {
	r := readAnomalyReference(t).Season
	times := make([]time.Time, len(r.Values))
	for i := range times {
		times[i] = at(60 * i)
	}
	s, err := learn.FindSeason(context.Background(), times, r.Values)
	require.NoError(t, err)
	require.Equal(t, time.Duration(r.Period)*time.Hour, s.Period())
	for i, want := range r.Profile {
		require.InDelta(t, want, s.At(times[i]), 0.75, "hour %d", i) // medians, not means
	}
}

func TestDriftAgainstScipy(t *testing.T) {
	r := readAnomalyReference(t).Drift
	d := compare(t, r.Before, r.After)
	require.InDelta(t, r.Psi, d.PSI, 1e-12)
	require.LessOrEqual(t, d.KS, r.Ks)
	fine, err := learn.NewHistogram(r.Before, 500)
	require.NoError(t, err)
	d, err = fine.Compare(r.After)
	require.NoError(t, err)
	require.InDelta(t, r.Ks, d.KS, 1.0/500)
}
