package predictive

import "time"

// FailurePrediction is the answer of [Service.FailurePrediction]. Numbers are finite.
type FailurePrediction struct {
	EquipmentID string
	TagID       string
	// FailureProbability is the probability, from 0 to 1, that the equipment fails within the horizon.
	FailureProbability float64
	// Prediction is "Failure" if the probability reaches Threshold, else "Normal".
	Prediction string
	// Confidence is how far the answer can be relied on, from 0 to 1; see [Confidence].
	Confidence  float64
	PredictedAt time.Time
	// SampledAt is the time of the newest sample, and Step the distance of the rows that the model was trained with. Within a step, predictions see
	// nearly the same.
	SampledAt time.Time
	Step      time.Duration
	// LifeStart is when the life began that the answer is of: the last repair or replacement. Zero if no record tells it.
	LifeStart time.Time
	Features  FailureFeatures
	Threshold float64
	// HorizonHours is the horizon in hours.
	HorizonHours     float64
	ModelVersion     int // 0 for one of [Deps.Models]
	ConfidenceDetail Confidence
}

// The values of [FailurePrediction.Prediction].
const (
	PredictionNormal  = "Normal"
	PredictionFailure = "Failure"
)

// FailureFeatures describe the newest window of a tag, in its unit. StdDev has n-1; Trend is per hour. Both are 0 if there are fewer than two
// samples.
type FailureFeatures struct {
	Mean   float64
	StdDev float64
	Trend  float64
}

// Confidence has the factors of a confidence, each from 0 to 1. The confidence is their product.
type Confidence struct {
	// Support is 1 if at least half of the steps of the window have samples, and in proportion less if fewer have. With several tags it is the
	// mean; a tag that the model needs and the equipment lacks counts as 0.
	Support float64
	// Freshness is 1 while the newest sample is at most two steps old, and 0 when it is as old as the window.
	Freshness float64
	// InDistribution is 1 while the features are as in training, and less the farther they are from it.
	InDistribution float64
	// Precision is 1 for a probability, and one minus the width of the interval divided by the longest life that the model predicts for a
	// remaining life.
	Precision float64
	// Model is 1 for a model of the tag's role or of the component, and 0.5 for the pooled one of all. One of [Deps.Models] tells it.
	Model float64
}

// RUL is the answer of [Service.RUL]: the remaining useful life of a component. Numbers are finite.
type RUL struct {
	EquipmentID   string
	ComponentName string
	// RULDays is the remaining life in whole days, rounded down.
	RULDays int
	// LowDays and HighDays limit the remaining life with a probability of 90%, in days.
	LowDays  float64
	HighDays float64
	// Capped is set if the component may last longer than the model can tell; RULDays is then a least value.
	Capped bool
	// Confidence is how far the answer can be relied on, from 0 to 1; see [Confidence].
	Confidence           float64
	PredictedFailureDate time.Time
	// HealthScore is the remaining life divided by the longest one that the model predicts, from 0 to 1.
	HealthScore float64
	PredictedAt time.Time
	// SampledAt, Step and LifeStart are as of a FailurePrediction.
	SampledAt        time.Time
	Step             time.Duration
	LifeStart        time.Time
	Recommendation   string
	ModelVersion     int // 0 for one of [Deps.Models]
	ConfidenceDetail Confidence
}

// Range is a range of values, in the unit of the tag.
type Range struct {
	Min float64
	Max float64
}

// Severity is how far a value is from normal.
type Severity string

// The severities, in ascending order. What is not anomalous is Low.
const (
	SeverityLow      Severity = "Low"
	SeverityMedium   Severity = "Medium"
	SeverityHigh     Severity = "High"
	SeverityCritical Severity = "Critical"
)

// Anomaly is the answer of [Service.Anomaly] about the newest sample of a tag. Numbers are finite.
type Anomaly struct {
	TagID     string
	IsAnomaly bool // AnomalyScore >= Threshold
	// AnomalyScore is from 0 to 1: 1 minus the probability of samples that are as far from normal, in the averages of the tag or as single
	// values.
	AnomalyScore float64
	Threshold    float64
	// DetectedAt is when the call was made, and SampledAt the time of the sample.
	DetectedAt    time.Time
	SampledAt     time.Time
	CurrentValue  float64
	ExpectedRange Range
	Severity      Severity
}

