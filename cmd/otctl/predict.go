package main

import (
	"context"
	"fmt"
	"time"

	"github.com/otkit/otkit/openapi/client"
)

func predictCommands() []command {
	return []command{
		{name: "predict equipments", about: "List equipments, their tags and their components", run: listEquipments},
		{name: "predict failure", args: "EQUIPMENT TAG", about: "Tell how probably an equipment fails within the horizon", least: 2, most: 2, takes: []string{"equipment", "tag"}, run: predictFailure},
		{name: "predict rul", args: "EQUIPMENT COMPONENT", about: "Tell the remaining life of a component", least: 2, most: 2, takes: []string{"equipment", ""}, run: predictRUL},
		{name: "predict anomaly", args: "TAG", about: "Tell whether the newest sample of a tag is unlike those before", least: 1, most: 1, takes: []string{"tag"}, run: detectAnomaly},
		{name: "predict train", args: "FailurePrediction|RUL", about: "Train a model; an interrupt leaves the training to the engine", least: 1, most: 1, takes: []string{"=FailurePrediction RUL"}, run: train},
	}
}

func listEquipments(ctx context.Context, c *cli, _ []string) error {
	conn, err := c.connect()
	if err != nil {
		return err
	}
	ids, raw, err := get[[]string](conn.ListEquipments(ctx))
	if err != nil || c.output == "json" {
		if err == nil {
			err = c.json(raw)
		}
		return err
	}
	rows := [][]string{{"EQUIPMENT", "TAGS", "COMPONENTS"}}
	for _, id := range ids {
		names, _, err := get[[]string](conn.ListEquipmentTags(ctx, id))
		if err != nil {
			return err
		}
		parts, _, err := get[[]string](conn.ListEquipmentComponents(ctx, id))
		if err != nil {
			return err
		}
		for i := range max(len(names), len(parts), 1) {
			rows = append(rows, []string{at([]string{id}, i), at(names, i), at(parts, i)})
		}
	}
	_, err = c.out.WriteString(layout(rows))
	return err
}

// at returns an item of a list, and a blank behind its end.
func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return " "
}

func percent(v float64) string { return fmt.Sprintf("%.1f%%", v*100) }

func predictFailure(ctx context.Context, c *cli, args []string) error {
	conn, err := c.connect()
	if err != nil {
		return err
	}
	p, raw, err := get[client.FailurePrediction](conn.PredictFailure(ctx, args[0], args[1]))
	if err != nil {
		return err
	}
	return c.show(raw, func() [][]string {
		return [][]string{{"EQUIPMENT", "TAG", "PREDICTION", "PROBABILITY", "THRESHOLD", "WITHIN", "CONFIDENCE", "MODEL"},
			{p.EquipmentID, p.TagID, string(p.Prediction), percent(p.FailureProbability), percent(p.Threshold), number(p.HorizonHours) + " h", percent(p.Confidence), p.ModelVersion}}
	})
}

func predictRUL(ctx context.Context, c *cli, args []string) error {
	conn, err := c.connect()
	if err != nil {
		return err
	}
	p, raw, err := get[client.RULPrediction](conn.PredictRUL(ctx, args[0], args[1]))
	if err != nil {
		return err
	}
	return c.show(raw, func() [][]string {
		days := fmt.Sprint(p.RulDays)
		if p.Capped {
			days = "at least " + days
		}
		return [][]string{{"EQUIPMENT", "COMPONENT", "DAYS", "90% FROM", "TO", "HEALTH", "CONFIDENCE", "MODEL", "RECOMMENDATION"},
			{p.EquipmentID, p.ComponentName, days, number(p.RulLowDays), number(p.RulHighDays), percent(p.HealthScore), percent(p.Confidence), p.ModelVersion, p.Recommendation}}
	})
}

func detectAnomaly(ctx context.Context, c *cli, args []string) error {
	conn, err := c.connect()
	if err != nil {
		return err
	}
	a, raw, err := get[client.AnomalyResult](conn.DetectAnomaly(ctx, args[0]))
	if err != nil {
		return err
	}
	return c.show(raw, func() [][]string {
		return [][]string{{"TAG", "ANOMALY", "SCORE", "THRESHOLD", "VALUE", "EXPECTED", "SEVERITY", "SAMPLE"},
			{a.TagID, yesNo(a.IsAnomaly), number(a.AnomalyScore), number(a.Threshold), number(a.CurrentValue),
				number(a.ExpectedRange.Min) + " to " + number(a.ExpectedRange.Max), string(a.Severity), local(a.SampledAt)}}
	})
}

func train(ctx context.Context, c *cli, args []string) error {
	conn, err := c.connect()
	if err != nil {
		return err
	}
	job, raw, err := change[client.TrainingJob](conn.StartTraining(ctx, client.StartTrainingRequest{ModelType: args[0]}))
	if err != nil {
		return err
	}
	show := c.progress("training "+job.ModelType, 0)
	defer show.end()
	failed := time.Time{}
	for tries := 0; job.State == client.JobRunning; tries++ {
		show.draw(job.Progress, job.Stage)
		if err := pause(ctx, tries); err != nil {
			return err
		}
		now, text, err := get[client.TrainingJob](conn.GetTrainingJob(ctx, job.ID))
		switch {
		case err == nil:
			job, raw, failed = now, text, time.Time{}
		case c.codeOf(err) != exitFailed:
			return err
		case failed.IsZero():
			failed = time.Now()
		case time.Since(failed) > time.Minute:
			return failf(exitUnknown, "the outcome of the training %s is unknown: %w", job.ID, err)
		}
	}
	show.end()
	err = c.show(raw, func() [][]string {
		t := job.Training
		return [][]string{{"MODEL", "STATE", "VERSION", "SAMPLES", "ACCURACY", "MESSAGE"}, {job.ModelType, string(job.State), t.Version, fmt.Sprint(t.TrainingSamples), percent(t.Accuracy), t.Message}}
	})
	if job.State != client.JobSucceeded {
		return failf(exitFailed, "the training ended as %s: %s", job.State, job.Training.Message)
	}
	return err
}
