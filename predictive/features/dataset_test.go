package features

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/predictive/learn"
)

// dataset has lives of 40 hours of several units, one after the other per unit and each unit 25 hours after the one before.
func dataset(t *testing.T, units, lives int, o DatasetOptions) *Dataset {
	t.Helper()
	d, err := NewDataset([]string{"a", "b"}, o)
	require.NoError(t, err)
	for u := range units {
		for life := range lives {
			for h := range 40 {
				at := hour(float64(25*u + 50*life + h))
				require.NoError(t, d.Append(Group{fmt.Sprint("u", u), life}, at, float64(39-h), []float64{float64(u), float64(h)}))
			}
		}
	}
	return d
}

// groups returns the lives and units of rows.
func groups(v View) (lives map[Group]int, units map[string]bool) {
	lives, units = make(map[Group]int), make(map[string]bool)
	rows, _ := v.Dims()
	for i := range rows {
		lives[v.Group(i)]++
		units[v.Group(i).Unit] = true
	}
	return lives, units
}

func TestFoldsDivideByUnits(t *testing.T) {
	d := dataset(t, 7, 3, DatasetOptions{})
	folds, err := d.All().Folds(3, 1)
	require.NoError(t, err)
	tested := make(map[Group]int)
	for _, fold := range folds {
		_, train := groups(fold.Train)
		lives, test := groups(fold.Test)
		for unit := range test {
			require.False(t, train[unit], unit)
		}
		require.Len(t, train, 7-len(test))
		for life, rows := range lives {
			tested[life] += rows
		}
	}
	require.Len(t, tested, 21)
	for life, rows := range tested {
		require.Equal(t, 40, rows, life)
	}
	_, err = d.All().Folds(8, 1)
	require.ErrorIs(t, err, learn.ErrData)
	_, err = d.All().Folds(1, 1)
	require.Error(t, err)
}

func TestHoldOutDividesByUnits(t *testing.T) {
	d := dataset(t, 10, 2, DatasetOptions{})
	fold, err := d.All().HoldOut(0.25, 1)
	require.NoError(t, err)
	_, train := groups(fold.Train)
	_, test := groups(fold.Test)
	require.Len(t, train, 7)
	require.Len(t, test, 3)
	for unit := range test {
		require.False(t, train[unit])
	}
	again, err := d.All().HoldOut(0.25, 1)
	require.NoError(t, err)
	require.Equal(t, fold, again)
	other, err := d.All().HoldOut(0.25, 2)
	require.NoError(t, err)
	require.NotEqual(t, fold, other)
	_, err = dataset(t, 1, 3, DatasetOptions{}).All().HoldOut(0.25, 1)
	require.ErrorIs(t, err, learn.ErrData)
	for _, share := range []float64{0, 1, -1, math.NaN()} {
		_, err = d.All().HoldOut(share, 1)
		require.Error(t, err)
	}
}

func TestLaterKeepsTheFutureOutOfTraining(t *testing.T) {
	d := dataset(t, 3, 5, DatasetOptions{})
	cut, err := d.All().Cut(0.3)
	require.NoError(t, err)
	fold := d.All().Later(cut)
	rows, _ := fold.Train.Dims()
	require.NotZero(t, rows)
	for i := range rows {
		require.True(t, fold.Train.Time(i).Before(cut))
	}
	rows, _ = fold.Test.Dims()
	require.NotZero(t, rows)
	for i := range rows {
		require.False(t, fold.Test.Time(i).Before(cut))
	}
	train, _ := groups(fold.Train)
	test, _ := groups(fold.Test)
	require.InDelta(t, 0.3*15, len(test), 2)
	for _, lives := range []map[Group]int{train, test} {
		for life, rows := range lives {
			require.Equal(t, 40, rows, "whole lives: %v", life)
		}
	}
	_, err = dataset(t, 1, 1, DatasetOptions{}).All().Cut(0.3)
	require.ErrorIs(t, err, learn.ErrData)
}

