package predictivetags_test

import (
	"context"
	"fmt"
	"time"

	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/predictive/monitor"
	"github.com/otkit/otkit/predictive/predictivetags"
	"github.com/otkit/otkit/tags"
)

// must keeps the example short.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func Example() {
	ctx := context.Background()
	latest := new(monitor.Latest) // in an application, a monitor.Monitor puts results into it
	result := monitor.Result{Target: monitor.Target{Kind: monitor.RUL, Equipment: "pump-1", Name: "Bearing"}, At: time.Now(),
		RUL: &predictive.RUL{RULDays: 12, LowDays: 9.5, HealthScore: 0.4, Confidence: 0.7}}
	latest.Put(result)

	driver := must(predictivetags.New(latest, predictivetags.Options{}))
	engine := must(tags.New(tags.Options{}))
	defer func() { _ = engine.Close(ctx) }()
	list := predictivetags.Tags([]monitor.Result{result})
	if err := engine.AddDriver(predictivetags.DriverID, driver, tags.DriverOptions{RefreshInterval: 10 * time.Second, Tags: list}); err != nil {
		fmt.Println(err)
		return
	}
	for {
		s := must(engine.Read("predictive.pump-1.Bearing.rulDays"))
		if s.Sample.Quality == tags.Good {
			fmt.Println(s.Sample.Value, s.Tag.Unit)
			return
		}
		time.Sleep(time.Millisecond)
	}
	// Output: 12 d
}
