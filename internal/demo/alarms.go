package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/tags/simdriver"
)

// Rules returns the alarm rules of the plant. The pressure passes its limit every few minutes, the
// vibration every few days; the temperature does if the setpoint is too high.
func Rules() []rules.Rule {
	return []rules.Rule{
		{ID: "sim.temperature-high", Name: "Reactor warm", Tag: "sim.temperature", Kind: rules.High, Limit: 80, Deadband: 2,
			OnDelay: 2 * time.Second, Severity: alarms.Warning, Enabled: true},
		{ID: "sim.temperature-high-high", Name: "Reactor hot", Tag: "sim.temperature", Kind: rules.HighHigh, Limit: 90, Deadband: 2,
			OnDelay: time.Second, Severity: alarms.Critical, Enabled: true},
		{ID: pressureRule, Name: "Feed pressure high", Tag: "sim.pressure", Kind: rules.High, Limit: pressureLimit, Deadband: 0.2,
			OnDelay: 2 * time.Second, OffDelay: 2 * time.Second, Severity: alarms.Warning, Enabled: true},
		{ID: vibrationRule, Name: "Bearing wears out", Tag: "sim.vibration", Kind: rules.High, Limit: vibrationLimit, Deadband: 0.5,
			OnDelay: 5 * time.Second, Severity: alarms.Error, Enabled: true},
		{ID: "sim.stopped", Name: "Line has stopped", Tag: "sim.running", Kind: rules.Discrete, States: []string{"false"},
			Severity: alarms.Info, Enabled: true},
		{ID: "sim.temperature-lost", Name: "Temperature is not read", Tag: "sim.temperature", Kind: rules.BadQuality,
			OnDelay: 10 * time.Second, Severity: alarms.Critical, Enabled: true},
	}
}

const (
	pressureRule   = "sim.pressure-high"
	pressureLimit  = 5.8
	vibrationRule  = "sim.vibration-high"
	vibrationLimit = 7.1
)

// AddRules adds the plant's rules that do not exist yet. If all exist, it writes nothing: an engine must start on a full
// disk too.
func AddRules(ctx context.Context, service *rules.Service) error {
	for _, r := range Rules() {
		if _, err := service.Get(ctx, r.ID); err == nil {
			continue
		}
		if _, err := service.Add(ctx, r); err != nil && !errors.Is(err, rules.ErrExists) {
			return fmt.Errorf("rule %s: %w", r.ID, err)
		}
	}
	return nil
}

// alarmStep is the time between two evaluations of the past alarms. Only every 37th value of the pressure is evaluated, because
// otherwise there would be hundreds of its alarms every day.
const alarmStep = 5 * time.Minute

// operator is who acknowledged the past alarms, all but the newest few, which a shift that begins has still to look at.
const (
	operator       = "operator"
	unacknowledged = 3
)

// FillAlarms stores a month of past alarms with what an operator acknowledged, unless the journal has events already, and returns the
// number of the last of them: no notifications are sent for alarms up to it. Call it before any notification is sent. After a
// call that was killed it returns the number of the last that was stored, and 0 if the journal begins with events that are not the plant's.
func FillAlarms(ctx context.Context, d *simdriver.Driver, store alarms.Store, now time.Time) (last int64, err error) {
	var at atomic.Pointer[time.Time] // of what is stored next
	at.Store(&now)
	service, err := alarms.New(ctx, store, alarms.Options{Now: func() time.Time { return *at.Load() }})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, service.Close(ctx)) }()
	known, err := service.Events(ctx, 0, 1)
	if err != nil {
		return 0, err
	}
	if len(known) == 0 {
		signals, err := pastSignals(d, now)
		if err != nil || len(signals) == 0 {
			return 0, err
		}
		if err := relive(ctx, service, signals, &at); err != nil {
			return 0, err
		}
	}
	for {
		events, err := service.Events(ctx, last, 10_000)
		if err != nil || len(events) == 0 {
			return last, err
		}
		for _, e := range events {
			if key := e.Occurrence.Key; key != "rule:"+pressureRule && key != "rule:"+vibrationRule {
				return last, nil
			}
			last = e.Seq
		}
	}
}

// relive applies signals and acknowledges what they raise some minutes after it began, each at its time.
func relive(ctx context.Context, service *alarms.Service, signals []alarms.Signal, at *atomic.Pointer[time.Time]) error {
	raised := 0
	for _, s := range signals {
		if s.Raise != nil {
			raised++
		}
	}
	type open struct {
		id string
		at time.Time
	}
	var waiting []open
	acknowledge := func(until time.Time) error {
		for len(waiting) > 0 && !waiting[0].at.After(until) {
			at.Store(&waiting[0].at)
			if _, err := service.Acknowledge(ctx, alarms.ByID(waiting[0].id), operator, ""); err != nil {
				return err
			}
			waiting = waiting[1:]
		}
		return nil
	}
	for i, s := range signals {
		if err := acknowledge(s.At); err != nil {
			return err
		}
		at.Store(&s.At)
		results, err := service.Apply(ctx, []alarms.Signal{s})
		if err != nil {
			return err
		}
		if s.Raise == nil {
			continue
		}
		if raised--; raised < unacknowledged {
			continue
		}
		wait := time.Duration(2+i*7%11) * time.Minute // as people take now more, now less time
		waiting = append(waiting, open{results[0].Occurrence.ID, s.At.Add(wait)})
		slices.SortFunc(waiting, func(a, b open) int { return a.at.Compare(b.at) })
	}
	return acknowledge(signals[len(signals)-1].At)
}

// pastSignals are the raises and clears of the month, by time.
func pastSignals(d *simdriver.Driver, now time.Time) ([]alarms.Signal, error) {
	var signals []alarms.Signal
	for _, w := range []struct {
		rule, address, text string
		limit               float64
		every               int
		severity            alarms.Severity
	}{
		{pressureRule, "pressure", "Feed pressure high", pressureLimit, 37, alarms.Warning},
		{vibrationRule, "vibration", "Bearing wears out", vibrationLimit, 1, alarms.Error},
	} {
		active := false
		look := 0
		for at := now.Add(-HistoryAge).Truncate(alarmStep); at.Before(now.Add(-alarmStep)); at = at.Add(alarmStep) {
			v, err := d.ValueAt(w.address, at)
			if err != nil {
				return nil, err
			}
			f, _ := v.Float()
			look++
			switch over := f > w.limit && look%w.every == 0; {
			case over && !active:
				active = true
				signals = append(signals, alarms.Signal{At: at, Raise: &alarms.Alarm{Key: "rule:" + w.rule, Source: DriverID + "." + w.address,
					SourceType: "Sensor", Message: fmt.Sprintf("%s: %s is %.2f, limit %g", w.text, w.address, f, w.limit), Severity: w.severity, At: at}})
			case f <= w.limit && active, active && w.every > 1:
				active = false
				signals = append(signals, alarms.Signal{Key: "rule:" + w.rule, At: at})
			}
		}
		if active {
			signals = append(signals, alarms.Signal{Key: "rule:" + w.rule, At: now.Add(-alarmStep)})
		}
	}
	slices.SortStableFunc(signals, func(a, b alarms.Signal) int { return a.At.Compare(b.At) })
	return signals, nil
}
