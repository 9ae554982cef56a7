package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/history"
	"github.com/otkit/otkit/tags/simdriver"
)

// DriverID is the id of the demo's driver.
const DriverID = "sim"

// seed and start make the plant the same in each run.
const seed = 20260101

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// NewDriver returns the driver of the plant and the definitions of its tags. now is the clock, nil for
// time.Now.
func NewDriver(now func() time.Time) (*simdriver.Driver, []tags.Tag, error) {
	d, err := simdriver.New(simdriver.Options{Signals: signals(), Seed: seed, Start: start, UpdateInterval: 500 * time.Millisecond, Now: now})
	if err != nil {
		return nil, nil, err
	}
	list, err := d.Browse(context.Background())
	if err != nil {
		return nil, nil, err
	}
	for i := range list {
		list[i].Driver = DriverID
		list[i].Name = DriverID + "." + list[i].Name
		list[i].Deadband = deadbands[list[i].Address]
	}
	return d, list, nil
}

// deadbands keep noise out of streams and history; an unchanged value is repeated once a minute.
var deadbands = map[string]tags.Deadband{
	"temperature": {Absolute: 0.1, Heartbeat: time.Minute},
	"pressure":    {Absolute: 0.02, Heartbeat: time.Minute},
	"vibration":   {Absolute: 0.05, Heartbeat: time.Minute},
}

func signals() []simdriver.Signal {
	return []simdriver.Signal{
		{Name: "setpoint", Type: tags.Float, Access: tags.ReadWrite, Unit: "°C", Description: "Set temperature of the reactor jacket",
			Shape: simdriver.Hold, Min: 20, Max: 95, Initial: tags.FloatValue(65)},
		{Name: "temperature", Type: tags.Float, Unit: "°C", Description: "Reactor temperature; follows the setpoint",
			Shape: simdriver.Follow, Follows: "setpoint", Lag: 20 * time.Second, Min: 0, Max: 120, Noise: 0.005},
		{Name: "pressure", Type: tags.Float, Unit: "bar", Description: "Feed pressure",
			Shape: simdriver.Sine, Period: 5 * time.Minute, Min: 2, Max: 6, Noise: 0.01},
		{Name: "vibration", Type: tags.Float, Unit: "mm/s", Description: "Pump bearing vibration; wears out, fails and is replaced",
			Shape: simdriver.Degradation, Period: 9 * 24 * time.Hour, Min: 0.5, Max: 12, Noise: 0.03},
		{Name: "counter", Type: tags.Int, Unit: "pcs", Description: "Parts made",
			Shape: simdriver.Counter, Period: 2 * time.Second, Min: 0, Max: 1_000_000_000},
		{Name: "speed", Type: tags.Int, Access: tags.ReadWrite, Unit: "rpm", Description: "Agitator speed",
			Shape: simdriver.Hold, Min: 0, Max: 3000, Initial: tags.IntValue(1200)},
		{Name: "running", Type: tags.Bool, Access: tags.ReadWrite, Description: "Line is running",
			Shape: simdriver.Hold, Initial: tags.BoolValue(true)},
		{Name: "recipe", Type: tags.String, Access: tags.ReadWrite, Description: "Recipe in use",
			Shape: simdriver.Hold, Initial: tags.StringValue("standard")},
		{Name: "snapshot", Type: tags.Bytes, Description: "Last image of the line camera, reduced",
			Shape: simdriver.RandomWalk, Period: 10 * time.Minute},
	}
}

// HistoryAge is the age of the plant's oldest value, and historyStep the time between two values.
const (
	HistoryAge  = 31 * 24 * time.Hour
	historyStep = 5 * time.Minute
)

// FillHistory stores the plant's past up to now, unless the store has one. It takes less than a second with an embedded
// database.
func FillHistory(ctx context.Context, d *simdriver.Driver, list []tags.Tag, store history.Store, now time.Time) (samples int, err error) {
	from := now.Add(-HistoryAge).Truncate(historyStep)
	for _, err := range store.Range(ctx, DriverID+".pressure", from, now) {
		return 0, err // one sample, or a store that cannot be read: both end it
	}
	for _, t := range list {
		if t.DataType == tags.Bytes {
			continue
		}
		batch, err := past(d, t, from, now)
		if err != nil {
			return samples, err
		}
		if err := store.Append(ctx, batch); err != nil {
			return samples, fmt.Errorf("history of %s: %w", t.Name, err)
		}
		samples += len(batch)
	}
	return samples, nil
}

func past(d *simdriver.Driver, t tags.Tag, from, to time.Time) ([]history.Sample, error) {
	var batch []history.Sample
	var last tags.Value
	for at := from; at.Before(to); at = at.Add(historyStep) {
		v, err := d.ValueAt(t.Address, at)
		if err != nil {
			return nil, err
		}
		if v == last { // a tag that is not written does not change
			continue
		}
		last = v
		batch = append(batch, history.Sample{Tag: t.Name, Time: at, Value: v, Quality: tags.Good})
	}
	return batch, nil
}
