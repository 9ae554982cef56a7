// How do I predict failures in my own program? Four fans have worn out many bearings. From their vibration and the list of failures,
// the program learns which fan is next.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log"
	"os"
	"time"

	"github.com/otkit/otkit/predictive"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run trains a model of each type and prints what they predict for each fan.
func run(ctx context.Context, out io.Writer) (err error) {
	plant, now := simulate()
	service, err := predictive.New(predictive.Deps{History: plant, Inventory: plant, Records: plant, Registry: new(predictive.MemoryRegistry)},
		predictive.Options{Horizon: 24 * time.Hour, Clock: func() time.Time { return now }})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, service.Close(ctx)) }()

	for _, modelType := range predictive.ModelTypes() {
		training, err := service.Retrain(ctx, modelType)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: %s\n", modelType, training.Message)
	}
	fans, err := service.Equipments(ctx)
	if err != nil {
		return err
	}
	for _, fan := range fans {
		failure, err := service.FailurePrediction(ctx, fan, fan+".vibration")
		if err != nil {
			return err
		}
		bearing, err := service.RUL(ctx, fan, "Bearing")
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: %s within a day (probability %.2f); %.1f to %.1f days left. %s\n",
			fan, failure.Prediction, failure.FailureProbability, bearing.LowDays, bearing.HighDays, bearing.Recommendation)
	}
	return nil
}

// plant has the samples, the tags and the records. In your program, they may be in a database.
type plant struct {
	predictive.MemoryRecords
	samples map[string][]predictive.Sample // by tag, oldest first
}

// Samples implements predictive.History.
func (p *plant) Samples(_ context.Context, tag string, from, to time.Time) iter.Seq2[predictive.Sample, error] {
	return func(yield func(predictive.Sample, error) bool) {
		for _, s := range p.samples[tag] {
			if !s.Time.Before(from) && s.Time.Before(to) && !yield(s, nil) {
				return
			}
		}
	}
}

// Equipments implements predictive.Inventory.
func (p *plant) Equipments(context.Context) ([]string, error) {
	return []string{"fan1", "fan2", "fan3", "fan4"}, nil
}

// Tags implements predictive.Inventory.
func (p *plant) Tags(_ context.Context, equipment string) ([]predictive.Tag, error) {
	return []predictive.Tag{{ID: equipment + ".vibration", Unit: "mm/s"}}, nil
}
