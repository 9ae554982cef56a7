package main

import (
	"context"
	"errors"
	"time"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/dispatch"
	"github.com/otkit/otkit/alerting/silences"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/simdriver"
)

// plant is the services, in the order in which data flows.
type plant struct {
	tags       *tags.Engine
	rules      *rules.Service
	alarms     *alarms.Service
	dispatcher *dispatch.Dispatcher
}

func newPlant(ctx context.Context, s *stores, channel alerting.Channel) (*plant, error) {
	p := &plant{}
	if err := p.start(ctx, s, channel); err != nil {
		return nil, errors.Join(err, p.close(context.WithoutCancel(ctx)))
	}
	return p, nil
}

// start makes the services from the last to the first, so that each finds the one that it hands on to.
func (p *plant) start(ctx context.Context, s *stores, channel alerting.Channel) (err error) {
	if p.alarms, err = alarms.New(ctx, s.alarms, alarms.Options{}); err != nil {
		return err
	}
	quiet, err := silences.New(s.silences, silences.Options{})
	if err != nil {
		return err
	}
	p.dispatcher, err = dispatch.New(dispatch.Deps{
		Journal: p.alarms, Outbox: s.outbox, DeadLetters: s.deadLetters, Silences: quiet, History: s.history,
		Channels: []alerting.Channel{channel},
	}, dispatch.Options{Routes: alerting.Routes{alarms.Warning: {channel.Name()}, alarms.Critical: {channel.Name()}}})
	if err != nil {
		return err
	}
	p.dispatcher.Start()

	if p.rules, err = rules.New(ctx, s.rules, p.alarms, rules.Options{}); err != nil {
		return err
	}
	_, err = p.rules.Add(ctx, rules.Rule{ID: "high-pressure", Name: "Pressure too high", Tag: "boiler.pressure",
		Kind: rules.High, Limit: 80, Deadband: 5, Severity: alarms.Warning, Enabled: true})
	if err != nil && !errors.Is(err, rules.ErrExists) { // it exists from an earlier start
		return err
	}

	if p.tags, err = tags.New(tags.Options{}); err != nil {
		return err
	}
	p.tags.Observe(p.rules.Observe)
	driver, err := simdriver.New(simdriver.Options{UpdateInterval: 100 * time.Millisecond, Signals: []simdriver.Signal{
		{Name: "pressure", Type: tags.Float, Unit: "bar", Max: 100, Shape: simdriver.Sine, Period: 4 * time.Second}}})
	if err != nil {
		return err
	}
	pressure := tags.Tag{Name: "boiler.pressure", Address: "pressure", DataType: tags.Float, Unit: "bar"}
	return p.tags.AddDriver("boiler", driver, tags.DriverOptions{PollInterval: 100 * time.Millisecond, Tags: []tags.Tag{pressure}})
}

// close ends the services from the first to the last, so that each still hands on what it has.
func (p *plant) close(ctx context.Context) (err error) {
	if p.tags != nil {
		err = errors.Join(err, p.tags.Close(ctx))
	}
	if p.rules != nil {
		err = errors.Join(err, p.rules.Close(ctx))
	}
	if p.dispatcher != nil {
		err = errors.Join(err, p.dispatcher.Close(ctx))
	}
	if p.alarms != nil {
		err = errors.Join(err, p.alarms.Close(ctx))
	}
	return err
}
