package monitor

import (
	"cmp"
	"log/slog"
	"path"
	"slices"
	"time"

	"github.com/otkit/otkit/fault"
)

const pkg = "monitor"

// Options configure a [Monitor]. The zero value works. Patterns are those of path.Match; without one, all match unless the
// member has another default.
type Options struct {
	Equipments []string // patterns of the equipments
	Tags       []string // patterns of the tags that failures are predicted from
	Components []string // patterns of the components whose remaining lives are predicted, of those that records name
	Anomalies  []string // patterns of the tags whose samples are judged; default: none

	// Interval is how often a target is predicted for, if MaxLoad allows, and how often targets are listed. Default: 15 minutes.
	Interval time.Duration
	// MaxLoad is the share of time that predictions may take, from 0.01 to 1. Beyond it, each target is predicted for less often.
	// Default: 0.25.
	MaxLoad float64
	// MaxTargets bounds the targets; further ones are omitted. Remaining lives come first, and the equipments take turns. The components of more
	// equipments than MaxTargets are not looked for. Default: 1000.
	MaxTargets int
	// Timeout bounds a prediction. Default: 30 seconds.
	Timeout time.Duration

	// A target is failing from Positive positive results among the last Results, and normal again if at most Clear of them are
	// positive. A result counts if the newest sample is in another step of the model than that of the one before, and that of an anomaly if it
	// is about another sample: what has seen the same is no further evidence. Defaults: 3 of 5, and 0.
	Positive, Results, Clear int
	// MinProbability is the probability below which a prediction of a failure is not positive, above 0 and up to 1. The threshold of a
	// tag that shows little is so low that most of its predictions are of a failure; an alarm should be right more often than not. Default: 0.5.
	MinProbability float64
	// MinConfidence is the confidence below which a result does not count, from 0 to 1. Anomalies have none.
	MinConfidence float64
	// Within is the remaining life up to which a result is positive, unless it is the longest that the model predicts. Default: 7 days.
	Within time.Duration

	Clock func() time.Time // of results without a prediction; default: time.Now
	Log   *slog.Logger     // default: discards
}

func (o *Options) complete() error {
	o.Interval, o.Timeout = cmp.Or(o.Interval, 15*time.Minute), cmp.Or(o.Timeout, 30*time.Second)
	o.Within, o.MaxLoad = cmp.Or(o.Within, 7*24*time.Hour), cmp.Or(o.MaxLoad, 0.25)
	o.MinProbability = cmp.Or(o.MinProbability, 0.5)
	o.MaxTargets, o.Positive, o.Results = cmp.Or(o.MaxTargets, 1000), cmp.Or(o.Positive, 3), cmp.Or(o.Results, 5)
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	for _, list := range []struct {
		name     string
		patterns []string
	}{{"Equipments", o.Equipments}, {"Tags", o.Tags}, {"Components", o.Components}, {"Anomalies", o.Anomalies}} {
		for _, pattern := range list.patterns {
			if _, err := path.Match(pattern, ""); err != nil {
				return fault.Option(pkg, "Options."+list.name, "has %q, which is no pattern", pattern)
			}
		}
	}
	for _, check := range []struct {
		name string
		ok   bool
		want string
	}{
		{"Interval", o.Interval >= time.Second, "1s or more"}, {"Timeout", o.Timeout > 0, "above 0"}, {"Within", o.Within > 0, "above 0"},
		{"MaxLoad", o.MaxLoad >= 0.01 && o.MaxLoad <= 1, "0.01 to 1"}, {"MaxTargets", o.MaxTargets > 0 && o.MaxTargets <= 1_000_000, "1 to 1000000"},
		{"Results", o.Results >= 1 && o.Results <= 63, "1 to 63"}, {"Positive", o.Positive >= 1 && o.Positive <= o.Results, "1 to Options.Results"},
		{"Clear", o.Clear >= 0 && o.Clear < o.Positive, "0 or more and below Options.Positive"},
		{"MinProbability", o.MinProbability > 0 && o.MinProbability <= 1, "above 0 and up to 1"},
		{"MinConfidence", o.MinConfidence >= 0 && o.MinConfidence <= 1, "0 to 1"},
	} {
		if !check.ok {
			return fault.Option(pkg, "Options."+check.name, "must be %s", check.want)
		}
	}
	return nil
}

// matches reports whether one of the patterns matches; none is fallback.
func matches(patterns []string, text string, fallback bool) bool {
	if len(patterns) == 0 {
		return fallback
	}
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, _ := path.Match(pattern, text)
		return ok
	})
}
