package predictivealarms_test

import (
	"context"
	"fmt"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/predictivealarms"
	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/predictive/monitor"
)

func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	service, err := alarms.New(ctx, alarms.NewMemory(), alarms.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = service.Close(ctx) }()
	raised, err := service.Subscribe(alarms.SubscribeOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer raised.Close()

	latest := new(monitor.Latest) // in an application, a monitor.Monitor puts results into it
	latest.Put(monitor.Result{Target: monitor.Target{Kind: monitor.Failure, Equipment: "pump-1", Name: "pump-1.vibration"}, State: monitor.Failing,
		Failure: &predictive.FailurePrediction{FailureProbability: 0.93, HorizonHours: 168}})
	watch, err := predictivealarms.New(latest, service, predictivealarms.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ended := make(chan struct{})
	go func() { defer close(ended); watch.Run(ctx) }()
	events, err := raised.Next(ctx, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(events[0].Occurrence.Severity, events[0].Occurrence.Message)
	cancel()
	<-ended
	// Output: Warning Failure of pump-1 predicted within 7 days: pump-1.vibration 93%
}
