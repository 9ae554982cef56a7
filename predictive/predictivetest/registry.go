package predictivetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/predictive"
)

// TestRegistry runs the suite. newRegistry returns an empty registry that keeps at least 20 versions of each type; it is called for each test.
func TestRegistry(t *testing.T, newRegistry func(t testing.TB) predictive.Registry) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, r predictive.Registry)
	}{
		{"models", testModels},
		{"the default", testDefault},
		{"deleted versions", testDeletedVersions},
		{"concurrent puts", testConcurrentPuts},
		{"what is refused", testRefused},
		{"callers own their slices", testSlices},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, newRegistry(t)) })
	}
}

// meta returns metadata with something in every member that the caller sets.
func meta(t predictive.ModelType) predictive.Meta {
	rmse := 11.5
	return predictive.Meta{ModelType: t, Kind: predictive.KindBundle, TrainedAt: start, Seed: 1<<64 - 1, ExtractorVersion: "1",
		Features: []string{"vibration <mean>", "\"age\"\u2028"}, Samples: 1000, Positives: 20, Units: 3, Lives: 17, From: start.Add(-time.Hour), To: start,
		DataHash: "ab", Threshold: 0.25, Horizon: 168 * time.Hour, Library: "dev", Parent: 4, Default: true,
		Metrics: predictive.Metrics{ModelType: t, Version: 1, TrainedAt: start, TestSampleCount: 4, Accuracy: 0.75,
			ConfusionMatrix: predictive.ConfusionMatrix{TruePositive: 1, TrueNegative: 2, FalsePositive: 1}, RMSE: &rmse,
			Drift: []predictive.FeatureDrift{{Feature: "a", PSI: 0.1}}}}
}

// stored returns the metadata of a model that was put.
func stored(m predictive.Meta, version int, model []byte) predictive.Meta {
	sum := sha256.Sum256(model)
	m.Version, m.SHA256, m.Size = version, hex.EncodeToString(sum[:]), len(model)
	return m
}

func put(t *testing.T, r predictive.Registry, m predictive.Meta, model []byte) int {
	t.Helper()
	version, err := r.Put(t.Context(), m, model)
	require.NoError(t, err)
	return version
}

func versions(t *testing.T, r predictive.Registry, kind predictive.ModelType) (list []int) {
	t.Helper()
	all, err := r.List(t.Context(), kind)
	require.NoError(t, err)
	for _, m := range all {
		list = append(list, m.Version)
	}
	return list
}

func testModels(t *testing.T, r predictive.Registry) {
	for _, kind := range predictive.ModelTypes() {
		require.Empty(t, versions(t, r, kind))
		_, _, err := r.Get(t.Context(), kind, 0)
		require.ErrorIs(t, err, predictive.ErrModelNotFound)
		_, _, err = r.Get(t.Context(), kind, 1)
		require.ErrorIs(t, err, predictive.ErrModelNotFound)
	}
	large := bytes.Repeat([]byte{0, 1, 2, 255}, 100_000)
	for i, model := range [][]byte{[]byte("first\r\n"), large} { // each type counts for itself
		for _, kind := range predictive.ModelTypes() {
			require.Equal(t, i+1, put(t, r, meta(kind), model))
		}
	}
	for _, kind := range predictive.ModelTypes() {
		want := []predictive.Meta{stored(meta(kind), 2, large), stored(meta(kind), 1, []byte("first\r\n"))}
		all, err := r.List(t.Context(), kind)
		require.NoError(t, err)
		require.Equal(t, want, all)
		m, model, err := r.Get(t.Context(), kind, 1)
		require.NoError(t, err)
		require.Equal(t, want[1], m)
		require.Equal(t, "first\r\n", string(model))
		for _, version := range []int{0, 2} {
			m, model, err := r.Get(t.Context(), kind, version)
			require.NoError(t, err)
			require.Equal(t, want[0], m)
			require.True(t, bytes.Equal(large, model))
		}
	}
	for range 9 {
		put(t, r, meta(predictive.RULModel), []byte("x"))
	}
	m, _, err := r.Get(t.Context(), predictive.RULModel, 0)
	require.NoError(t, err)
	require.Equal(t, 11, m.Version, "versions are numbers, and no texts")
}

func testDefault(t *testing.T, r predictive.Registry) {
	serves := func(want int) {
		t.Helper()
		m, _, err := r.Get(t.Context(), predictive.RULModel, 0)
		require.NoError(t, err)
		require.Equal(t, want, m.Version)
	}
	m := meta(predictive.RULModel)
	for version, promoted := range []bool{false, true, false, true, false} {
		m.Default = promoted
		require.Equal(t, version+1, put(t, r, m, []byte("x")))
		serves([]int{1, 2, 2, 4, 4}[version])
	}
	require.Equal(t, []int{5, 4, 3, 2, 1}, versions(t, r, predictive.RULModel))
	require.NoError(t, r.Delete(t.Context(), predictive.RULModel, 4))
	serves(2)
	require.NoError(t, r.Delete(t.Context(), predictive.RULModel, 2))
	serves(5)
}

