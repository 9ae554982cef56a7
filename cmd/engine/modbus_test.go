package main_test

import (
	"context"
	"io"
	"log"
	"net"
	"os/exec"
	"strconv"
	"sync"
	"testing"

	"github.com/simonvetter/modbus"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/realtest"
	"github.com/otkit/otkit/openapi/client"
	platformv1 "github.com/otkit/otkit/proto/platform/v1"
)

// plc is a Modbus device that can be switched off and on again on the same port.
type plc interface {
	port() int
	on(t testing.TB)
	off(t testing.TB)
}

// ownPLC is the library's server. Its registers hold what server.py has.
type ownPLC struct {
	p       int
	server  *modbus.ModbusServer
	mu      sync.Mutex
	holding [1000]uint16
	coils   [1000]bool
}

func newOwnPLC(t testing.TB) plc {
	d := &ownPLC{p: realtest.FreePort(t)}
	for i := range d.holding {
		d.holding[i] = uint16(i * 7)
		d.coils[i] = i%3 == 0
	}
	return d
}

func (d *ownPLC) port() int { return d.p }

func (d *ownPLC) on(t testing.TB) {
	t.Helper()
	server, err := modbus.NewServer(&modbus.ServerConfiguration{
		URL: "tcp://127.0.0.1:" + strconv.Itoa(d.p), MaxClients: 20, Logger: log.New(io.Discard, "", 0)}, d)
	require.NoError(t, err)
	require.NoError(t, server.Start())
	d.server = server
}

func (d *ownPLC) off(t testing.TB) {
	t.Helper()
	if d.server != nil {
		require.NoError(t, d.server.Stop())
		d.server = nil
	}
}

// access reads or writes a part of a table.
func access[T any](d *ownPLC, table []T, address, quantity uint16, write bool, values []T) ([]T, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if int(address)+int(quantity) > len(table) {
		return nil, modbus.ErrIllegalDataAddress
	}
	part := table[address : address+quantity]
	if write {
		copy(part, values)
	}
	return append([]T(nil), part...), nil
}

func (d *ownPLC) HandleCoils(r *modbus.CoilsRequest) ([]bool, error) {
	return access(d, d.coils[:], r.Addr, r.Quantity, r.IsWrite, r.Args)
}

func (d *ownPLC) HandleHoldingRegisters(r *modbus.HoldingRegistersRequest) ([]uint16, error) {
	return access(d, d.holding[:], r.Addr, r.Quantity, r.IsWrite, r.Args)
}

func (d *ownPLC) HandleDiscreteInputs(r *modbus.DiscreteInputsRequest) ([]bool, error) {
	out := make([]bool, r.Quantity)
	for i := range out {
		out[i] = (int(r.Addr)+i)%2 == 1
	}
	return out, nil
}

func (d *ownPLC) HandleInputRegisters(r *modbus.InputRegistersRequest) ([]uint16, error) {
	out := make([]uint16, r.Quantity)
	for i := range out {
		out[i] = uint16((int(r.Addr) + i) * 31)
	}
	return out, nil
}

// foreignPLC is a pymodbus process.
type foreignPLC struct {
	p       int
	python  string
	process *exec.Cmd
}

func newForeignPLC(t testing.TB) plc {
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(python, "-c", "import pymodbus.server").Run() == nil {
			return &foreignPLC{p: realtest.FreePort(t), python: python}
		}
	}
	realtest.Skip(t, "no python3 has pymodbus with its server (python3-pymodbus, python3-serial-asyncio)")
	return nil
}

func (d *foreignPLC) port() int { return d.p }

func (d *foreignPLC) on(t testing.TB) {
	t.Helper()
	d.process = exec.Command(d.python, "../../tags/modbus/testdata/server.py", strconv.Itoa(d.p), "tcp")
	require.NoError(t, d.process.Start())
	eventually(t, "the pymodbus server does not listen", func() bool {
		conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(d.p)))
		return err == nil && conn.Close() == nil
	})
}

func (d *foreignPLC) off(t testing.TB) {
	t.Helper()
	if d.process != nil {
		require.NoError(t, d.process.Process.Kill())
		_ = d.process.Wait() // it says that the process was killed
		d.process = nil
	}
}

func TestModbusByEditingOneFile(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(testing.TB) plc{"own": newOwnPLC, "pymodbus": newForeignPLC} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			device := make(t)
			device.on(t)
			t.Cleanup(func() { device.off(t) })
			env := append([]string{"Drivers__0__Port=" + strconv.Itoa(device.port()), "Drivers__0__BackoffMaxMs=1000"}, known...)
			e := start(t, env, "-config", "examples/modbus-engine.yaml", "-demo", "-data", t.TempDir())
			readAndWrite(t, e, device)
			offAndOn(t, e, device)
		})
	}
}

