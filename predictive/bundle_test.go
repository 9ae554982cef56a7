package predictive

import (
	"bytes"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/predictive/features"
	"github.com/otkit/otkit/predictive/learn"
)

var (
	trainOnce sync.Once
	models    [][]byte
)

// trained returns the bytes of a model of each type.
func trained(t testing.TB) [][]byte {
	t.Helper()
	trainOnce.Do(func() { models = train(t) })
	require.NotEmpty(t, models)
	return models
}

func train(t testing.TB) (list [][]byte) {
	t.Helper()
	s := newService(t, newFleet(t, fleetOptions{pumps: 4, lives: 4, sensors: 3, component: "Bearing"}), func(_ *Deps, o *Options) { o.Features = features.Options{Window: 5} })
	for _, modelType := range ModelTypes() {
		_, err := s.Retrain(t.Context(), modelType)
		require.NoError(t, err)
		_, data, err := s.deps.Registry.Get(t.Context(), modelType, 0)
		require.NoError(t, err)
		list = append(list, data)
	}
	return list
}

func TestBundleIsReadAsWritten(t *testing.T) {
	for _, data := range trained(t) {
		b, err := decodeBundle(data)
		require.NoError(t, err)
		again, err := b.encode()
		require.NoError(t, err)
		require.True(t, bytes.Equal(data, again))
		for _, p := range b.predictors {
			row := make([]float64, len(p.names()))
			if b.modelType == FailureModel {
				require.True(t, finite(p.probability(row)))
			} else {
				require.True(t, finite(p.hours(row)))
			}
		}
	}
}

func TestDamagedBundleIsRefused(t *testing.T) {
	for _, data := range trained(t) {
		for _, n := range []int{0, 1, 5, 9, len(data) / 2, len(data) - 1} {
			_, err := decodeBundle(data[:n])
			require.ErrorIs(t, err, learn.ErrModel)
		}
		for i := 0; i < len(data); i += 997 {
			damaged := bytes.Clone(data)
			damaged[i] ^= 0x10
			_, err := decodeBundle(damaged)
			require.ErrorIs(t, err, learn.ErrModel)
		}
	}
}

// small returns bundles of each type that are quickly read, of models of a few trees, or of a line.
func small(t testing.TB) (list [][]byte) {
	t.Helper()
	x, err := newPlainExtractor(t.Context(), []features.Signal{{Name: pooledSignal}}, features.Options{Window: 3})
	require.NoError(t, err)
	data, err := features.NewDataset(x.Names(), features.DatasetOptions{})
	require.NoError(t, err)
	const rows = 60
	var hours []float64
	for i := range rows {
		row := make([]float64, len(x.Names()))
		for j := range row {
			row[j] = float64((i * (j + 1)) % 17)
		}
		hours = append(hours, float64(i))
		require.NoError(t, data.Append(features.Group{Unit: "u"}, epoch, hours[i], row))
	}
	all := (&table{data: data}).all()
	boost, err := learn.FitClassifier(t.Context(), all, all.near(20), learn.BoostOptions{Trees: 2})
	require.NoError(t, err)
	ridge, err := learn.FitRidge(t.Context(), all, hours, learn.RidgeOptions{})
	require.NoError(t, err)
	platt, err := learn.FitPlatt(hours, all.near(20), nil)
	require.NoError(t, err)
	conformal, err := learn.FitConformal(hours, hours, learn.ConformalOptions{})
	require.NoError(t, err)
	p := predictor{key: "role", extractor: x, boost: boost, platt: platt, threshold: 0.5, domain: newDomain(all), drift: make([]*learn.Histogram, len(x.Names()))}
	p.drift[1], err = learn.NewHistogram(hours, 3)
	require.NoError(t, err)
	q := p
	q.boost, q.platt, q.ridge, q.conformal, q.limit = nil, nil, ridge, conformal, 100
	for _, b := range []bundle{{FailureModel, 20, []predictor{p}}, {RULModel, 20, []predictor{q}}} {
		data, err := b.encode()
		require.NoError(t, err)
		_, err = decodeBundle(data)
		require.NoError(t, err)
		list = append(list, data)
	}
	return list
}

// FuzzBundle checks that no bytes make the reader panic, and that what it reads can predict. The checksum is made right, or it would hide all else.
func FuzzBundle(f *testing.F) {
	for _, data := range small(f) {
		f.Add(data[:len(data)-bundleSum])
	}
	f.Add([]byte(bundleMagic + "\x01\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := decodeBundle(sealed(data))
		if err != nil {
			require.ErrorIs(t, err, learn.ErrModel)
			return
		}
		for i := range b.predictors {
			p := &b.predictors[i]
			row := make([]float64, len(p.names()))
			if b.modelType == FailureModel {
				require.True(t, finite(p.probability(row)))
			} else {
				low, high := p.interval(p.hours(row))
				require.True(t, finite(low) && finite(high))
			}
			require.True(t, finite(p.domain.factor(row)))
		}
	})
}
