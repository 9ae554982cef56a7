package history_test

import (
	"context"
	"fmt"
	"time"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/history"
)

func Example() {
	ctx, store := context.Background(), history.NewMemory()
	recorder, err := history.NewRecorder(store, history.RecorderOptions{FlushInterval: time.Second})
	if err != nil {
		fmt.Println(err)
		return
	}
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	level := tags.Tag{Name: "tank.level"}
	recorder.Observe([]tags.Change{{Tag: &level, Sample: tags.Sample{Value: tags.IntValue(7), Quality: tags.Good, SourceTime: start}}})
	if err := recorder.Close(ctx); err != nil { // stores pending samples
		fmt.Println(err)
	}
	for sample, err := range store.Range(ctx, "tank.level", start, start.Add(time.Hour)) {
		fmt.Println(sample.Time.Format(time.TimeOnly), sample.Value, sample.Quality, err)
	}
	// Output: 12:00:00 7 Good <nil>
}
