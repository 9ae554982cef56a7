//go:build unix

package modbus_test

import (
	"fmt"
	"io"
	"log"
	"syscall"
	"testing"
	"time"

	"github.com/simonvetter/modbus"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
	driver "github.com/otkit/otkit/tags/modbus"
)

func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkEngine polls 10,000 registers as often as it goes, through the engine. The processor time is
// that of both sides.
func BenchmarkEngine(b *testing.B) {
	dev := startDevice(b)
	dev.stop(b)
	server, err := modbus.NewServer(&modbus.ServerConfiguration{URL: "tcp://" + dev.addr, Logger: log.New(io.Discard, "", 0)}, plain{dev})
	require.NoError(b, err)
	require.NoError(b, server.Start())
	b.Cleanup(func() { require.NoError(b, server.Stop()) })
	for name, step := range map[string]int{"sorted": 1, "shuffled": 7919} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				d, err := driver.New(driver.Options{Address: dev.addr})
				require.NoError(b, err)
				e, err := tags.New(tags.Options{})
				require.NoError(b, err)
				list := make([]tags.Tag, 10_000)
				for i := range list {
					list[i] = tags.Tag{Name: fmt.Sprintf("plc.r%05d", i), Address: fmt.Sprintf("HR:%d", i*step%10_000), DataType: tags.Int, NativeType: "UInt16"}
				}
				require.NoError(b, e.AddDriver("plc", d, tags.DriverOptions{PollInterval: 10 * time.Millisecond, Tags: list}))
				samples := func() uint64 { return e.Drivers()[0].Samples }
				require.Eventually(b, func() bool { return samples() > 10_000 }, time.Minute, time.Millisecond)
				start, before := processorTime(b), samples()
				time.Sleep(2 * time.Second)
				used, read := processorTime(b)-start, samples()-before
				b.ReportMetric(float64(used.Nanoseconds())/float64(read), "cpu-ns/register")
				require.NoError(b, e.Close(b.Context()))
			}
		})
	}
}
