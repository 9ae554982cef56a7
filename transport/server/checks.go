package server

import (
	"context"
	"fmt"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/health"
)

// addChecks registers what the health endpoints tell.
func (s *Server) addChecks() error {
	checks := []health.Check{
		{Name: "storage", Ready: true, Run: s.checkStorage},
		{Name: "driver", Run: s.checkDrivers},
		{Name: "tag-configuration", Run: s.checkConfig},
		{Name: "alerting", Run: s.checkAlerting},
		{Name: "alarm-rules", Run: s.checkAlarmRules},
	}
	if s.plant.recorder != nil {
		checks = append(checks, health.Check{Name: "history", Run: s.checkHistory})
	}
	for _, c := range checks {
		if err := s.health.Add(c); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) checkStorage(ctx context.Context) health.Result {
	if s.opts.Stores.Ping == nil {
		return health.Result{Status: health.Healthy, Description: "kept in memory"}
	}
	if err := s.opts.Stores.Ping(ctx); err != nil {
		if ctx.Err() != context.Canceled { // else the server stops
			s.log.Warn("storage is not usable", "error", err)
		}
		return health.Result{Status: health.Unhealthy, Description: "the database cannot be used"}
	}
	return health.Result{Status: health.Healthy, Description: "the database answers"}
}

// checkDrivers is Degraded while a driver is not online: the engine itself works.
func (s *Server) checkDrivers(context.Context) health.Result {
	r := health.Result{Status: health.Healthy, Data: map[string]any{}}
	offline := 0
	drivers := s.plant.engine.Drivers()
	for _, d := range drivers {
		r.Data[d.ID] = d.State
		if d.State != tags.DriverOnline {
			offline++
			r.Status = health.Degraded
		}
	}
	r.Description = fmt.Sprintf("%d of %d drivers online", len(drivers)-offline, len(drivers))
	return r
}

func (s *Server) checkConfig(context.Context) health.Result {
	refused := len(s.plant.binder.Faults())
	switch err := s.plant.config.Err(); {
	case err != nil:
		return health.Result{Status: health.Degraded, Description: "the model file cannot be read; the last good configuration is in force"}
	case refused > 0:
		return health.Result{Status: health.Degraded, Description: fmt.Sprintf("%d configured tags were refused", refused)}
	}
	r := health.Result{Status: health.Healthy, Description: fmt.Sprintf("%d tags configured", len(s.plant.config.List()))}
	if unknown := s.plant.config.Unknown(); len(unknown) > 0 {
		r.Data = map[string]any{"unknownMembers": unknown}
	}
	return r
}

// checkAlerting is Degraded while alarms are raised and nobody is told of them.
func (s *Server) checkAlerting(context.Context) health.Result {
	if s.room.dispatcher.Err() != nil { // it has logged why
		return health.Result{Status: health.Degraded, Description: "not dispatching: channels are not told of alarms, since the store cannot be used"}
	}
	return health.Result{Status: health.Healthy, Description: "channels are told of alarms"}
}

// checkAlarmRules is Degraded while rules are not judged or what they raise is not stored.
func (s *Server) checkAlarmRules(context.Context) health.Result {
	switch stats := s.room.rules.Stats(); {
	case stats.Err != nil: // it has logged why
		return health.Result{Status: health.Degraded, Description: "the alarms of rules wait, since the store cannot be used"}
	case stats.Unreadable > 0:
		return health.Result{Status: health.Degraded, Description: fmt.Sprintf("%d alarm rules cannot be read; the log names them", stats.Unreadable)}
	default:
		return health.Result{Status: health.Healthy, Description: fmt.Sprintf("%d alarm rules enabled", stats.Rules)}
	}
}

func (s *Server) checkHistory(context.Context) health.Result {
	stats := s.plant.recorder.Stats()
	r := health.Result{Status: health.Healthy, Description: "samples are stored",
		Data: map[string]any{"stored": stats.Stored, "waiting": stats.Waiting, "dropped": stats.Dropped}}
	if stats.Err != nil {
		r.Status, r.Description = health.Degraded, "samples cannot be stored; the newest wait in memory"
	}
	return r
}
