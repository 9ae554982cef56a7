package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/rest"
	"github.com/otkit/otkit/transport/signalr"
)

// alarmRoom is the alarm side of a server: the alarms with their rules, who is told of them, and the
// hubs that browsers listen to.
type alarmRoom struct {
	service    *alarms.Service
	rules      *alarms.Rules
	drivers    *alarms.DriverAlarms
	silences   *alerting.Silences
	history    *alerting.History
	webhook    *alerting.Webhook
	dispatcher *alerting.Dispatcher
	hub        *signalr.Hub     // /hubs/alarms
	demo       *signalr.Hub     // /hubs/demo
	shared     *sharedDashboard // nil where no other engine has the stores as well
	unobserve  func()
}

func newAlarmRoom(ctx context.Context, o Options, engine *tags.Engine) (*alarmRoom, error) {
	r := &alarmRoom{}
	if err := r.open(ctx, o, engine); err != nil {
		return nil, errors.Join(err, r.close(context.WithoutCancel(ctx)))
	}
	return r, nil
}

func (r *alarmRoom) open(ctx context.Context, o Options, engine *tags.Engine) (err error) {
	hubs := signalr.Options{Logger: o.Logger, Lifetime: auth.Lifetime, AllowedOrigins: o.CORSOrigins}
	if r.hub, err = signalr.NewHub(hubs); err != nil {
		return err
	}
	if r.demo, err = signalr.NewHub(hubs); err != nil {
		return err
	}
	var follow time.Duration
	if o.Stores.Shared != nil {
		follow = o.Stores.Shared.Poll
	}
	r.service, err = alarms.New(ctx, o.Stores.Alarms, alarms.Options{Logger: o.Logger, Now: o.Now, Resolutions: o.Stores.Resolutions, Limits: o.AlarmLimits,
		Follow: follow, MaxShelve: 7 * 24 * time.Hour})
	if err != nil {
		return fmt.Errorf("alarms: %w", err)
	}
	r.rules, err = alarms.NewRules(ctx, o.Stores.AlarmRules, r.service, alarms.RulesOptions{Logger: o.Logger, Now: o.Now,
		States: o.Stores.RuleStates, Current: current(engine), Follow: follow})
	if err != nil {
		return fmt.Errorf("alarm rules: %w", err)
	}
	r.unobserve = engine.Observe(r.rules.Observe)
	owner := o.Alerting.Owner
	if owner == "" {
		if owner, err = engineName(o.DataDir); err != nil {
			return err
		}
	}
	if r.drivers, err = newDriverAlarms(o, owner, engine, r.service); err != nil {
		return err
	}
	return r.openAlerting(ctx, o, owner)
}

func newDriverAlarms(o Options, owner string, engine *tags.Engine, service *alarms.Service) (*alarms.DriverAlarms, error) {
	options := o.DriverAlarms
	if options.Now == nil {
		options.Now = o.Now
	}
	if options.Logger == nil {
		options.Logger = o.Logger
	}
	if options.Engine == "" && o.Stores.Shared != nil {
		options.Engine = owner
	}
	return alarms.NewDriverAlarms(engine, service, options)
}

func (r *alarmRoom) openAlerting(ctx context.Context, o Options, owner string) (err error) {
	if r.silences, err = alerting.NewSilences(o.Stores.Silences, alerting.SilencesOptions{Now: o.Now}); err != nil {
		return err
	}
	if r.history, err = alerting.NewHistory(o.Stores.AlertHistory); err != nil {
		return err
	}
	r.webhook, err = alerting.NewWebhook(r.service, o.Stores.AlertHistory, r.silences, alerting.WebhookOptions{Now: o.Now, Logger: o.Logger})
	if err != nil {
		return err
	}
	channel, err := r.openDashboard(ctx, o)
	if err != nil {
		return err
	}
	r.dispatcher, err = alerting.NewDispatcher(alerting.Deps{
		Journal: r.service, Outbox: o.Stores.Outbox, DeadLetters: o.Stores.DeadLetters,
		Silences: r.silences, History: o.Stores.AlertHistory, Channels: append([]alerting.Channel{channel}, o.Alerting.Channels...),
	}, alerting.Options{Now: o.Now, Logger: o.Logger, Routes: o.Alerting.Routes, Templates: o.Alerting.Templates,
		Flood: o.Alerting.Flood, Owner: owner, OnDead: r.tellDead})
	if err != nil {
		return fmt.Errorf("alerting: %w", err)
	}
	return nil
}

// current gives rules a tag and its newest sample.
func current(engine *tags.Engine) func(string) (tags.Snapshot, bool) {
	return func(name string) (tags.Snapshot, bool) {
		s, err := engine.Read(name)
		return s, err == nil
	}
}

// follow wakes the dispatcher and tells the demonstration hub as alarms happen, until ctx ends.
func (r *alarmRoom) follow(ctx context.Context) {
	for {
		sub, err := r.service.Subscribe(alarms.SubscribeOptions{All: true})
		if err != nil {
			return
		}
		for err == nil {
			var events []alarms.Event
			events, err = sub.Next(ctx, 0)
			r.dispatcher.Wake()
			for i := range events {
				if events[i].New {
					_ = r.demo.Broadcast("OnAlarmRaised", rest.AlarmInfoOf(&events[i].Occurrence)) // it encodes
				}
			}
		}
		sub.Close()
		if !errors.Is(err, alarms.ErrSlowSubscriber) {
			return
		}
	}
}

// ingestionStats is what the demonstration hub tells every second.
type ingestionStats struct {
	TagsPerSecond float64   `json:"tagsPerSecond"`
	TotalSamples  uint64    `json:"totalSamples"`
	Drivers       int       `json:"drivers"`
	Timestamp     time.Time `json:"timestamp"`
}

// tellIngestion tells the demonstration hub how much is read, every second until ctx ends.
func (r *alarmRoom) tellIngestion(ctx context.Context, engine *tags.Engine, now func() time.Time) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if listeners(r.demo) == 0 {
			continue
		}
		stats := ingestionStats{Timestamp: now().UTC()}
		for _, d := range engine.Drivers() {
			stats.TagsPerSecond += d.SamplesPerSec
			stats.TotalSamples += d.Samples
			stats.Drivers++
		}
		_ = r.demo.Broadcast("OnIngestionStats", stats) // it encodes
	}
}

// closeHubs ends the connections of browsers, which HTTP would otherwise wait for.
func (r *alarmRoom) closeHubs(ctx context.Context) error {
	var errs []error
	for _, h := range []*signalr.Hub{r.hub, r.demo} {
		if h != nil {
			errs = append(errs, h.Close(ctx))
		}
	}
	return errors.Join(errs...)
}

// deafen ends the judging of tags: what happens to them while the engine stops is no alarm.
func (r *alarmRoom) deafen() {
	if r.unobserve != nil {
		r.unobserve()
	}
}

// close ends the room after the tag engine: rules first, then what they raise, then who is told.
func (r *alarmRoom) close(ctx context.Context) error {
	var errs []error
	if r.rules != nil {
		errs = append(errs, r.rules.Close(ctx))
	}
	if r.dispatcher != nil {
		r.dispatcher.Close()
	}
	if r.service != nil {
		errs = append(errs, r.service.Close())
	}
	return errors.Join(append(errs, r.closeHubs(ctx))...)
}