// Multivariate is the answer of [Service.Multivariate] about the newest values of several tags. Numbers are finite.
type Multivariate struct {
	IsAnomaly bool // AnomalyScore >= Threshold
	// AnomalyScore is i/(1+i), where i is the distance from normal in units of its limit, so 0.5 is the limit.
	AnomalyScore float64
	Threshold    float64
	// ContributingTags are the tags that make up most of an anomaly, the largest first. Without one the list is empty.
	ContributingTags []string
	// TagScores has the part of each tag in AnomalyScore.
	TagScores  map[string]float64
	DetectedAt time.Time
	Severity   Severity
}

// Training is the answer of [Service.Retrain].
type Training struct {
	Success         bool
	ModelType       ModelType
	Version         int
	TrainedAt       time.Time
	TrainingSamples int
	Accuracy        float64
	Precision       float64
	Recall          float64
	F1Score         float64
	Message         string
}

// ConfusionMatrix counts decisions. An RUL model decides for a failure if the remaining life is at most the horizon.
type ConfusionMatrix struct {
	TruePositive  int `json:"truePositive"`
	TrueNegative  int `json:"trueNegative"`
	FalsePositive int `json:"falsePositive"`
	FalseNegative int `json:"falseNegative"`
}

// Metrics judge a model by lives that its training did not see: all rows of those that ended by a failure, and of those that have not failed,
// as of healthy equipments, the rows that are farther than the horizon from the end of what is known. Numbers are finite; those that do not
// apply are nil.
type Metrics struct {
	ModelType ModelType `json:"modelType"`
	Version   int       `json:"version"`
	TrainedAt time.Time `json:"trainedAt"`
	// TestSampleCount is the number of rows, each counted as often as it stands for others that were dropped; the confusion matrix adds up to it.
	TestSampleCount int             `json:"testSampleCount"`
	Accuracy        float64         `json:"accuracy"`
	Precision       float64         `json:"precision"`
	Recall          float64         `json:"recall"`
	F1Score         float64         `json:"f1Score"`
	ConfusionMatrix ConfusionMatrix `json:"confusionMatrix"`
	// Split tells how the test data were chosen: SplitTime or SplitUnits.
	Split string `json:"split"`
	// TestLives is the number of lives with a failure that the rows are of, and UnfinishedLives that of lives without one.
	TestLives       int `json:"testLives"`
	UnfinishedLives int `json:"unfinishedLives"`
	// AUC, ECE and Brier judge probabilities: the area under the receiver operating characteristic, the expected calibration error and the Brier
	// score.
	AUC         *float64      `json:"auc,omitempty"`
	ECE         *float64      `json:"ece,omitempty"`
	Brier       *float64      `json:"brier,omitempty"`
	Calibration []Calibration `json:"calibration,omitempty"`
	// RMSE, MAE (days), NASAScore (of days) and Coverage (share of the intervals that cover the actual life) judge remaining lives, which count
	// as the longest one that the model predicts where they exceed it. They need an end, so unfinished lives do not count.
	RMSE      *float64 `json:"rmse,omitempty"`
	MAE       *float64 `json:"mae,omitempty"`
	NASAScore *float64 `json:"nasaScore,omitempty"`
	Coverage  *float64 `json:"coverage,omitempty"`
	// CapDays is the longest life that the model predicts, in days.
	CapDays *float64 `json:"capDays,omitempty"`
	// Drift has the features that differ most from training, the largest first. It is computed when metrics are asked for.
	Drift []FeatureDrift `json:"drift,omitempty"`
}

// The values of [Metrics.Split].
const (
	// SplitTime judges by lives that began after all lives of the training had ended, and by later rows of lives that have not failed.
	SplitTime = "time"
	// SplitUnits judges by equipments that the training did not see, where lives do not follow each other.
	SplitUnits = "units"
)

// Calibration compares the probabilities in a range with what happened.
type Calibration struct {
	Low       float64 `json:"low"`
	High      float64 `json:"high"`
	Predicted float64 `json:"predicted"`
	Observed  float64 `json:"observed"`
	Count     int     `json:"count"`
}

// FeatureDrift is how far recent values of a feature are from those of the training; see [learn.Drift].
type FeatureDrift struct {
	Feature string `json:"feature"`
	// PSI is what exceeds the index that chance stays below with a probability of 95%.
	PSI     float64 `json:"psi"`
	KS      float64 `json:"ks"`
	Missing float64 `json:"missing"`
}