func TestThinningBoundsRowsAndSpreadsThem(t *testing.T) {
	d := dataset(t, 20, 4, DatasetOptions{MaxRows: 500})
	rows, _ := d.All().Dims()
	require.LessOrEqual(t, rows, 500)
	require.Equal(t, 8, d.Thinning())
	lives, _ := groups(d.All())
	require.Len(t, lives, 80)
	phases := make(map[int]bool)
	for i := range rows {
		v := d.All()
		require.InDelta(t, 39-v.At(i, 1), v.Label(i), 0, "a row keeps its label")
		require.Equal(t, fmt.Sprint("u", v.At(i, 0)), v.Group(i).Unit)
		phases[int(v.At(i, 1))%8] = true
	}
	require.Len(t, phases, 8, "lives keep different moments")
	for life, rows := range lives {
		require.Equal(t, 5, rows, life)
	}
	require.LessOrEqual(t, len(d.blocks), 1)
}

func TestRowsThatCannotBeLearnedFromAreRefused(t *testing.T) {
	d, err := NewDataset([]string{"a"}, DatasetOptions{})
	require.NoError(t, err)
	require.ErrorIs(t, d.Append(Group{}, day, 1, nil), learn.ErrData)
	require.ErrorIs(t, d.Append(Group{}, day, math.NaN(), []float64{1}), learn.ErrData)
	require.ErrorIs(t, d.Append(Group{}, time.Time{}, 1, []float64{1}), learn.ErrData)
	require.NoError(t, d.Append(Group{}, day, 1, []float64{math.NaN()}))
	_, err = NewDataset(nil, DatasetOptions{})
	require.Error(t, err)
	_, err = NewDataset([]string{"a"}, DatasetOptions{MaxRows: -1})
	require.Error(t, err)
}

func TestCSVHasEveryRow(t *testing.T) {
	d, err := NewDataset([]string{"p.mean", "age"}, DatasetOptions{})
	require.NoError(t, err)
	require.NoError(t, d.Append(Group{"pump, 1", 2}, hour(1.5), 7, []float64{0.1, 1.5}))
	require.NoError(t, d.Append(Group{"pump, 1", 2}, hour(2), 6.5, []float64{math.NaN(), 2}))
	var out bytes.Buffer
	require.NoError(t, d.WriteCSV(&out))
	require.Equal(t, "unit,life,time,label,p.mean,age\n"+
		"\"pump, 1\",2,2026-03-01T01:30:00Z,7,0.1,1.5\n"+
		"\"pump, 1\",2,2026-03-01T02:00:00Z,6.5,,2\n", out.String())
}

func TestViewIsWhatWasAppended(t *testing.T) {
	d := dataset(t, 40, 1, DatasetOptions{}) // more than a block
	v := d.All()
	rows, cols := v.Dims()
	require.Equal(t, []int{1600, 2}, []int{rows, cols})
	for i := range rows {
		require.Equal(t, []float64{float64(i / 40), float64(i % 40)}, slices.Clone(v.Row(i)))
	}
	require.InDelta(t, 39, v.Labels()[40], 0)
	require.True(t, v.Time(41).Equal(hour(26)))
}

// TestRowsOfSomeLivesAreDroppedFirst has few lives among many that matter less.
func TestRowsOfSomeLivesAreDroppedFirst(t *testing.T) {
	for _, c := range []struct{ maxRows, kept, others, weight int }{{10_000, 40, 40, 1}, {500, 40, 10, 4}, {150, 20, 2, 8}} {
		d := dataset(t, 20, 2, DatasetOptions{MaxRows: c.maxRows, First: func(g Group) bool { return g.Unit != "u7" }})
		v := d.All()
		rows, _ := v.Dims()
		require.LessOrEqual(t, rows, c.maxRows)
		lives, _ := groups(v)
		common := make(map[Group]int)
		for i := range rows {
			if v.Common(i) {
				common[v.Group(i)]++
			}
			weight := c.weight
			if v.Group(i).Unit == "u7" {
				weight = 1
			}
			require.InDelta(t, weight, v.Weight(i), 0)
		}
		for life, n := range lives {
			want := c.others
			if life.Unit == "u7" {
				want = c.kept
			}
			require.InDelta(t, want, n, 1, "%v %v", c, life)
			require.InDelta(t, c.others, common[life], 1, "%v %v", c, life)
		}
		require.Equal(t, 40/c.kept, d.Thinning())
	}
}
