package dispatch_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/dispatch"
	"github.com/otkit/otkit/alerting/history"
	"github.com/otkit/otkit/alerting/outbox"
	"github.com/otkit/otkit/alerting/silences"
)

// BenchmarkDispatch measures from raising 1,000 alarms until a dashboard has been told of all.
func BenchmarkDispatch(b *testing.B) {
	plant, err := alarms.New(b.Context(), alarms.NewMemory(), alarms.Options{})
	require.NoError(b, err)
	defer func() { require.NoError(b, plant.Close(context.Background())) }()
	store, records := outbox.NewMemory(), history.NewMemory()
	told := make(chan struct{}, 1000)
	f := &fake{name: alerting.ChannelDashboard, key: true}
	f.answer = func(context.Context, alerting.Notification) error {
		told <- struct{}{}
		return nil
	}
	d, err := dispatch.New(dispatch.Deps{
		Journal: plant, Outbox: store, DeadLetters: store, Silences: newSilences(b, silences.NewMemory(), time.Now), History: records,
		Channels: []alerting.Channel{f},
	}, dispatch.Options{})
	require.NoError(b, err)
	defer closeAll(b, d)
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