func testDeletedVersions(t *testing.T, r predictive.Registry) {
	m := meta(predictive.FailureModel)
	for range 3 {
		put(t, r, m, []byte("x"))
	}
	require.NoError(t, r.Delete(t.Context(), predictive.FailureModel, 3))
	require.NoError(t, r.Delete(t.Context(), predictive.FailureModel, 1))
	require.ErrorIs(t, r.Delete(t.Context(), predictive.FailureModel, 3), predictive.ErrModelNotFound)
	_, _, err := r.Get(t.Context(), predictive.FailureModel, 3)
	require.ErrorIs(t, err, predictive.ErrModelNotFound)
	require.Equal(t, []int{2}, versions(t, r, predictive.FailureModel))
	require.Equal(t, 4, put(t, r, m, []byte("x")), "versions are not used again")
	require.NoError(t, r.Delete(t.Context(), predictive.FailureModel, 4))
	require.NoError(t, r.Delete(t.Context(), predictive.FailureModel, 2))
	_, _, err = r.Get(t.Context(), predictive.FailureModel, 0)
	require.ErrorIs(t, err, predictive.ErrModelNotFound)
	require.Equal(t, 5, put(t, r, m, []byte("x")))
}

func testConcurrentPuts(t *testing.T, r predictive.Registry) {
	got, errs := make([]int, 8), make([]error, 8)
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() {
			m := meta(predictive.RULModel)
			m.Samples = i
			got[i], errs[i] = r.Put(t.Context(), m, []byte{byte(i)})
			_, _, _ = r.Get(t.Context(), predictive.RULModel, 0)
		})
	}
	wg.Wait()
	for i, version := range got {
		require.NoError(t, errs[i])
		m, model, err := r.Get(t.Context(), predictive.RULModel, version)
		require.NoError(t, err)
		require.Equal(t, i, m.Samples)
		require.Equal(t, []byte{byte(i)}, model)
	}
	slices.Sort(got)
	require.Equal(t, []int{1, 2, 3, 4, 5, 6, 7, 8}, got)
}

func testRefused(t *testing.T, r predictive.Registry) {
	put(t, r, meta(predictive.RULModel), []byte("x"))
	for _, kind := range []predictive.ModelType{"", "rul", "Anomaly", "../RUL", "RUL/", "RUL\x00", `..\RUL`, "RUL_v1", "."} {
		_, err := r.Put(t.Context(), meta(kind), []byte("x"))
		require.ErrorIs(t, err, predictive.ErrModelType, "%q", kind)
		_, _, err = r.Get(t.Context(), kind, 1)
		require.ErrorIs(t, err, predictive.ErrModelType, "%q", kind)
		_, err = r.List(t.Context(), kind)
		require.ErrorIs(t, err, predictive.ErrModelType, "%q", kind)
		require.ErrorIs(t, r.Delete(t.Context(), kind, 1), predictive.ErrModelType, "%q", kind)
	}
	_, _, err := r.Get(t.Context(), predictive.RULModel, -1)
	require.ErrorIs(t, err, predictive.ErrModelVersion)
	require.ErrorIs(t, r.Delete(t.Context(), predictive.RULModel, -1), predictive.ErrModelVersion)
	require.ErrorIs(t, r.Delete(t.Context(), predictive.RULModel, 0), predictive.ErrModelNotFound)
	_, err = r.Put(t.Context(), meta(predictive.RULModel), nil)
	require.Error(t, err)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = r.Put(ctx, meta(predictive.RULModel), []byte("x"))
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, r.Delete(ctx, predictive.RULModel, 1), context.Canceled)
	require.Equal(t, []int{1}, versions(t, r, predictive.RULModel))
}

func testSlices(t *testing.T, r predictive.Registry) {
	m, model := meta(predictive.RULModel), []byte("model")
	put(t, r, m, model)
	m.Features[0], model[0] = "changed", 'x'
	_, got, err := r.Get(t.Context(), predictive.RULModel, 0)
	require.NoError(t, err)
	got[0] = 'y'
	n, got, err := r.Get(t.Context(), predictive.RULModel, 0)
	require.NoError(t, err)
	require.Equal(t, "model", string(got))
	require.Equal(t, meta(predictive.RULModel).Features, n.Features)
}
