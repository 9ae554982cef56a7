package silences_test

import (
	"context"
	"fmt"
	"time"

	"github.com/otkit/otkit/alerting/silences"
)

func Example() {
	ctx, now := context.Background(), time.Now()
	service, err := silences.New(silences.NewMemory(), silences.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = service.Create(ctx, silences.Silence{SourceType: "Sensor", Pattern: "Line-1/*", Reason: "pump exchange",
		StartsAt: now, EndsAt: now.Add(time.Hour)})
	if err != nil {
		fmt.Println(err)
		return
	}
	index, err := service.Index(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	s, ok := index.Match("Sensor", "Line-1/pressure", now)
	fmt.Println(s.Reason, ok)
	// Output: pump exchange true
}
