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
// devices are included. The baseline is a bare subscriber of the same states, at the same time. One iteration is ten seconds. Run it
// with -benchtime 1x.
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
	address := fmt.Sprintf("127.0.0.1:%d", port)
	driveAll(b, address)
	for _, clients := range []int{0, 1, 10} {
		for _, throttle := range []int{100, 50, 20} {
			if clients == 0 && throttle != 100 {
				continue
			}
			b.Run(fmt.Sprintf("clients=%d/throttleMs=%d", clients, throttle), func(b *testing.B) {
				for b.Loop() {
					measureStream(b, e, address, fmt.Sprintf("%s/api/v1/devices/stream?throttleMs=%d", url, throttle), token, clients)
				}
			})
		}
	}
	e.stop()
}

func measureStream(b *testing.B, e *engine, broker, url, token string, clients int) {
	b.Helper()
	const settle, measure = 5 * time.Second, 10 * time.Second
	ctx, cancel := context.WithTimeout(b.Context(), settle+measure)
	defer cancel()
	from := time.Now().Add(settle)
	delays := make([][]time.Duration, clients)
	var bare []time.Duration
	var wg sync.WaitGroup
	wg.Go(func() { bare = subscribe(ctx, b, broker, from) })
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
	for suffix, all := range map[string][]time.Duration{"": slices.Concat(delays...), "-bare": bare} {
		if slices.Sort(all); len(all) > 0 {
			b.ReportMetric(float64(len(all))/measure.Seconds(), "states/s"+suffix)
			for _, p := range []int{50, 99} {
				b.ReportMetric(float64(all[len(all)*p/100])/1e6, fmt.Sprintf("ms-p%d%s", p, suffix))
			}
		}
	}
}

// age returns how old the first state in a text is, and the text after its timestamp.
func age(b *testing.B, text []byte, now time.Time) (delay time.Duration, rest []byte, found bool) {
	mark := []byte(`"timestamp":"`)
	i := bytes.Index(text, mark)
	if i < 0 {
		return 0, nil, false
	}
	text = text[i+len(mark):]
	at, err := time.Parse(time.RFC3339Nano, string(text[:bytes.IndexByte(text, '"')]))
	if err != nil {
		b.Error(err)
	}
	return now.Sub(at), text, err == nil
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
	for lines := bufio.NewReaderSize(resp.Body, 1<<20); ; {
		line, err := lines.ReadBytes('\n')
		now := time.Now()
		if err != nil {
			return delays
		}
		for now.After(from) {
			delay, rest, found := age(b, line, now)
			if !found {
				break
			}
			delays, line = append(delays, delay), rest
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
		conn, err := mqttConnect(broker, id)
		require.NoError(b, err)
		b.Cleanup(func() { _ = conn.Close() })
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

// subscribe is follow for a bare subscriber of the states.
func subscribe(ctx context.Context, b *testing.B, broker string, from time.Time) (delays []time.Duration) {
	conn, err := mqttConnect(broker, "bare")
	if err != nil {
		b.Error(err)
		return nil
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if _, err := conn.Write(mqttPacket(0x82, []byte{0, 1}, mqttText("uagv/v2/otkit/+/state"), []byte{0})); err != nil {
		b.Error(err)
		return nil
	}
	for in := bufio.NewReaderSize(conn, 1<<20); ; {
		if _, err := in.ReadByte(); err != nil {
			return delays
		}
		size, err := wire.ReadUvarint(in)
		if err != nil {
			return delays
		}
		packet := make([]byte, size)
		if _, err := io.ReadFull(in, packet); err != nil {
			return delays
		}
		if now := time.Now(); now.After(from) {
			if delay, _, found := age(b, packet, now); found {
				delays = append(delays, delay)
			}
		}
	}
}

func mqttConnect(broker, id string) (net.Conn, error) {
	conn, err := net.Dial("tcp", broker)
	if err != nil {
		return nil, err
	}
	if _, err = conn.Write(mqttPacket(0x10, mqttText("MQTT"), []byte{4, 2, 0, 0}, mqttText(id))); err == nil {
		_, err = io.ReadFull(conn, make([]byte, 4)) // CONNACK
	}
	return conn, err
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
