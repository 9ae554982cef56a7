package alerting_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
)

// BenchmarkDispatch measures from raising 1,000 alarms until a dashboard has been told of all.
func BenchmarkDispatch(b *testing.B) {
	plant, err := alarms.New(b.Context(), alarms.NewMemory(), alarms.Options{})
	require.NoError(b, err)
	defer func() { require.NoError(b, plant.Close()) }()
	store := alerting.NewMemory()
	told := make(chan struct{}, 1000)
	f := &fake{name: alerting.ChannelDashboard, key: true}
	f.answer = func(context.Context, alerting.Notification) error {
		told <- struct{}{}
		return nil
	}
	d, err := alerting.NewDispatcher(alerting.Deps{
		Journal: plant, Outbox: store, DeadLetters: store, Silences: newSilences(b, store, time.Now), History: store,
		Channels: []alerting.Channel{f},
	}, alerting.Options{})
	require.NoError(b, err)
	defer d.Close()
	d.Start()
	round := 0
	for b.Loop() {
		round++
		list := make([]alarms.Alarm, 1000)
		for i := range list {
			list[i] = alarms.Alarm{Key: fmt.Sprintf("%d/%d", round, i), Source: "plc-1", Message: "too hot"}
		}
		_, err := plant.RaiseMany(b.Context(), list)
		require.NoError(b, err)
		d.Wake()
		for range list {
			<-told
		}
	}
}