func readAndWrite(t *testing.T, e *engine, device plc) {
	s := e.admin()
	s.good("plc1.level")
	require.InDelta(t, 70, s.number("plc1.level"), 0)
	require.InDelta(t, 31, s.number("plc1.temperature"), 1e-9, "310 tenths")
	require.Equal(t, "true", s.read("plc1.alarm").CurrentValue.String())

	ctx, cancel := context.WithCancel(s.rpc())
	defer cancel()
	stream, err := s.grpc.SubscribeTagChanges(ctx, &platformv1.SubscribeTagChangesRequest{TagNames: []string{"plc1.speed"}})
	require.NoError(t, err)
	first, err := stream.Recv()
	require.NoError(t, err)
	require.Equal(t, int64(210), first.GetNewValue().GetInt64Value())

	for _, w := range [][2]string{{"setpoint", "71.25"}, {"speed", "1500"}, {"pump", "false"}} {
		done := s.settled(s.write("plc1", w[0], w[1], true))
		require.Equal(t, client.Confirmed, done.State, "%s %s", w[0], done.Error)
		require.Equal(t, w[1], s.read("plc1."+w[0]).CurrentValue.String())
	}
	value := "151"
	refused, err := s.WriteTagWithResponse(t.Context(), "plc1", "setpoint", nil, client.WriteRequest{Value: &value})
	require.NoError(t, err)
	require.Equal(t, "INVALID_VALUE", refused.ApplicationProblemJSON400.Code)
	value = "5"
	refused, err = s.WriteTagWithResponse(t.Context(), "plc1", "level", nil, client.WriteRequest{Value: &value})
	require.NoError(t, err)
	require.Equal(t, "READ_ONLY_TAG", refused.ApplicationProblemJSON403.Code)

	second, err := stream.Recv()
	require.NoError(t, err)
	require.Equal(t, int64(1500), second.GetNewValue().GetInt64Value())

	mbpoll := realtest.Need(t, "mbpoll")
	poll := func(args ...string) string {
		args = append([]string{"-m", "tcp", "-p", strconv.Itoa(device.port()), "-a", "1", "-0", "-1", "-o", "5"}, args...)
		out, err := exec.Command(mbpoll, append(args, "127.0.0.1")...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	require.Regexp(t, `\[20\]:\s+71\.25\b`, poll("-t", "4:float", "-r", "20"))
	require.Regexp(t, `\[30\]:\s+1500\b`, poll("-t", "4", "-r", "30"))
	require.Regexp(t, `\[3\]:\s+0\b`, poll("-t", "0", "-r", "3"))
}

func offAndOn(t *testing.T, e *engine, device plc) {
	s := e.admin()
	device.off(t)
	eventually(t, "the tags of a dead device do not go Bad", func() bool { return s.read("plc1.level").Quality == client.Bad })
	dead := s.read("plc1.level")
	require.Equal(t, "70", dead.CurrentValue.String(), "the last value is kept")
	require.NotEmpty(t, dead.QualityReason)
	value := "5"
	refused, err := s.WriteTagWithResponse(t.Context(), "plc1", "speed", nil, client.WriteRequest{Value: &value})
	require.NoError(t, err)
	require.Equal(t, 503, refused.StatusCode(), "%s", refused.Body)
	require.Contains(t, string(refused.Body), "DRIVER_OFFLINE")

	alive := s.read("sim.counter")
	eventually(t, "another device's tags stand still", func() bool {
		now := s.read("sim.counter")
		return now.Quality == client.Good && now.CurrentValue != alive.CurrentValue
	})
	drivers, err := s.ListDriversWithResponse(t.Context())
	require.NoError(t, err)
	for _, d := range *drivers.JSON200 {
		if d.DriverID == "plc1" {
			require.NotEqual(t, client.Online, d.State)
			require.NotEmpty(t, d.LastError)
		} else {
			require.Equal(t, client.Online, d.State)
		}
	}
	require.Equal(t, client.Degraded, e.health().Status)

	device.on(t)
	s.good("plc1.level")
	done := s.settled(s.write("plc1", "speed", "900", true))
	require.Equal(t, client.Confirmed, done.State, done.Error)
	eventually(t, "health does not recover", func() bool { return e.health().Status == client.Healthy })
}
