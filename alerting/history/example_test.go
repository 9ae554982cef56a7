package history_test

import (
	"context"
	"fmt"
	"time"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/history"
)

func Example() {
	ctx, store := context.Background(), history.NewMemory()
	record := alerting.Record{ID: "0190a1b2-0000-7000-8000-000000000001", Key: alerting.RecordKey{Alarm: "rule:1", At: time.Now()},
		Severity: alarms.Critical, Source: "Pump 1", Title: "too hot"}
	if err := store.ApplyRecords(ctx, history.Changes{Add: []alerting.Record{record}}); err != nil {
		fmt.Println(err)
		return
	}
	service, err := history.New(store)
	if err != nil {
		fmt.Println(err)
		return
	}
	page, err := service.List(ctx, history.Filter{State: history.Firing}, 1, 50)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(page.Total, page.Records[0].Source)
	// Output: 1 Pump 1
}
