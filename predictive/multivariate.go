package predictive

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/predictive/learn"
)

// Limits of the number of different tags of [Service.Multivariate].
const (
	MinMultivariateTags = 2  // the least
	MaxMultivariateTags = 64 // the most
)

const (
	multivariateThreshold = 0.5
	// multivariateRows is the number of rows that several tags are aligned to, and minMultivariateRows how many are needed.
	multivariateRows    = 1000
	minMultivariateRows = 100
	// judgedShare is the newest part of the rows that is judged by a model of the others.
	judgedShare = 0.1
)

func (s *Service) multivariate(ctx context.Context, tags []string) (Multivariate, error) {
	ids := slices.Clone(tags)
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if n := len(ids); n < MinMultivariateTags || n > MaxMultivariateTags {
		return Multivariate{}, ErrInvalidRequest.Invalid(fault.Field{Field: "tagIds", Message: "must have 2 to 64 different tags"})
	}
	for _, id := range ids {
		if err := s.requireTag(ctx, id); err != nil {
			return Multivariate{}, err
		}
	}
	now := s.o.Clock()
	rows, err := s.align(ctx, ids, now)
	if err != nil {
		return Multivariate{}, err
	}
	known := rows.length - max(int(judgedShare*float64(rows.length)), 1)
	model, err := learn.FitPCA(ctx, grid{rows.values, known, len(ids)}, learn.PCAOptions{})
	if errors.Is(err, learn.ErrData) {
		return Multivariate{}, insufficient("%s", missingData(err))
	}
	if err != nil {
		return Multivariate{}, err
	}
	monitor := model.Monitor()
	var last learn.MonitorScore
	for i := range rows.length {
		if last, err = monitor.Update(rows.values[i*len(ids):][:len(ids)]); err != nil {
			return Multivariate{}, err
		}
	}
	return verdict(ids, last, monitor.Contributions(nil), now), nil
}

// verdict returns the answer from the index of the last row and the shares of the tags in it.
func verdict(ids []string, score learn.MonitorScore, shares []float64, now time.Time) Multivariate {
	index := orElse(score.Index, 0)
	m := Multivariate{AnomalyScore: unit(index / (1 + index)), Threshold: multivariateThreshold, ContributingTags: []string{},
		TagScores: make(map[string]float64, len(ids)), DetectedAt: now, Severity: SeverityLow}
	m.IsAnomaly = m.AnomalyScore >= m.Threshold
	for i, id := range ids {
		m.TagScores[id] = 0
		if index > 0 && i < len(shares) {
			m.TagScores[id] = unit(shares[i] / index * m.AnomalyScore)
		}
	}
	if !m.IsAnomaly {
		return m
	}
	m.Severity = severityOf((m.AnomalyScore - m.Threshold) / (1 - m.Threshold))
	order := slices.Clone(ids)
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(m.TagScores[b], m.TagScores[a]) })
	sum := 0.
	for _, id := range order {
		if sum >= 0.8*m.AnomalyScore || m.TagScores[id] == 0 {
			break
		}
		sum += m.TagScores[id]
		m.ContributingTags = append(m.ContributingTags, id)
	}
	return m
}

// aligned has the values of tags at times of equal distance, row by row.
type aligned struct {
	values []float64
	length int
}

func (s *Service) align(ctx context.Context, ids []string, now time.Time) (a aligned, err error) {
	lists := make([][]Sample, len(ids))
	start := now.Add(-s.o.AnomalyLookback)
	var newest time.Time
	for i, id := range ids {
		if lists[i], err = s.newest(ctx, id, now.Add(-s.o.AnomalyLookback), now.Add(1), s.o.AnomalySamples); err != nil {
			return a, err
		}
		n := len(lists[i])
		if n < 2 {
			return a, insufficient("%s has %d samples in the last %s, at least 2 are needed", id, n, s.o.AnomalyLookback)
		}
		start, newest = laterOf(start, lists[i][0].Time), laterOf(newest, lists[i][n-1].Time)
	}
	// Rows end with the newest sample, not now, so that asking twice gives the same answer.
	span := newest.Sub(start)
	step := max(span/multivariateRows, time.Second)
	if a.length = int(span / step); a.length < minMultivariateRows {
		return a, insufficient("the tags have %s of history in common, at least %s is needed", span.Round(time.Second), minMultivariateRows*step)
	}
	limit := max(s.o.Staleness, 10*step)
	a.values = make([]float64, a.length*len(ids))
	places := make([]int, len(ids))
	for row := range a.length {
		at := newest.Add(-time.Duration(a.length-1-row) * step)
		for i, list := range lists {
			for places[i]+1 < len(list) && !list[places[i]+1].Time.After(at) {
				places[i]++
			}
			v := nan
			if held := list[places[i]]; !held.Time.After(at) && at.Sub(held.Time) <= limit {
				v = held.Value
			}
			a.values[row*len(ids)+i] = v
		}
	}
	return a, nil
}

// grid is rows of values as a [learn.Matrix].
type grid struct {
	values     []float64
	rows, cols int
}

func (g grid) Dims() (rows, cols int) { return g.rows, g.cols }
func (g grid) At(i, j int) float64    { return g.values[i*g.cols+j] }
