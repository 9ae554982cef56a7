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

// FuzzBundle checks that no bytes make the reader panic, and that what it reads can predict. The checksum is made right, or it would hide all else.
func FuzzBundle(f *testing.F) {
	for _, data := range trained(f) {
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
