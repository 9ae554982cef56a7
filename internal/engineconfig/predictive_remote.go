package engineconfig

import (
	"log/slog"
	"time"

	"github.com/otkit/otkit/internal/settings"
	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/predictive/remote"
)

// PredictiveRemote asks a server for predictions in place of the trained models.
type PredictiveRemote struct {
	URL        string        `key:"url" doc:"URL that is asked for predictions by POST, http or https; empty for none. See docs/predictive.md."`
	Token      string        `key:"token" secret:"true" doc:"Bearer token for it; empty for none."`
	CAFile     string        `key:"caFile" doc:"PEM file with the authorities of its certificate; empty for those of the system."`
	ModelTypes []string      `key:"modelTypes" default:"FailurePrediction,RUL" rule:"required" doc:"What it predicts; the trained models answer the rest."`
	Step       time.Duration `key:"step" rule:"0.." doc:"Step of the training set that its model was trained with: its column stepSeconds. Required with url."`
	Roles      []string      `key:"roles" doc:"Roles of the tags that its model of remaining lives knows; empty for all tags of the equipment."`
	Samples    int           `key:"samples" rule:"0..5000" doc:"Newest samples of each tag that it gets besides the features."`
	Timeout    time.Duration `key:"timeout" default:"5s" rule:"1ms..1m" doc:"Longest time of a prediction."`
}

// Validate implements settings.Validator.
func (r PredictiveRemote) Validate(p *settings.Problems) {
	if r.URL == "" {
		return
	}
	if r.Step == 0 {
		p.Needed("step", "url")
	}
	for _, text := range r.ModelTypes {
		_, err := predictive.ParseModelType(text)
		p.Must(err == nil, "modelTypes", "must be FailurePrediction, RUL or both")
	}
}

// models returns the models of the server, nil for none.
func (r PredictiveRemote) models(log *slog.Logger, p *settings.Problems) map[predictive.ModelType]predictive.Model {
	const path = "predictive.remote"
	if r.URL == "" || p.Has(path) {
		return nil
	}
	m, err := remote.New(remote.Options{URL: r.URL, Token: r.Token, TLS: trust(p, path+".caFile", r.CAFile), Step: r.Step, Roles: r.Roles, Samples: r.Samples,
		Timeout: r.Timeout, Log: log})
	if err != nil {
		p.Take(err, path, nil)
		return nil
	}
	models := make(map[predictive.ModelType]predictive.Model)
	for _, text := range r.ModelTypes {
		t, _ := predictive.ParseModelType(text) // validated
		models[t] = m
	}
	return models
}
