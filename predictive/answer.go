package predictive

import (
	"context"
	"time"
)

// Answer is how a prediction ended, for [Options.OnAnswer].
type Answer struct {
	// Call is the method of the Service, such as FailurePrediction.
	Call string
	// Positive is set if a failure was predicted, a remaining life ends within the horizon, or the newest samples are anomalous.
	Positive bool
	Err      error
	Took     time.Duration
}

// tell calls OnAnswer.
func (s *Service) tell(call string, began time.Time, positive bool, err error) {
	if s.o.OnAnswer != nil {
		s.o.OnAnswer(Answer{call, err == nil && positive, err, time.Since(began)})
	}
}

// FailurePrediction returns the probability that an equipment fails within the horizon, from the newest window of one of its
// tags.
func (s *Service) FailurePrediction(ctx context.Context, equipment, tag string) (FailurePrediction, error) {
	began := time.Now()
	answer, err := s.failurePrediction(ctx, equipment, tag)
	s.tell("FailurePrediction", began, answer.Prediction == PredictionFailure, err)
	return answer, err
}

// RUL returns the remaining useful life of a component.
func (s *Service) RUL(ctx context.Context, equipment, component string) (RUL, error) {
	began := time.Now()
	answer, err := s.rul(ctx, equipment, component)
	s.tell("RUL", began, answer.PredictedFailureDate.Sub(answer.PredictedAt) <= s.o.Horizon, err)
	return answer, err
}

// Anomaly judges the newest sample of a tag by those before it. It changes nothing.
func (s *Service) Anomaly(ctx context.Context, tag string) (Anomaly, error) {
	began := time.Now()
	answer, err := s.anomaly(ctx, tag)
	s.tell("Anomaly", began, answer.IsAnomaly, err)
	return answer, err
}

// Multivariate judges the newest values of 2 to 64 tags by how they moved together before. It changes nothing. Repeated tags count once.
//
// The values are aligned to rows of equal distance: each tag holds its last value, but no longer than [Options.Staleness] or ten rows. The rows
// reach back as far as [Options.AnomalySamples] of each tag do.
func (s *Service) Multivariate(ctx context.Context, tags []string) (Multivariate, error) {
	began := time.Now()
	answer, err := s.multivariate(ctx, tags)
	s.tell("Multivariate", began, answer.IsAnomaly, err)
	return answer, err
}
