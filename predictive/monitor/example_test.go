package monitor_test

import (
	"context"
	"fmt"
	"time"

	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/predictive/monitor"
)

// plant predicts always the same. In an application, the predictor is a predictive.Service.
type plant struct{}

func (plant) Equipments(context.Context) ([]string, error) { return []string{"pump-1"}, nil }
func (plant) Tags(context.Context, string) ([]string, error) {
	return []string{"pump-1.vibration"}, nil
}
func (plant) RecordedComponents(context.Context, string) ([]string, error) { return nil, nil }
func (plant) FailurePrediction(_ context.Context, equipment, tag string) (predictive.FailurePrediction, error) {
	return predictive.FailurePrediction{EquipmentID: equipment, TagID: tag, FailureProbability: 0.93, Prediction: predictive.PredictionFailure,
		Confidence: 0.8, PredictedAt: time.Now()}, nil
}
func (plant) RUL(context.Context, string, string) (predictive.RUL, error) {
	return predictive.RUL{}, predictive.ErrModelNotAvailable
}
func (plant) Anomaly(context.Context, string) (predictive.Anomaly, error) {
	return predictive.Anomaly{}, predictive.ErrInsufficientData
}

func Example() {
	latest := new(monitor.Latest)
	m, err := monitor.New(plant{}, latest, monitor.Options{Interval: time.Hour, Positive: 1, Results: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); m.Run(ctx) }()
	for {
		if results, _, _ := latest.Changes(0); len(results) > 0 {
			r := results[0]
			fmt.Println(r.Equipment, r.Name, r.Failure.FailureProbability, r.State)
			break
		}
		time.Sleep(time.Millisecond)
	}
	cancel()
	<-ended
	// Output: pump-1 pump-1.vibration 0.93 failing
}
