package alertsource_test

import (
	"context"
	"fmt"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting/alertsource"
	"github.com/otkit/otkit/alerting/history"
	"github.com/otkit/otkit/alerting/silences"
)

func Example() {
	ctx := context.Background()
	plant, err := alarms.New(ctx, alarms.NewMemory(), alarms.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = plant.Close(ctx) }()
	quiet, err := silences.New(silences.NewMemory(), silences.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	receiver, err := alertsource.New(plant, history.NewMemory(), quiet, alertsource.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := receiver.Receive(ctx, "192.0.2.1", []byte(`{"alerts": [{"status": "firing", "startsAt": "2026-03-28T12:00:00Z",
		"labels": {"alertname": "TooHot", "severity": "critical", "instance": "Pump 1"}}]}`))
	fmt.Println(result.Message, err)
	// Output: 1 alerts processed <nil>
}
