package main_test

import (
	"bufio"
	"bytes"
	"context"
	wire "encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/realtest"
)

const (
	benchVehicles = 1000
	benchRate     = 10 // states a second of a vehicle
)

// BenchmarkDeviceStream tells how long the state of a vehicle takes from its timestamp, over a real broker and the engine, to clients of
// the stream of devices, and what the engine needs for it: 1,000 vehicles send ten states a second each. Tags and shells of the
// devices are included. One iteration is ten seconds. Run it with -benchtime 1x.
func BenchmarkDeviceStream(b *testing.B) {
	mosquitto, port := realtest.Need(b, "mosquitto", "/usr/sbin/mosquitto"), realtest.FreePort(b)
	path, err := builtForSpeed()
	require.NoError(b, err)
	broker := exec.Command(mosquitto, "-c", file(b, "mosquitto.conf", fmt.Sprintf("listener %d 127.0.0.1\nallow_anonymous true\nmax_connections -1\n", port)))
	require.NoError(b, broker.Start())
	b.Cleanup(func() { _ = broker.Process.Kill(); _ = broker.Wait() })
	var config strings.Builder
	_, _ = fmt.Fprintf(&config, "devices:\n  vda5050:\n    url: 'mqtt://127.0.0.1:%d'\n    vehicles:\n", port)
	for i := range benchVehicles {
		_, _ = fmt.Fprintf(&config, "      - {deviceId: agv-%d, manufacturer: otkit, serialNumber: '%d'}\n", i, i)
	}
	e := launch(b, path, known, "-config", file(b, "engine.yaml", config.String()), "-data", b.TempDir())
	e.ready()
	url, token := e.url, e.admin().token
	driveAll(b, fmt.Sprintf("127.0.0.1:%d", port))
	for _, clients := range []int{0, 1, 10} {
		for _, throttle := range []int{100, 50, 20} {
			if clients == 0 && throttle != 100 {
				continue
			}
			b.Run(fmt.Sprintf("clients=%d/throttleMs=%d", clients, throttle), func(b *testing.B) {
				for b.Loop() {
					measureStream(b, e, fmt.Sprintf("%s/api/v1/devices/stream?throttleMs=%d", url, throttle), token, clients)
				}
			})
		}
	}
	e.stop()
}

func measureStream(b *testing.B, e *engine, url, token string, clients int) {
	b.Helper()
	const settle, measure = 5 * time.Second, 10 * time.Second
	ctx, cancel := context.WithTimeout(b.Context(), settle+measure)
	defer cancel()
	from := time.Now().Add(settle)
	delays := make([][]time.Duration, clients)
	var wg sync.WaitGroup
	for i := range delays {
		wg.Go(func() { delays[i] = follow(ctx, b, url, token, from) })
	}
	time.Sleep(time.Until(from))
	before := e.cpu()
	wg.Wait()
	<-ctx.Done()
	b.ReportMetric(100*(e.cpu()-before).Seconds()/measure.Seconds(), "%core")
	b.ReportMetric(e.statusMB("VmRSS"), "MB-resident")
	b.ReportMetric(e.statusMB("VmHWM"), "MB-peak")
	b.ReportMetric(0, "ns/op")
	if all := slices.Sorted(slices.Values(slices.Concat(delays...))); len(all) > 0 {
		require.Greater(b, len(all), clients*benchVehicles*int(measure.Seconds())/2)
		b.ReportMetric(float64(len(all))/measure.Seconds()/float64(clients), "states/s/client")
		for _, p := range []int{50, 99} {
			b.ReportMetric(float64(all[len(all)*p/100])/1e6, fmt.Sprintf("ms-p%d", p))
		}
	}
}

