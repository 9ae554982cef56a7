package predictive

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	"github.com/otkit/otkit/predictive/features"
	"github.com/otkit/otkit/predictive/learn"
)

// minRows is how many rows a training needs, for a probability in each class.
const minRows = 40

// lesson is what a predictor is fitted to.
type lesson struct {
	table       *table
	minFailures int
	horizon     float64 // hours
	limit       float64 // hours, the longest remaining life
	seed        uint64
	// step is called after each of the fits, of which there are at most maxFolds and one more.
	step func()
}

// options leave a processor to the rest of the program.
func (l lesson) options(rows subset) learn.BoostOptions {
	return learn.BoostOptions{Seed: l.seed, Workers: max(runtime.GOMAXPROCS(0)-1, 1), Weights: rows.weights()}
}

// divided is a lesson's data, once it has enough.
type divided struct {
	train, test subset
	how         string
	evaluation  evaluation // of the predictor
}

func (l lesson) divide() divided {
	d, all := l.table.division, l.table.all()
	return divided{train: all.only(d.trains), test: all.only(d.tests), how: d.how}
}

// fitFailure returns a predictor of failures within the horizon, and the data with how well it predicts the test.
func (l lesson) fitFailure(ctx context.Context) (predictor, divided, error) {
	p := predictor{extractor: l.table.extractor}
	d := l.divide()
	positive := d.train.near(l.horizon)
	if yes, no := countTrue(positive); yes < minRows || no < minRows {
		thinned := ""
		if n := l.table.data.Thinning(); n > 1 {
			thinned = fmt.Sprintf("; one of %d rows is used, to bound the memory", n)
		}
		return p, d, tooLittle("%d rows with and %d rows without a failure within %.4g hours, %d of each needed%s", yes, no, l.horizon, minRows, thinned)
	}
	var scores []float64 // of models that have not seen the row
	var seen []bool
	var weights []float64
	for _, f := range d.train.folds(l.seed, l.table.unit) {
		near := f.train.near(l.horizon)
		if yes, no := countTrue(near); yes == 0 || no == 0 {
			continue
		}
		m, err := learn.FitClassifier(ctx, f.train, near, l.options(f.train))
		if err != nil {
			return p, d, err
		}
		for i := range f.test.rows {
			scores, weights = append(scores, m.Score(f.test.Row(i))), append(weights, f.test.Weight(i))
		}
		seen = append(seen, f.test.near(l.horizon)...)
		l.step()
	}
	var err error
	if p.platt, err = learn.FitPlatt(scores, seen, weights); err != nil {
		return p, d, err
	}
	if p.boost, err = learn.FitClassifier(ctx, d.train, positive, l.options(d.train)); err != nil {
		return p, d, err
	}
	l.step()
	probabilities := make([]float64, len(scores))
	for i, score := range scores {
		probabilities[i] = p.platt.Probability(score)
	}
	p.threshold = bestThreshold(probabilities, seen, weights)
	l.finish(&p, d)
	d.evaluation = l.judgeFailure(&p, d)
	return p, d, nil
}

// fitRUL returns a predictor of remaining lives, and the data with how well it predicts the test. Boosting takes as many lives as a model of failures; a line serves
// with half of them.
func (l lesson) fitRUL(ctx context.Context) (predictor, divided, error) {
	p := predictor{extractor: l.table.extractor, limit: l.limit}
	d := l.divide()
	if n := len(d.train.rows); n < minRows {
		return p, d, tooLittle("%d rows, %d needed", n, minRows)
	}
	var predicted, actual []float64
	for _, f := range d.train.folds(l.seed, l.table.unit) {
		if len(f.train.rows) < minRows/2 {
			continue
		}
		q := p
		if err := l.fitHours(ctx, &q, f.train); err != nil {
			return p, d, err
		}
		for i := range f.test.rows {
			// Rows far from the end are easy: with them, the intervals would be too narrow for components that wear. Those of lives that have not
			// failed are all far.
			if left := f.test.Label(i); left <= l.limit {
				predicted, actual = append(predicted, q.hours(f.test.Row(i))), append(actual, left)
			}
		}
		l.step()
	}
	var err error
	if p.conformal, err = learn.FitConformal(predicted, actual, learn.ConformalOptions{}); err != nil {
		return p, d, err
	}
	if err := l.fitHours(ctx, &p, d.train); err != nil {
		return p, d, err
	}
	l.step()
	l.finish(&p, d)
	d.evaluation = l.judgeRUL(&p, d)
	return p, d, nil
}

func (l lesson) fitHours(ctx context.Context, p *predictor, rows subset) (err error) {
	if l.table.division.failures >= l.minFailures {
		p.boost, err = learn.FitRegression(ctx, rows, rows.labels(l.limit), l.options(rows))
	} else {
		rows = rows.common()
		p.ridge, err = learn.FitRidge(ctx, rows, rows.labels(l.limit), learn.RidgeOptions{})
	}
	return err
}

// finish adds what judges the rows of predictions.
func (l lesson) finish(p *predictor, d divided) {
	lives := make(map[features.Group]bool)
	for i := range d.train.rows {
		lives[d.train.Group(i)] = true
	}
	p.lives, p.domain = len(lives), newDomain(d.train)
	common := d.train.common() // recent rows, which these are compared with, are as they come
	n, cols := common.Dims()
	p.drift = make([]*learn.Histogram, cols)
	values := make([]float64, n)
	for j := range cols {
		for i := range values {
			values[i] = common.At(i, j)
		}
		if h, err := learn.NewHistogram(values, 0); err == nil { // else all are missing
			p.drift[j] = h
		}
	}
}

// bestThreshold returns the probability with the highest F1 score, from 0.05 to 0.95.
func bestThreshold(probabilities []float64, positive []bool, weights []float64) float64 {
	order := make([]int, len(probabilities))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case probabilities[a] > probabilities[b]:
			return -1
		case probabilities[a] < probabilities[b]:
			return 1
		}
		return 0
	})
	var all, hits, decided float64
	for i, yes := range positive {
		if yes {
			all += weights[i]
		}
	}
	best, threshold := -1., 0.5
	for k, i := range order {
		decided += weights[i]
		if positive[i] {
			hits += weights[i]
		}
		if k+1 < len(order) && probabilities[order[k+1]] == probabilities[i] {
			continue
		}
		if f1 := 2 * hits / (decided + all); f1 > best {
			best, threshold = f1, probabilities[i]
		}
	}
	return min(max(threshold, 0.05), 0.95)
}

func countTrue(list []bool) (yes, no int) {
	for _, v := range list {
		if v {
			yes++
		}
	}
	return yes, len(list) - yes
}
