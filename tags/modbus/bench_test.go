package modbus_test

import (
	"fmt"
	"io"
	"log"
	"testing"

	"github.com/simonvetter/modbus"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
	driver "github.com/otkit/otkit/tags/modbus"
)

// plain is a server whose answers cost next to nothing.
type plain struct{ *device }

var plainRegisters = make([]uint16, 125)

func (plain) HandleHoldingRegisters(r *modbus.HoldingRegistersRequest) ([]uint16, error) {
	return plainRegisters[:r.Quantity], nil
}

// BenchmarkRead reads the 1,000 registers 0 to 999 as 1,000 points, and with the bare library.
func BenchmarkRead(b *testing.B) {
	dev := startDevice(b)
	dev.stop(b)
	server, err := modbus.NewServer(&modbus.ServerConfiguration{URL: "tcp://" + dev.addr, Logger: log.New(io.Discard, "", 0)}, plain{dev})
	require.NoError(b, err)
	require.NoError(b, server.Start())
	b.Cleanup(func() { require.NoError(b, server.Stop()) })

	b.Run("library", func(b *testing.B) {
		client, err := modbus.NewClient(&modbus.ClientConfiguration{URL: "tcp://" + dev.addr})
		require.NoError(b, err)
		require.NoError(b, client.Open())
		defer func() { require.NoError(b, client.Close()) }()
		b.ReportAllocs()
		for b.Loop() {
			for start := uint16(0); start < 1000; start += 125 {
				if _, err := client.ReadRegisters(start, 125, modbus.HOLDING_REGISTER); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("driver", func(b *testing.B) {
		d := connected(b, driver.Options{Address: dev.addr})
		points := make([]tags.Point, 1000)
		for i := range points {
			points[i] = point(fmt.Sprintf("HR:%d", i), "UInt16", tags.Int)
		}
		out := make([]tags.Reading, len(points))
		b.ReportAllocs()
		for b.Loop() {
			clear(out)
			if err := d.Read(b.Context(), points, out); err != nil || out[999].Err != nil {
				b.Fatal(err, out[999].Err)
			}
		}
	})
}