// follow reads the stream until ctx ends and returns how old the states are that arrive after a time.
func follow(ctx context.Context, b *testing.B, url, token string, from time.Time) (delays []time.Duration) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		b.Error(err)
		return nil
	}
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		b.Error(err)
		return nil
	}
	defer func() { _ = resp.Body.Close() }()
	mark := []byte(`"timestamp":"`)
	for lines := bufio.NewReaderSize(resp.Body, 1<<20); ; {
		line, err := lines.ReadBytes('\n')
		now := time.Now()
		if err != nil {
			return delays
		}
		for now.After(from) {
			i := bytes.Index(line, mark)
			if i < 0 {
				break
			}
			line = line[i+len(mark):]
			at, err := time.Parse(time.RFC3339Nano, string(line[:bytes.IndexByte(line, '"')]))
			if err != nil {
				b.Error(err)
				return delays
			}
			delays = append(delays, now.Sub(at))
		}
	}
}

// driveAll lets every vehicle connect and send states until the benchmark ends. It speaks just the MQTT 3.1.1 that takes, so that the
// load costs little beside what is measured.
func driveAll(b *testing.B, broker string) {
	b.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	defer b.Cleanup(func() { cancel(); wg.Wait() }) // before the connections are closed
	for i := range benchVehicles {
		id := fmt.Sprintf("load-%d", i)
		conn, err := net.Dial("tcp", broker)
		require.NoError(b, err)
		b.Cleanup(func() { _ = conn.Close() })
		_, err = conn.Write(mqttPacket(0x10, mqttText("MQTT"), []byte{4, 2, 0, 0}, mqttText(id)))
		require.NoError(b, err)
		_, err = io.ReadFull(conn, make([]byte, 4)) // CONNACK
		require.NoError(b, err)
		topic := mqttText(fmt.Sprintf("uagv/v2/otkit/%d/state", i))
		wg.Go(func() {
			next := time.Now().Add(time.Second * time.Duration(i) / benchVehicles / benchRate) // spread over the time
			for n := 0; ctx.Err() == nil; n++ {
				time.Sleep(time.Until(next))
				next = next.Add(time.Second / benchRate)
				if _, err := conn.Write(mqttPacket(0x30, topic, benchState(i, n))); err != nil && ctx.Err() == nil {
					b.Error(err)
					return
				}
			}
		})
	}
}

func mqttText(s string) []byte { return append(wire.BigEndian.AppendUint16(nil, uint16(len(s))), s...) }

func mqttPacket(kind byte, parts ...[]byte) []byte {
	body := slices.Concat(parts...)
	return append(wire.AppendUvarint([]byte{kind}, uint64(len(body))), body...)
}

// benchState is the state of a vehicle that drives.
func benchState(vehicle, n int) []byte {
	return fmt.Appendf(nil, `{"headerId":%d,"timestamp":%q,"version":"2.1.0","manufacturer":"otkit","serialNumber":"%d","orderId":"order-7","orderUpdateId":0,
		"lastNodeId":"node-1","lastNodeSequenceId":0,"driving":true,"paused":false,"newBaseRequest":false,"distanceSinceLastNode":%.2f,"operatingMode":"AUTOMATIC",
		"nodeStates":[{"nodeId":"node-2","sequenceId":2,"released":true,"nodePosition":{"x":90,"y":%d,"mapId":"hall"}}],
		"edgeStates":[{"edgeId":"edge-1","sequenceId":1,"released":true}],"actionStates":[],"errors":[],"information":[],"loads":[],
		"agvPosition":{"x":%.3f,"y":%d,"theta":0.5,"mapId":"hall","positionInitialized":true,"localizationScore":0.98},
		"velocity":{"vx":1.2,"vy":0,"omega":0},"batteryState":{"batteryCharge":%.1f,"charging":false},"safetyState":{"eStop":"NONE","fieldViolation":false}}`,
		n, time.Now().UTC().Format(time.RFC3339Nano), vehicle, float64(n%900)/10, vehicle, float64(n%900)/10, vehicle, 90-float64(n%300)/10)
}
