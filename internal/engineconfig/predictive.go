package engineconfig

import (
	"fmt"
	"log/slog"
	"path"
	"time"

	"github.com/otkit/otkit/internal/settings"
	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/transport/predictiveapi/predictivepart"
)

// Predictive is about predictions of failures, remaining lives and anomalies.
type Predictive struct {
	Horizon         time.Duration `key:"horizon" default:"168h" rule:"1h.." doc:"How far ahead a failure is predicted."`
	Lookback        time.Duration `key:"lookback" default:"17520h" rule:"24h.." doc:"How much history a training uses. More than tags.history.maxAge is not there."`
	Components      []string      `key:"components" default:"Bearing,Motor,Gearbox,Pump,Seal" rule:"required" doc:"Components of equipment whose failures and replacements name none."`
	MinFailures     int           `key:"minFailures" default:"10" rule:"3..1000" doc:"Failures that a training needs; a remaining life is told from half as many, but at least 3."`
	MaxRows         int           `key:"maxRows" default:"50000" rule:"100..10000000" doc:"Largest number of rows of a training, which bounds its memory."`
	PromoteIfBetter bool          `key:"promoteIfBetter" doc:"Keep the model in use unless the new one is better, by F1 score or RMSE."`
	Seed            int           `key:"seed" rule:"0.." doc:"Seed of trainings: with the same data and seed, the model is the same."`
	TrainingTimeout time.Duration `key:"trainingTimeout" default:"1h" rule:"1s.." doc:"Longest time of a training."`
	Keep            int           `key:"keep" default:"10" rule:"1..|-1 for all" doc:"Undamaged versions of each model type that are kept in the folder models of the data directory. The one in use is kept always."`
	SettingTags     []string      `key:"settingTags" doc:"Patterns over the names of tags that say how equipment is run, such as *.speed or *.load; * stands for any text without a /."`
	ExcludeDrivers  []string      `key:"excludeDrivers" doc:"Drivers that are no equipment."`

	Monitor  PredictiveMonitor  `key:"monitor"`
	Schedule PredictiveSchedule `key:"schedule"`
	Alarms   PredictiveAlarms   `key:"alarms"`
	Remote   PredictiveRemote   `key:"remote" doc:"A server that predicts in place of the trained models."`
}

// Validate implements settings.Validator.
func (c Predictive) Validate(p *settings.Problems) {
	checkPatterns(p, "settingTags", c.SettingTags)
	p.Must(c.Lookback > c.Horizon, "lookback", "must be above predictive.horizon")
}

// checkPatterns refuses what path.Match does.
func checkPatterns(p *settings.Problems, key string, patterns []string) {
	for i, pattern := range patterns {
		_, err := path.Match(pattern, "")
		p.Must(err == nil, fmt.Sprintf("%s[%d]", key, i), `must be a pattern, in which [ needs a ], and \ a character after it`)
	}
}

func (c Predictive) options(log *slog.Logger, p *settings.Problems) predictivepart.Options {
	o := predictivepart.Options{
		Keep: c.Keep, Models: c.Remote.models(log, p),
		Tags: predictivepart.InventoryOptions{Settings: c.SettingTags, Exclude: c.ExcludeDrivers},
		Service: predictive.Options{Components: c.Components, Horizon: c.Horizon, Lookback: c.Lookback, MaxRows: c.MaxRows, MinFailures: c.MinFailures,
			Seed: uint64(c.Seed), PromoteIfBetter: c.PromoteIfBetter, TrainingTimeout: c.TrainingTimeout},
	}
	c.joinHouse(&o)
	return o
}
