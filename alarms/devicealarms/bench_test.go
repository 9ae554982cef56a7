package devicealarms

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/devices"
)

type nobody struct{}

func (nobody) Check(devices.Situation) devices.Decision { return devices.Decision{} }

// One look at 10,000 devices, once a second: all have reported since the last one, or none has.
func BenchmarkStep(b *testing.B) {
	ctx := b.Context()
	service, err := devices.New(ctx, devices.NewMemory(), devices.Options{Safety: nobody{}})
	require.NoError(b, err)
	defer func() { _ = service.Close(context.Background()) }()
	target, err := alarms.New(ctx, alarms.NewMemory(), alarms.Options{})
	require.NoError(b, err)
	defer func() { _ = target.Close(context.Background()) }()
	ids := make([]string, 10_000)
	for i := range ids {
		ids[i] = fmt.Sprintf("agv-%d", i)
		_, err := service.Create(ctx, ids[i], "Robot", "")
		require.NoError(b, err)
	}
	for _, reporting := range []bool{true, false} {
		b.Run(fmt.Sprintf("reporting=%v", reporting), func(b *testing.B) {
			m, err := New(service, target, Options{})
			require.NoError(b, err)
			require.NoError(b, m.step(ctx))
			b.ReportAllocs()
			for b.Loop() {
				if reporting {
					b.StopTimer()
					for _, id := range ids {
						require.NoError(b, service.Report(id, devices.Telemetry{State: devices.Idle}))
					}
					b.StartTimer()
				}
				require.NoError(b, m.step(ctx))
			}
		})
	}
}
