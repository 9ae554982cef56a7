package features_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/predictive/features"
	"github.com/otkit/otkit/predictive/simfleet"
)

// From the history of a pump to rows that a learner can be fitted to.
func Example() {
	signals := []features.Signal{{Name: "pump.pressure"}}
	installed := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	pressure := func(minute int) (time.Time, float64) {
		at := installed.Add(time.Duration(minute) * time.Minute)
		return at, 10 - 0.02*at.Sub(installed).Hours() // falls by 0.02 bar an hour
	}
	const life = 100 * 60 // minutes

	fitter, err := features.NewFitter(signals, features.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for minute := range life {
		at, value := pressure(minute)
		fitter.Add(0, at, value)
	}
	extractor, err := fitter.Fit(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	data, err := features.NewDataset(extractor.Names(), features.DatasetOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	unit := extractor.Begin(installed)
	row := make([]float64, len(extractor.Names()))
	for minute := range life {
		at, value := pressure(minute)
		unit.Add(0, at, value)
		if minute%60 != 0 {
			continue
		}
		if err := unit.Row(at, row); err != nil {
			fmt.Println(err)
			return
		}
		if err := data.Append(features.Group{Unit: "pump"}, at, float64(life-minute)/60, row); err != nil {
			fmt.Println(err)
			return
		}
	}
	rows, _ := data.All().Dims()
	fmt.Println(rows, "rows; the last one:")
	for i, name := range data.Names() {
		fmt.Printf("%-34s %.3f\n", name, data.All().At(rows-1, i))
	}
	// Output:
	// 100 rows; the last one:
	// pump.pressure.mean                 8.320
	// pump.pressure.stdDev               0.173
	// pump.pressure.trend                -0.020
	// pump.pressure.last                 8.020
	// pump.pressure.shortMean            8.120
	// pump.pressure.baselineDifference   -1.690
	// pump.pressure.ewma                 8.189
	// age                                99.000
}

var day = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// extract returns a row for each cycle of units, an hour long, labelled with the cycles that remain.
func extract(t testing.TB, units []simfleet.Unit, start time.Time) (*features.Dataset, *features.Extractor) {
	return extractKinds(t, units, start, features.Options{}, 0)
}

// extractKinds does so for one sensor, all for 0.
func extractKinds(t testing.TB, units []simfleet.Unit, start time.Time, o features.Options, only int) (*features.Dataset, *features.Extractor) {
	t.Helper()
	var signals []features.Signal
	for i := range units[0].Settings[0] {
		signals = append(signals, features.Signal{Name: fmt.Sprint("setting", i+1), Setting: true})
	}
	settings := len(signals)
	for i := range units[0].Sensors[0] {
		if only == 0 || only == i+1 {
			signals = append(signals, features.Signal{Name: fmt.Sprint("sensor", i+1)})
		}
	}
	each := func(u simfleet.Unit, cycle int, add func(signal int, value float64)) {
		for i, v := range u.Settings[cycle] {
			add(i, v)
		}
		for i := range signals[settings:] {
			add(settings+i, u.Sensors[cycle][max(only-1, 0)+i])
		}
	}
	fitter, err := features.NewFitter(signals, o)
	require.NoError(t, err)
	for _, u := range units {
		fitter.Begin()
		for cycle := range u.Sensors {
			at := start.Add(time.Duration(cycle+1) * time.Hour)
			each(u, cycle, func(signal int, value float64) { fitter.Add(signal, at, value) })
		}
	}
	x, err := fitter.Fit(t.Context())
	require.NoError(t, err)
	d, err := features.NewDataset(x.Names(), features.DatasetOptions{})
	require.NoError(t, err)
	row := make([]float64, len(x.Names()))
	for n, u := range units {
		life := x.Begin(start)
		for cycle := range u.Sensors {
			at := start.Add(time.Duration(cycle+1) * time.Hour)
			each(u, cycle, func(signal int, value float64) { life.Add(signal, at, value) })
			require.NoError(t, life.Row(at, row))
			require.NoError(t, d.Append(features.Group{Unit: fmt.Sprint(n)}, at, float64(len(u.Sensors)-cycle-1+u.After), row))
		}
	}
	return d, x
}
