package main

import (
	"context"
	"slices"
	"strings"

	"github.com/otkit/otkit/predictive/features"
	"github.com/otkit/otkit/predictive/learn"
)

// anomalies is how early a monitor that knows only healthy units sees held-out ones change.
type anomalies struct {
	falseAlarms float64   // share of the healthy cycles
	warned      int       // units that are anomalous at failure
	units       int       // that were held out
	warning     float64   // cycles that the last alarm of a unit lasts until failure, median
	remaining   []float64 // of the unit in the plot
	index       []float64 // of it; above 1 is anomalous
}

// judgeAnomalies fits a monitor to the cycles of some units that have more than the longest predicted life before them, and lets
// it watch the others until they fail.
func judgeAnomalies(ctx context.Context, x *features.Extractor, train *features.Dataset) (a anomalies, err error) {
	fold, err := train.All().HoldOut(0.3, 1)
	if err != nil {
		return a, err
	}
	var columns []int
	for i, name := range x.Names() {
		if strings.HasSuffix(name, "."+string(features.BaselineDifference)) {
			columns = append(columns, i)
		}
	}
	model, err := learn.FitPCA(ctx, healthy{some{fold.Train, columns}, healthyRows(fold.Train)}, learn.PCAOptions{})
	if err != nil {
		return a, err
	}
	return a, a.watch(model, some{fold.Test, columns})
}

// healthy has some rows of a matrix.
type healthy struct {
	some
	rows []int
}

func (h healthy) Dims() (rows, cols int) {
	_, cols = h.some.Dims()
	return len(h.rows), cols
}

func (h healthy) At(i, j int) float64 { return h.some.At(h.rows[i], j) }

func healthyRows(v features.View) (list []int) {
	rows, _ := v.Dims()
	for i := range rows {
		if v.Label(i) > longest {
			list = append(list, i)
		}
	}
	return list
}

// watch shows each unit to a monitor from its first cycle.
func (a *anomalies) watch(model *learn.PCA, x some) error {
	rows, cols := x.Dims()
	row, monitor := make([]float64, cols), model.Monitor()
	flagged, total, since := 0., 0., -1.
	var warnings []float64
	var index, remaining []float64 // of a unit
	for i := range rows {
		for j := range row {
			row[j] = x.At(i, j)
		}
		s, err := monitor.Update(row)
		if err != nil {
			return err
		}
		left := x.Label(i)
		if index, remaining = append(index, s.Index), append(remaining, left); left > longest {
			total++
			if s.Anomalous {
				flagged++
			}
		}
		switch {
		case !s.Anomalous:
			since = -1
		case since < 0:
			since = left
		}
		if i < rows-1 && x.Group(i) == x.Group(i+1) {
			continue
		}
		a.units++
		if since >= 0 {
			a.warned++
			warnings = append(warnings, since)
		}
		if a.units == 1 {
			a.index, a.remaining = index, remaining
		}
		monitor, index, remaining, since = model.Monitor(), nil, nil, -1
	}
	a.falseAlarms = flagged / max(total, 1)
	if slices.Sort(warnings); len(warnings) > 0 {
		a.warning = warnings[len(warnings)/2]
	}
	return nil
}
