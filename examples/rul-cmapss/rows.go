package main

import (
	"context"
	"fmt"
	"time"

	"github.com/otkit/otkit/predictive/features"
	"github.com/otkit/otkit/predictive/simfleet"
)

// begin is the time of cycle 0. A cycle lasts an hour, so that a trend per hour is one per cycle.
var begin = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func timeOf(cycle int) time.Time { return begin.Add(time.Duration(cycle) * time.Hour) }

func signals() (list []features.Signal) {
	for i := range settings {
		list = append(list, features.Signal{Name: fmt.Sprint("setting", i+1), Setting: true})
	}
	for i := range sensors {
		list = append(list, features.Signal{Name: fmt.Sprint("sensor", i+1)})
	}
	return list
}

// samples calls add with each sample of a cycle, counted from 0: settings first.
func samples(u simfleet.Unit, cycle int, add func(signal int, at time.Time, value float64)) {
	at := timeOf(cycle + 1)
	for i, v := range u.Settings[cycle] {
		add(i, at, v)
	}
	for i, v := range u.Sensors[cycle] {
		add(settings+i, at, v)
	}
}

// newExtractor reads all units once. It is not told how many operating conditions there are.
func newExtractor(ctx context.Context, units []simfleet.Unit) (*features.Extractor, error) {
	f, err := features.NewFitter(signals(), features.Options{})
	if err != nil {
		return nil, err
	}
	for _, u := range units {
		f.Begin()
		for cycle := range u.Sensors {
			samples(u, cycle, f.Add)
		}
	}
	return f.Fit(ctx)
}

// newDataset reads all units again. It has a row for each cycle, labelled with the cycles that remain.
func newDataset(x *features.Extractor, units []simfleet.Unit) (*features.Dataset, error) {
	d, err := features.NewDataset(x.Names(), features.DatasetOptions{})
	if err != nil {
		return nil, err
	}
	row := make([]float64, len(x.Names()))
	for n, u := range units {
		life := x.Begin(begin)
		add := func(signal int, at time.Time, value float64) { life.Add(signal, at, value) }
		for cycle := range u.Sensors {
			samples(u, cycle, add)
			at := timeOf(cycle + 1)
			if err := life.Row(at, row); err != nil {
				return nil, err
			}
			remaining := float64(len(u.Sensors) - cycle - 1 + u.After)
			if err := d.Append(features.Group{Unit: fmt.Sprintf("unit %03d", n+1)}, at, remaining, row); err != nil {
				return nil, err
			}
		}
	}
	return d, nil
}
