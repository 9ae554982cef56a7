package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/engine"
)

// deviceStatus is a device as the stream tells it.
type deviceStatus struct {
	Device struct {
		DeviceID             string
		CurrentState         string
		EmergencyStopLatched bool
	}
	Telemetry *struct {
		AgeSeconds float64
		Battery    *float64
		Position   *struct{ X, Y float64 }
	}
}

// deviceEvents is an open stream of devices.
type deviceEvents struct {
	t     testing.TB
	lines *bufio.Reader
	stop  context.CancelFunc
}

func (p *platform) streamDevices(query string) *deviceEvents {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	resp, err := p.client.Do(p.request(ctx, accounts.Viewer, http.MethodGet, devicesPath+"/stream"+query, nil))
	require.NoError(p.t, err)
	require.Equal(p.t, 200, resp.StatusCode)
	require.Equal(p.t, "text/event-stream", resp.Header.Get("Content-Type"))
	require.Equal(p.t, "no-store", resp.Header.Get("Cache-Control"))
	return &deviceEvents{p.t, bufio.NewReader(resp.Body), func() {
		cancel()
		_ = resp.Body.Close()
	}}
}

// read returns the devices of the next event.
func (s *deviceEvents) read() ([]deviceStatus, error) {
	name := ""
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			return nil, err
		}
		if after, ok := strings.CutPrefix(line, "event: "); ok {
			name = strings.TrimSpace(after)
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		require.Equal(s.t, "change", name)
		c, err := theContract()
		require.NoError(s.t, err)
		require.NoError(s.t, c.Schema("DeviceChanges").VisitJSON(decoded(s.t, []byte(data))), data)
		var got struct{ Devices []deviceStatus }
		return got.Devices, json.Unmarshal([]byte(data), &got)
	}
}

func (s *deviceEvents) next() []deviceStatus {
	s.t.Helper()
	got, err := s.read()
	require.NoError(s.t, err)
	return got
}

func TestAStreamOfDevicesBeginsWithAll(t *testing.T) {
	t.Parallel()
	p := start(t, withMachine(t, newMachine()))
	p.place("agv-2", 3, 4)
	s := p.streamDevices("?throttleMs=3600000") // the first event is outside of it
	defer s.stop()
	first := s.next()
	require.Len(t, first, 2)
	require.Equal(t, "agv-1", first[0].Device.DeviceID)
	require.Equal(t, "Offline", first[0].Device.CurrentState)
	require.Nil(t, first[0].Telemetry)
	require.Equal(t, "Idle", first[1].Device.CurrentState)
	require.InDelta(t, 4.0, first[1].Telemetry.Position.Y, 0)
	require.InDelta(t, 80.0, *first[1].Telemetry.Battery, 0)

	none := start(t).streamDevices("")
	defer none.stop()
	require.Empty(t, none.next())
}

// A client that keeps the newest of each device has what the server has, however fast they report and however slowly it reads.
func TestAStreamOfDevicesLosesNoLastState(t *testing.T) {
	t.Parallel()
	p := start(t, withMachine(t, newMachine()))
	for _, query := range []string{"?throttleMs=0", "?throttleMs=20", ""} {
		s := p.streamDevices(query)
		s.next()
		reported := make(chan error, 1)
		go func() {
			for i := range 2000 {
				x := float64(i % 50)
				for _, id := range []string{"agv-1", "agv-2"} {
					if err := p.Devices().Report(id, devices.Telemetry{State: devices.Working, Pose: &devices.Pose{Map: "hall", X: x}}); err != nil {
						reported <- err
						return
					}
				}
			}
			// An emergency stop between two events is seen although it is over for the device.
			_ = p.Devices().Report("agv-1", devices.Telemetry{State: devices.Idle, Stop: devices.LocalStop, Pose: &devices.Pose{Map: "hall", X: 77}})
			_ = p.Devices().Report("agv-1", devices.Telemetry{State: devices.Idle, Pose: &devices.Pose{Map: "hall", X: 78}})
			reported <- p.Devices().Report("agv-2", devices.Telemetry{State: devices.Idle, Pose: &devices.Pose{Map: "hall", X: 79}})
		}()
		last := map[string]deviceStatus{}
		for last["agv-1"].Telemetry == nil || last["agv-1"].Telemetry.Position.X != 78 || last["agv-2"].Telemetry.Position.X != 79 {
			for _, d := range s.next() {
				last[d.Device.DeviceID] = d
			}
		}
		require.NoError(t, <-reported)
		require.True(t, last["agv-1"].Device.EmergencyStopLatched)
		require.Equal(t, "Idle", last["agv-2"].Device.CurrentState)
		s.stop()
		p.command(accounts.Admin, "agv-1", "reset"+query, "ResetEmergencyStop", nil).result(t, true)
	}
}

