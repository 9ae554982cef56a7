package demo

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/otkit/otkit/engine"
	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/transport/predictiveapi/predictivepart"
	"github.com/otkit/otkit/transport/server"
)

// recordInterval is how often the failures and replacements of the pumps are recorded.
const recordInterval = time.Minute

// installPredictions makes the pumps the equipment of predictive maintenance and records what happens to them.
func installPredictions(ctx context.Context, o *engine.Options, list []pump, now time.Time) error {
	setPredictions(&o.Predictive)
	// The line has no records, and its tags mean something else than those of the pumps of the same names.
	o.Predictive.Tags.Exclude = append(o.Predictive.Tags.Exclude, DriverID)
	if o.Predictive.Records == nil {
		o.Predictive.Records = new(predictive.MemoryRecords)
	}
	recorder := pumpRecorder{pumps: list, store: o.Predictive.Records, log: o.Server.Logger}
	if _, err := addPumpRecords(ctx, list, recorder.store, now); errors.Is(err, storage.ErrFull) {
		recorder.log.Warn("failed to record the past of the demo pumps; retrying later", "error", err)
	} else if err != nil {
		return err
	}
	o.Parts = append(o.Parts, server.Part{Name: "demo-pumps", Jobs: []func(context.Context){recorder.run}})
	return nil
}

// setPredictions sets what suits the pumps where the settings have their defaults. Parts live for days, so failures and short lives are those
// of the next day; the tag that shows failures best is watched. The rows are few, so that the models are trained within seconds of the first start.
func setPredictions(o *predictivepart.Options) {
	const day, week = 24 * time.Hour, 7 * 24 * time.Hour
	for _, span := range []*time.Duration{&o.Service.Horizon, &o.Monitor.Within} {
		if *span == 0 || *span == week {
			*span = day
		}
	}
	if o.Service.MaxRows == 0 || o.Service.MaxRows == 50_000 {
		o.Service.MaxRows = 1000
	}
	if o.Service.Features.Step == 0 {
		o.Service.Features.Step = time.Hour
	}
	if len(o.Monitor.Tags) == 0 {
		o.Monitor.Tags = []string{"pump*.vibration"}
	}
	// A result counts once an hour, the step of the models; the first alarms should come with the first.
	if p, r := o.Monitor.Positive, o.Monitor.Results; (p == 0 || p == 3) && (r == 0 || r == 5) {
		o.Monitor.Positive, o.Monitor.Results = 1, 2
	}
}

// TrainModels starts trainings of the models that are missing, if there is a pump to train them with.
func TrainModels(ctx context.Context, s *predictive.Service) error {
	equipments, err := s.Equipments(ctx)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(allPumps(), func(p pump) bool { return slices.Contains(equipments, p.id()) }) {
		return nil
	}
	for _, modelType := range predictive.ModelTypes() {
		models, err := s.Models(ctx, modelType)
		if err != nil {
			return err
		}
		if len(models.List) > 0 {
			continue
		}
		if _, err := s.StartTraining(ctx, modelType); err != nil {
			return err
		}
	}
	return nil
}

// pumpRecorder records what happens to the pumps.
type pumpRecorder struct {
	pumps []pump
	store predictive.RecordStore
	log   *slog.Logger
}

func (r pumpRecorder) run(ctx context.Context) {
	tick := time.NewTicker(recordInterval)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		_, err := addPumpRecords(ctx, r.pumps, r.store, time.Now())
		if err != nil && !failing && ctx.Err() == nil {
			r.log.Warn("failed to record failures of the demo pumps; retrying", "error", err)
		}
		failing = err != nil
	}
}
