package engineconfig

import (
	"time"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/predictivealarms"
	"github.com/otkit/otkit/internal/settings"
	"github.com/otkit/otkit/predictive/alarmfailures"
	"github.com/otkit/otkit/predictive/monitor"
	"github.com/otkit/otkit/transport/predictiveapi/predictivepart"
)

// PredictiveMonitor configures predictions on a timer.
type PredictiveMonitor struct {
	Enabled       bool          `key:"enabled" default:"true" doc:"Predict on a timer. Without a trained model, only anomalies are looked for."`
	Interval      time.Duration `key:"interval" default:"15m" rule:"1s.." doc:"How often a prediction is made for each tag and component."`
	MaxLoad       float64       `key:"maxLoad" default:"0.25" rule:"0.01..1" doc:"Share of the time that predictions may take. If there are too many for the interval, each is made less often."`
	MaxTargets    int           `key:"maxTargets" default:"1000" rule:"1..1000000" doc:"Largest number of tags and components that are predicted for: components first, then tags of each equipment in turn. The log names equipment with further ones."`
	Equipments    []string      `key:"equipments" doc:"Patterns over the ids of the equipment that is predicted for, such as pump*. Default: all."`
	FailureTags   []string      `key:"failureTags" doc:"Patterns over the names of tags that failures are predicted from. Default: all."`
	Components    []string      `key:"components" doc:"Patterns over the components whose remaining lives are predicted, of those that failures and replacements name. Default: all."`
	AnomalyTags   []string      `key:"anomalyTags" doc:"Patterns over the names of tags whose samples are checked for anomalies, such as *.vibration. Default: none."`
	MinConfidence float64       `key:"minConfidence" default:"0.1" rule:"0..1" doc:"Confidence below which a prediction does not count."`
	RemainingLife time.Duration `key:"remainingLife" rule:"1h..|0 for predictive.horizon" doc:"Remaining life up to which a component counts as failing, unless it is the longest that the model predicts."`
	Results       int           `key:"results" default:"5" rule:"1..63" doc:"Number of last predictions that are counted. Those from samples of one step of the model count once."`
	Positive      int           `key:"positive" default:"3" rule:"1..63" doc:"So many of the last predictions must be of a failure or an anomaly before the alarm."`
	Clear         int           `key:"clear" default:"0" rule:"0..62" doc:"At most so many of the last predictions may still be before the alarm is cleared."`
	Tags          bool          `key:"tags" default:"true" doc:"Show the results as tags of the driver predictive."`

	MinProbability float64 `key:"minProbability" default:"0.5" rule:"0.01..1" doc:"Probability from which a predicted failure counts towards the alarm, even if the threshold of the model is lower."`
}

// Validate implements settings.Validator.
func (m PredictiveMonitor) Validate(p *settings.Problems) {
	checkPatterns(p, "equipments", m.Equipments)
	checkPatterns(p, "failureTags", m.FailureTags)
	checkPatterns(p, "components", m.Components)
	checkPatterns(p, "anomalyTags", m.AnomalyTags)
	p.Must(m.Positive <= m.Results, "positive", "must be at most predictive.monitor.results")
	p.Must(m.Clear < m.Positive, "clear", "must be below predictive.monitor.positive")
}

// PredictiveSchedule configures trainings that begin by themselves.
type PredictiveSchedule struct {
	Every         time.Duration `key:"every" rule:"1h..|0 for never" doc:"Age of a model from which it is trained again. A missing one is trained too."`
	PSI           float64       `key:"psi" rule:"0.." doc:"Population stability index of the most drifted feature above which a model is trained again; above 0.25 is usually taken for a large shift. 0 for never."`
	Checks        int           `key:"checks" default:"3" rule:"1..1000" doc:"So many checks in a row must be above psi."`
	Pause         time.Duration `key:"pause" default:"24h" rule:"1h.." doc:"Least time between two trainings for drift."`
	CheckInterval time.Duration `key:"checkInterval" default:"1h" rule:"1m.." doc:"How often age and drift are checked."`
}

// PredictiveAlarms configures what predictions and alarms have to do with each other.
type PredictiveAlarms struct {
	Enabled         bool          `key:"enabled" default:"true" doc:"Raise alarms for predicted failures, short remaining lives and anomalies."`
	FailureSeverity string        `key:"failureSeverity" default:"Warning" rule:"Info|Warning|Error|Critical" doc:"Severity of a predicted failure."`
	RULSeverity     string        `key:"rulSeverity" default:"Warning" rule:"Info|Warning|Error|Critical" doc:"Severity of a short remaining life."`
	AnomalySeverity string        `key:"anomalySeverity" default:"Warning" rule:"Info|Warning|Error|Critical" doc:"Severity of an anomaly."`
	RecordFailures  bool          `key:"recordFailures" default:"true" doc:"Record a failure for each Critical alarm of an equipment that is over and has the label equipmentId or component, or one of failureKeys. Trainings learn from them."`
	FailureKeys     []string      `key:"failureKeys" doc:"Patterns over the keys of the Critical alarms that are recorded as failures, such as rule:trip-*, of the driver of their tag, and webhook:* for alerts of other systems. Default: only other alarms whose labels tell what has failed."`
	MergeGap        time.Duration `key:"mergeGap" default:"1h" rule:"1s.." doc:"An alarm that is raised again within this time after its end is one failure with it."`
	StartDelay      time.Duration `key:"startDelay" default:"30s" rule:"1ms.." doc:"How long after a start alarms are first recorded as failures, which lets drivers and their tags come before."`
}

// Validate implements settings.Validator.
func (a PredictiveAlarms) Validate(p *settings.Problems) {
	checkPatterns(p, "failureKeys", a.FailureKeys)
}

// joinHouse sets the options of what is predicted and trained without being asked.
func (c Predictive) joinHouse(o *predictivepart.Options) {
	m, s, a := c.Monitor, c.Schedule, c.Alarms
	o.WithoutMonitor, o.WithoutTags, o.WithoutFailures = !m.Enabled, !m.Tags, !a.RecordFailures
	o.Monitor = monitor.Options{Interval: m.Interval, MaxLoad: m.MaxLoad, MaxTargets: m.MaxTargets, Equipments: m.Equipments, Tags: m.FailureTags,
		Components: m.Components, Anomalies: m.AnomalyTags, MinProbability: m.MinProbability, MinConfidence: m.MinConfidence, Within: m.RemainingLife,
		Results: m.Results, Positive: m.Positive, Clear: m.Clear}
	o.Retrain = monitor.RetrainOptions{Every: s.Every, PSI: s.PSI, Checks: s.Checks, Pause: s.Pause, CheckInterval: s.CheckInterval}
	severities := make(map[monitor.Kind]alarms.Severity)
	for kind, name := range map[monitor.Kind]string{monitor.Failure: a.FailureSeverity, monitor.RUL: a.RULSeverity, monitor.Anomaly: a.AnomalySeverity} {
		severities[kind], _ = alarms.ParseSeverity(name) // validated
	}
	o.Alarms = predictivealarms.Options{Disabled: !a.Enabled, Severities: severities}
	o.Failures = alarmfailures.Options{Keys: a.FailureKeys, MergeGap: a.MergeGap, StartDelay: a.StartDelay}
}
