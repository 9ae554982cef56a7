package learn_test

import (
	"context"
	"encoding"
	"encoding/binary"
	"hash/crc32"
	"math"
	"reflect"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/otkit/otkit/predictive/learn"
)

// model is what all models can do.
type model interface {
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}

// supervisedModels returns one of each type, fitted to few rows.
func supervisedModels(tb testing.TB) []model {
	tb.Helper()
	x, wear, failed := machines(60, 1)
	x = mat.DenseCopyOf(x.Slice(0, 60, 0, 4))
	ctx := context.Background()
	options := learn.BoostOptions{Trees: 3, MaxDepth: 3}
	regression, err := learn.FitRegression(ctx, x, wear, options)
	require.NoError(tb, err)
	classifier, err := learn.FitClassifier(ctx, x, failed, options)
	require.NoError(tb, err)
	ridge, err := learn.FitRidge(ctx, x, wear, learn.RidgeOptions{})
	require.NoError(tb, err)
	isotonic, err := learn.FitIsotonic(wear, failed)
	require.NoError(tb, err)
	platt, err := learn.FitPlatt(wear, failed, nil)
	require.NoError(tb, err)
	predicted := make([]float64, len(wear))
	for i := range predicted {
		predicted[i] = regression.Predict(x.RawRowView(i))
	}
	conformal, err := learn.FitConformal(predicted, wear, learn.ConformalOptions{MinCount: 20})
	require.NoError(tb, err)
	settings := mat.NewDense(60, 2, nil)
	for i := range 60 {
		settings.Set(i, 0, float64(i%2))
	}
	conditions, err := learn.FitConditions(ctx, settings, x, learn.ConditionsOptions{})
	require.NoError(tb, err)
	require.Equal(tb, 2, conditions.Count())
	return []model{regression, classifier, ridge, isotonic, platt, conformal, conditions}
}

// empty returns a model of the type of m without content.
func empty(m model) model { return reflect.New(reflect.TypeOf(m).Elem()).Interface().(model) }

func TestModelsAreReadAsTheyWereWritten(t *testing.T) {
	for _, m := range supervisedModels(t) {
		data, err := m.MarshalBinary()
		require.NoError(t, err)
		read := empty(m)
		require.NoError(t, read.UnmarshalBinary(data))
		require.Equal(t, m, read)
		again, err := read.MarshalBinary()
		require.NoError(t, err)
		require.Equal(t, data, again)
	}
}

// Every damaged byte and every cut is an error, which leaves the model as it was.
func TestDamagedModelsAreRefused(t *testing.T) {
	for _, m := range supervisedModels(t) {
		data, err := m.MarshalBinary()
		require.NoError(t, err)
		for i := range data {
			damaged := append([]byte(nil), data...)
			damaged[i] ^= 1 << (i % 8)
			require.ErrorIs(t, m.UnmarshalBinary(damaged), learn.ErrModel)
			require.ErrorIs(t, m.UnmarshalBinary(data[:i]), learn.ErrModel)
		}
		require.ErrorIs(t, m.UnmarshalBinary(append(data, 0)), learn.ErrModel)
		after, err := m.MarshalBinary()
		require.NoError(t, err)
		require.Equal(t, data, after)
	}
}

func TestModelsOfAnotherTypeOrVersionAreRefused(t *testing.T) {
	all := supervisedModels(t)
	ridge, err := all[2].MarshalBinary()
	require.NoError(t, err)
	require.ErrorContains(t, all[0].UnmarshalBinary(ridge), "type 2, not 1")
	later := ridge[:len(ridge)-4]
	later[5] = 9
	require.ErrorContains(t, all[2].UnmarshalBinary(sealed(later)), "version 9")
}

// sealed appends the checksum.
func sealed(content []byte) []byte {
	return binary.LittleEndian.AppendUint32(content, crc32.Checksum(content, crc32.MakeTable(crc32.Castagnoli)))
}

// Whatever the content says, reading allocates little, and what was read can be used.
func FuzzUnmarshal(f *testing.F) {
	all := supervisedModels(f)
	for k, m := range all {
		data, err := m.MarshalBinary()
		require.NoError(f, err)
		f.Add(uint8(k), data[4:len(data)-4])
	}
	f.Fuzz(func(t *testing.T, k uint8, content []byte) {
		m := empty(all[int(k)%len(all)])
		data := sealed(append([]byte("OTKL"), content...))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := m.UnmarshalBinary(data)
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20+100*len(data)))
		if err != nil {
			require.ErrorIs(t, err, learn.ErrModel)
			return
		}
		use(t, m)
		written, err := m.MarshalBinary()
		require.NoError(t, err)
		require.NoError(t, empty(m).UnmarshalBinary(written))
	})
}

// use calls what must work on any model that could be read.
func use(t *testing.T, m model) {
	t.Helper()
	switch m := m.(type) {
	case *learn.Boost:
		row := make([]float64, m.Columns())
		m.Predict(row)
		row[0] = math.NaN()
		require.Len(t, m.Contributions(row, nil), len(row))
		m.Importance()
	case *learn.Ridge:
		require.Len(t, m.Contributions(make([]float64, m.Columns()), nil), m.Columns())
	case *learn.Isotonic:
		p := m.Probability(0.5)
		require.True(t, p >= 0 && p <= 1)
	case *learn.Platt:
		m.Probability(0.5)
	case *learn.Conformal:
		low, high := m.Interval(3)
		require.LessOrEqual(t, low, high)
	case *learn.Conditions:
		means, _ := m.Scale(m.Count() - 1)
		require.Len(t, m.Normalise(m.Find(nil), means, nil), len(means))
	}
}
