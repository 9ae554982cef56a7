package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/otkit/otkit/engine"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/history"
	"github.com/otkit/otkit/tags/simdriver"
	"github.com/otkit/otkit/transport/tagsapi/tagspart"
)

// pumpInterval is how often the values of pumps are read and stored.
const pumpInterval = time.Minute

// pumpDriver is a tags.Driver whose points are the signals of a pump.
type pumpDriver struct {
	pump      pump
	now       func() time.Time
	connected bool
}

// Connect implements tags.Driver.
func (d *pumpDriver) Connect(ctx context.Context) error {
	d.connected = ctx.Err() == nil
	return ctx.Err()
}

// Close implements tags.Driver.
func (d *pumpDriver) Close() error {
	d.connected = false
	return nil
}

// Read implements tags.Driver.
func (d *pumpDriver) Read(ctx context.Context, points []tags.Point, out []tags.Reading) error {
	if err := d.ready(ctx); err != nil {
		return err
	}
	now := d.now()
	for i, p := range points {
		number := signalNumber(p.Address)
		switch {
		case number < 0:
			out[i].Err = tags.ErrNoSuchAddress
		case p.Type != tags.Float:
			out[i].Err = tags.ErrType
		default:
			out[i] = tags.Reading{Value: tags.FloatValue(d.pump.at(number, now)), Quality: tags.Good, Time: now}
		}
	}
	return nil
}

// Write implements tags.Driver. All points are read-only.
func (d *pumpDriver) Write(ctx context.Context, _ []tags.WriteItem, errs []error) error {
	if err := d.ready(ctx); err != nil {
		return err
	}
	for i := range errs {
		errs[i] = fmt.Errorf("%w: the point is read-only", tags.ErrDevice)
	}
	return nil
}

func (d *pumpDriver) ready(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !d.connected {
		return tags.ErrNotConnected
	}
	return nil
}

func signalNumber(address string) int {
	return slices.IndexFunc(pumpSignals, func(s pumpSignal) bool { return s.name == address })
}

// tags returns the tags of a pump.
func (p pump) tags() []tags.Tag {
	list := make([]tags.Tag, len(pumpSignals))
	for i, s := range pumpSignals {
		list[i] = tags.Tag{Driver: p.id(), Name: p.id() + "." + s.name, Address: s.name, DataType: tags.Float, Access: tags.ReadOnly, Unit: s.unit,
			Description: s.description, Min: tags.Ptr(0.), Max: tags.Ptr(s.max), PollInterval: pumpInterval}
	}
	return list
}

// installPumps adds the pumps and their past, except for those that the settings exclude from predictions or have a driver of the same id as.
func installPumps(ctx context.Context, o *engine.Options, now time.Time) (samples int, err error) {
	list := slices.DeleteFunc(allPumps(), func(p pump) bool {
		same := slices.ContainsFunc(o.Tags.Drivers, func(d tagspart.Driver) bool { return d.ID == p.id() })
		if same {
			o.Server.Logger.Warn("demo pump omitted: the settings have a driver of the same id", "driver", p.id())
		}
		return same || slices.Contains(o.Predictive.Tags.Exclude, p.id())
	})
	for _, p := range list {
		o.Tags.Drivers = append(o.Tags.Drivers, tagspart.Driver{ID: p.id(), Driver: &pumpDriver{pump: p, now: time.Now},
			Options: tags.DriverOptions{Type: simdriver.TypeName, PollInterval: pumpInterval, Tags: p.tags()}})
	}
	samples, err = fillPumpHistory(ctx, list, o.Tags.HistoryStore, now)
	if errors.Is(err, storage.ErrFull) {
		o.Server.Logger.Warn("failed to create the history of the demo pumps", "error", err)
	} else if err != nil {
		return samples, err
	}
	return samples, installPredictions(ctx, o, list, now)
}

// fillPumpHistory stores the past of pumps from the newest sample that the store has up to now: they went on while the engine was stopped. It takes less than half a second with an embedded database.
func fillPumpHistory(ctx context.Context, list []pump, store history.Store, now time.Time) (samples int, err error) {
	from := now.Add(-HistoryAge).Truncate(historyStep)
	for _, p := range list {
		batch, err := p.past(ctx, store, from, now)
		if err != nil {
			return samples, err
		}
		if err := store.Append(ctx, batch); err != nil {
			return samples, fmt.Errorf("history of %s: %w", p.id(), err)
		}
		samples += len(batch)
	}
	if c, ok := store.(interface{ Compact(context.Context) error }); ok && samples > 0 { // the trainings read it many times
		err = c.Compact(ctx)
	}
	return samples, err
}

// past returns the samples of a pump that are newer than those of the store.
func (p pump) past(ctx context.Context, store history.Store, from, to time.Time) ([]history.Sample, error) {
	list := p.tags()
	for s, err := range store.Range(ctx, list[0].Name, from, to) {
		if err != nil {
			return nil, err
		}
		from = s.Time.Truncate(historyStep).Add(historyStep)
	}
	batch := make([]history.Sample, 0, len(list)*int(max(to.Sub(from), 0)/historyStep+1))
	for at := from; at.Before(to); at = at.Add(historyStep) {
		s := p.state(at)
		for i, t := range list {
			batch = append(batch, history.Sample{Tag: t.Name, Time: at, Value: tags.FloatValue(p.measure(i, s, at)), Quality: tags.Good})
		}
	}
	return batch, nil
}
