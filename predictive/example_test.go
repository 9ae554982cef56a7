package predictive_test

import (
	"context"
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/otkit/otkit/predictive"
)

// history is a bearing whose vibration grows until it fails, every 100 hours, a sample each hour.
type history struct{}

const life = 100

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func (history) Samples(_ context.Context, _ string, from, to time.Time) iter.Seq2[predictive.Sample, error] {
	return func(yield func(predictive.Sample, error) bool) {
		for hour := max(int(from.Sub(start).Hours()), 0); ; hour++ {
			at := start.Add(time.Duration(hour) * time.Hour)
			age := float64(hour % life)
			vibration := 2 + math.Exp(age/30)/10 + 0.2*math.Sin(float64(hour*hour))
			if !at.Before(to) || !at.Before(from) && !yield(predictive.Sample{Time: at, Value: vibration}, nil) {
				return
			}
		}
	}
}

func Example() {
	ctx := context.Background()
	now := start.Add(20*life*time.Hour + 90*time.Hour) // the 21st bearing is old
	var records predictive.MemoryRecords
	for n := range 20 {
		failed := predictive.Failure{ID: fmt.Sprint(n), EquipmentID: "pump", Component: "Bearing", Start: start.Add(time.Duration(n+1) * life * time.Hour)}
		if err := records.AddFailures(ctx, []predictive.Failure{failed}); err != nil {
			panic(err)
		}
	}
	service, err := predictive.New(predictive.Deps{
		History: history{},
		Inventory: predictive.DriverInventory(func(context.Context) ([]predictive.DriverTag, error) {
			return []predictive.DriverTag{{ID: "pump.vibration", DriverID: "pump"}}, nil
		}),
		Records:  &records,
		Registry: new(predictive.MemoryRegistry),
	}, predictive.Options{Horizon: 24 * time.Hour, Clock: func() time.Time { return now }})
	if err != nil {
		panic(err)
	}
	defer func() { _ = service.Close(ctx) }()

	for _, modelType := range predictive.ModelTypes() {
		if _, err := service.Retrain(ctx, modelType); err != nil {
			panic(err)
		}
	}
	failure, err := service.FailurePrediction(ctx, "pump", "pump.vibration")
	if err != nil {
		panic(err)
	}
	remaining, err := service.RUL(ctx, "pump", "Bearing")
	if err != nil {
		panic(err)
	}
	fmt.Println(failure.Prediction, "within a day; remaining days:", remaining.RULDays)
	// Output: Failure within a day; remaining days: 0
}
