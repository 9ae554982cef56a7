package predictive

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/predictive/learn"
)

// A rival may know what is not newer than itself, so that it looks better there.
func TestRowsThatBothModelsHaveNotSeenDecide(t *testing.T) {
	right, wrong, healthy := learn.Confusion{TruePositives: 1}, learn.Confusion{FalseNegatives: 1}, learn.Confusion{TrueNegatives: 1}
	failure := func(own, other learn.Confusion) [2]score {
		return [2]score{{confusion: own, rows: 1}, {confusion: other, rows: 1}}
	}
	life := func(own, other float64) [2]score { return [2]score{{squares: own, rows: 1}, {squares: other, rows: 1}} }
	for _, test := range []struct {
		name       string
		t          ModelType
		old, newer [][2]score
		wins       bool
	}{
		{"failures that the rival knows", FailureModel, [][2]score{failure(wrong, right), failure(wrong, right)}, [][2]score{failure(right, wrong)}, false},
		{"nothing has failed since", FailureModel, [][2]score{failure(wrong, right)}, [][2]score{failure(healthy, healthy)}, true},
		{"nothing has failed since, and it is worse", FailureModel, [][2]score{failure(right, wrong)}, [][2]score{failure(healthy, healthy)}, false},
		{"no better", FailureModel, nil, [][2]score{failure(right, right)}, true},
		{"lives that the rival knows", RULModel, [][2]score{life(9, 1), life(9, 1)}, [][2]score{life(1, 2)}, false},
		{"no life has ended since", RULModel, [][2]score{life(9, 1)}, nil, true},
		{"it answers nothing", RULModel, nil, nil, false},
	} {
		for _, pooled := range []bool{false, true} {
			r := new(rival)
			c := &r.keys
			if pooled {
				c = &r.pooled
			}
			for _, scores := range test.old {
				c.add(false, scores)
			}
			for _, scores := range test.newer {
				c.add(true, scores)
			}
			require.Equal(t, test.wins, r.wins(test.t), test.name)
		}
	}
}

func TestRivalIsJudgedByWhatIsNewer(t *testing.T) {
	p := newFleet(t, fleetOptions{pumps: 1, lives: 9, sensors: 2, component: "Bearing"})
	end := p.now
	train := func(share float64, r *rival) *rival {
		p.now = epoch.Add(time.Duration(share * float64(end.Sub(epoch))))
		s := newService(t, p)
		b, meta, err := s.train(t.Context(), RULModel, r, func(float64, string) {})
		require.NoError(t, err)
		data, err := b.encode()
		require.NoError(t, err)
		r = newRival(meta, data, s.o.Horizon)
		require.NotNil(t, r)
		return r
	}
	for _, test := range []struct {
		before, then float64
		newer        bool
	}{{0.6, 1, true}, {1, 0.6, false}} {
		r := train(test.before, nil)
		train(test.then, r)
		require.Positive(t, r.pooled.all[1].rows)
		want := 0
		if test.newer {
			want = r.pooled.all[1].rows
		}
		require.Equal(t, want, r.pooled.later[1].rows, fmt.Sprint(test))
	}
}

// Only lives with an end tell how far a remaining life is off, and only as far as both models can tell.
func TestRivalIsJudgedAsTheModelIs(t *testing.T) {
	p := newFleet(t, fleetOptions{pumps: 1, lives: 9, sensors: 2, component: "Bearing", spares: 3})
	for n := range 3 {
		for k := range 6 {
			require.NoError(t, p.DeleteReplacement(t.Context(), fmt.Sprintf("spare%02d%d", n+1, k)))
		}
	}
	s := newService(t, p)
	train := func(r *rival) (*rival, Meta) {
		b, meta, err := s.train(t.Context(), RULModel, r, func(float64, string) {})
		require.NoError(t, err)
		data, err := b.encode()
		require.NoError(t, err)
		return newRival(meta, data, s.o.Horizon), meta
	}
	same, _ := train(nil)
	_, meta := train(same)
	require.Positive(t, meta.Metrics.UnfinishedLives)
	for _, c := range same.pooled.all {
		require.InDelta(t, *meta.Metrics.RMSE, math.Sqrt(c.squares/float64(c.rows))/24, 1e-9)
	}
	short, _ := train(nil)
	short.bundle.predictors[0].limit /= 2
	train(short)
	require.InDelta(t, short.pooled.all[1].squares, short.pooled.all[0].squares, 1e-9)
	require.Less(t, short.pooled.all[0].squares, same.pooled.all[0].squares)
}