func TestAStreamOfDevicesIsThrottled(t *testing.T) {
	t.Parallel()
	p := start(t, withMachine(t, newMachine()))
	const throttle = 300 * time.Millisecond
	s := p.streamDevices("?throttleMs=300")
	defer s.stop()
	s.next()
	began := time.Now()
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
			_ = p.Devices().Report("agv-1", devices.Telemetry{State: devices.Idle, Battery: new(float64(i % 100))})
		}
	}()
	const events = 4
	for range events {
		require.Len(t, s.next(), 1, "only the newest of each device")
	}
	require.GreaterOrEqual(t, time.Since(began), (events-1)*throttle-50*time.Millisecond)
}

func TestStreamsOfDevicesAreCountedAndEnd(t *testing.T) {
	t.Parallel()
	p := start(t, withMachine(t, newMachine()), func(o *engine.Options) { o.Server.MaxStreams = 2 })
	first, second := p.streamDevices(""), p.stream("?tagNames=line.flag")
	defer first.stop()
	defer second.stop()
	requireProblem(t, p.call(accounts.Viewer, http.MethodGet, devicesPath+"/stream", nil), 429, "TOO_MANY_STREAMS")
	second.stop()
	token := p.token(accounts.Viewer)
	require.Eventually(t, func() bool {
		return p.callWrong(nobody, http.MethodHead, devicesPath+"/stream?access_token="+token, nil).status == 200
	}, patience, 10*time.Millisecond)
	require.Equal(t, 401, p.callWrong(nobody, http.MethodHead, devicesPath+"/stream?access_token=x", nil).status)
	for _, query := range []string{"?throttleMs=-1", "?throttleMs=3600001", "?throttleMs=x"} {
		a := p.callWrong(accounts.Viewer, http.MethodGet, devicesPath+"/stream"+query, nil)
		require.Equal(t, []string{"throttleMs"}, fieldsOf(requireProblem(t, a, 400, a.object(t)["code"].(string))), query)
	}
	first.next()
	require.Equal(t, 204, p.call(accounts.Viewer, http.MethodPost, "/api/v1/auth/logout", nil).status)
	_, err := first.read()
	require.Error(t, err, "the session has ended")
}

func TestAStoppingServerAnswersWhoWaitsForACommand(t *testing.T) {
	t.Parallel()
	m := newMachine()
	p := start(t, withMachine(t, m))
	p.place("agv-1", 1, 1)
	s := p.streamDevices("")
	s.next()
	r := p.request(t.Context(), accounts.Operator, http.MethodPost, commandsPath, map[string]any{"commandId": "c-1", "deviceId": "agv-1", "commandType": "Hold"})
	answered := make(chan answer, 1)
	go func() { answered <- p.do(r) }()
	<-m.held
	closed := make(chan error, 1)
	go func() { closed <- p.Close(context.Background()) }()
	require.Equal(t, map[string]any{"state": "Running"}, (<-answered).result(t, false)["data"])
	for err := error(nil); err == nil; {
		_, err = s.read()
	}
	s.stop()
	m.hold <- struct{}{} // the command still ends
	require.NoError(t, <-closed)
}
