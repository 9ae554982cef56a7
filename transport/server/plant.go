package server

import (
	"context"
	"errors"
	"fmt"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/tagconfig"
)

// plant is the tag side of a server: the engine, its history and its configuration.
type plant struct {
	engine   *tags.Engine
	recorder *tags.Recorder // nil when no history is kept
	config   *tagconfig.Store
	binder   *tagconfig.Binder
}

func newPlant(o Options) (*plant, error) {
	engine, err := tags.New(tags.Options{Logger: o.Logger, Now: o.Now, Writes: o.Stores.Writes})
	if err != nil {
		return nil, err
	}
	p := &plant{engine: engine}
	if err := p.open(o); err != nil {
		return nil, errors.Join(err, p.close(context.Background()))
	}
	return p, nil
}

func (p *plant) open(o Options) error {
	var err error
	if o.Stores.History != nil && !o.History.Disabled {
		p.recorder, err = tags.NewRecorder(o.Stores.History, tags.RecorderOptions{Logger: o.Logger, Now: o.Now,
			MaxAge: o.History.MaxAge, MaxBytes: o.History.MaxBytes, FlushEvery: o.History.FlushEvery})
		if err != nil {
			return err
		}
		p.engine.Observe(p.recorder.Observe)
	}
	if p.binder, err = tagconfig.NewBinder(p.engine, o.Logger); err != nil {
		return err
	}
	p.config, err = tagconfig.Open(tagconfig.Options{Path: o.ModelPath, Logger: o.Logger, Now: o.Now, OnChange: p.binder.SetConfig})
	if err != nil {
		return fmt.Errorf("tag configuration: %w", err)
	}
	for _, d := range o.Drivers {
		if err := p.addDriver(d); err != nil {
			return fmt.Errorf("driver %s: %w", d.ID, err)
		}
	}
	return nil
}

// addDriver brings a driver in: its tags are known to the configuration before the driver runs.
func (p *plant) addDriver(d Driver) error {
	base := make([]tags.Tag, len(d.Options.Tags))
	items := make([]tagconfig.Config, len(d.Options.Tags))
	for i, t := range d.Options.Tags {
		t.Driver = d.ID
		if err := t.Validate(); err != nil {
			return err
		}
		base[i], items[i] = t, tagconfig.FromTag(t)
	}
	p.config.Seed(d.ID, items...)
	p.binder.SetBase(d.ID, base)
	o := d.Options
	o.Tags = nil
	return p.engine.AddDriver(d.ID, d.Driver, o)
}

// close stops the drivers after their queued writes, and stores what the history still holds.
func (p *plant) close(ctx context.Context) error {
	err := p.engine.Close(ctx)
	if p.recorder != nil {
		err = errors.Join(err, p.recorder.Close(ctx))
	}
	return err
}
