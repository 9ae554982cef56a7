package alarmfailures_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/predictive/alarmfailures"
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
	// The pump tripped three hours ago, for 20 minutes.
	at := time.Now().Add(-3 * time.Hour)
	trip := &alarms.Alarm{Key: "rule:trip", Source: "pump-1.motor", Message: "Motor tripped", Severity: alarms.Critical, At: at}
	if _, err := service.Apply(ctx, []alarms.Signal{{Raise: trip, Ended: at.Add(20 * time.Minute)}}); err != nil {
		fmt.Println(err)
		return
	}

	records := new(predictive.MemoryRecords)
	equipment := func(_ context.Context, source string) (string, error) {
		id, _, _ := strings.Cut(source, ".")
		return id, nil
	}
	recorder, err := alarmfailures.New(alarmfailures.Deps{Journal: service, Records: records, Equipment: equipment},
		alarmfailures.Options{Keys: []string{"rule:trip*"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	ended := make(chan struct{})
	go func() { defer close(ended); recorder.Run(ctx) }()
	for {
		page, err := records.Failures(ctx, predictive.RecordQuery{})
		if err != nil || len(page.Items) > 0 {
			f := page.Items[0]
			fmt.Println(f.EquipmentID, f.Source, f.Note, f.End.Sub(f.Start))
			break
		}
		time.Sleep(time.Millisecond)
	}
	cancel()
	<-ended
	// Output: pump-1 alarm Motor tripped 20m0s
}
