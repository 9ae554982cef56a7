package modbus_test

import (
	"net"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/realtest"
	"github.com/otkit/otkit/tags"
	driver "github.com/otkit/otkit/tags/modbus"
)

// foreign is a pymodbus server process; see testdata/server.py for what it has.
type foreign struct {
	python, framer string
	answers        time.Duration // how long one takes
	serial         string        // port, for the framer serial
	port           int
	process        *exec.Cmd
}

func startForeign(t *testing.T, framer string, more ...func(*foreign)) *foreign {
	t.Helper()
	f := &foreign{framer: framer, port: realtest.FreePort(t)}
	for _, m := range more {
		m(f)
	}
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(python, "-c", "import pymodbus.server").Run() == nil {
			f.python = python
			break
		}
	}
	if f.python == "" {
		realtest.Skip(t, "no python3 has pymodbus with its server (python3-pymodbus, python3-serial-asyncio)")
	}
	f.start(t)
	t.Cleanup(func() { f.kill(t) })
	return f
}

func (f *foreign) addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(f.port)) }

func (f *foreign) start(t *testing.T) {
	t.Helper()
	port := f.serial
	if port == "" {
		port = strconv.Itoa(f.port)
	}
	f.process = exec.Command(f.python, "testdata/server.py", port, f.framer, strconv.FormatInt(f.answers.Milliseconds(), 10))
	require.NoError(t, f.process.Start())
	if f.serial != "" {
		return // the test sees by its answers that it is there
	}
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", f.addr())
		if err != nil {
			return false
		}
		return conn.Close() == nil
	}, time.Minute, 20*time.Millisecond, "the pymodbus server does not listen")
}

func (f *foreign) kill(t *testing.T) {
	t.Helper()
	if f.process == nil {
		return
	}
	require.NoError(t, f.process.Process.Kill())
	_ = f.process.Wait() // it says that the process was killed
	f.process = nil
}

func (f *foreign) signal(t *testing.T, s os.Signal) {
	t.Helper()
	require.NoError(t, f.process.Process.Signal(s))
}

func TestForeignServer(t *testing.T) {
	for _, c := range []struct {
		framer   string
		protocol driver.Protocol
	}{{"tcp", driver.TCP}, {"rtu", driver.RTUOverTCP}} {
		t.Run(c.framer, func(t *testing.T) {
			f := startForeign(t, c.framer)
			d := connected(t, driver.Options{Address: f.addr(), Protocol: c.protocol, Timeout: 30 * time.Second})
			out := read(t, d,
				point("HR:10", "", tags.Int), point("30011", "", tags.Int), point("CO:3", "", tags.Bool),
				point("DI:3", "", tags.Bool), point("HR:11", "UInt32", tags.Int), point("40011.1", "", tags.Bool),
				point("HR:999", "", tags.Int), point("HR:1000", "", tags.Int),
				point("2/HR:9", "", tags.Int), point("2/HR:10", "", tags.Int), point("2/HR:12", "", tags.Int))
			for i, want := range []tags.Value{
				tags.IntValue(70), tags.IntValue(310), tags.BoolValue(true), tags.BoolValue(true),
				tags.IntValue(77<<16 | 84), tags.BoolValue(true), tags.IntValue(6993), {},
				tags.IntValue(109), {}, tags.IntValue(112),
			} {
				if want.IsZero() {
					require.ErrorIs(t, out[i].Err, tags.ErrNoSuchAddress)
				} else {
					requireReading(t, want, out[i])
				}
			}
			items := []tags.WriteItem{
				{Point: point("HR:20", "", tags.Int), Value: tags.IntValue(-7)},
				{Point: point("HR:30", "Float64;CDAB", tags.Float), Value: tags.FloatValue(2.5)},
				{Point: point("CO:7", "", tags.Bool), Value: tags.BoolValue(true)},
				{Point: point("HR:40.5", "", tags.Bool), Value: tags.BoolValue(true)},
				{Point: point("HR:50", "String:11", tags.String), Value: tags.StringValue("Grüße")},
			}
			for i, err := range write(t, d, items...) {
				require.NoError(t, err)
				requireReading(t, items[i].Value, read(t, d, items[i].Point)[0])
			}
		})
	}
}

func TestForeignClientReadsWhatWasWritten(t *testing.T) {
	mbpoll := realtest.Need(t, "mbpoll")
	f := startForeign(t, "tcp")
	d := connected(t, driver.Options{Address: f.addr(), Timeout: 30 * time.Second})
	for _, err := range write(t, d,
		tags.WriteItem{Point: point("HR:100", "", tags.Int), Value: tags.IntValue(12345)},
		tags.WriteItem{Point: point("HR:101", "Int32", tags.Int), Value: tags.IntValue(-123456)},
		tags.WriteItem{Point: point("HR:103", "Float32;CDAB", tags.Float), Value: tags.FloatValue(-12.75)},
		tags.WriteItem{Point: point("CO:101", "", tags.Bool), Value: tags.BoolValue(true)},
	) {
		require.NoError(t, err)
	}
	poll := func(args ...string) string {
		t.Helper()
		args = append([]string{"-m", "tcp", "-p", strconv.Itoa(f.port), "-a", "1", "-0", "-1", "-o", "5"}, args...)
		out, err := exec.Command(mbpoll, append(args, "127.0.0.1")...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	require.Regexp(t, `\[100\]:\s+12345\b`, poll("-t", "4", "-r", "100"))
	require.Regexp(t, `\[101\]:\s+-123456\b`, poll("-t", "4:int", "-B", "-r", "101"))
	require.Regexp(t, `\[103\]:\s+-12\.75\b`, poll("-t", "4:float", "-r", "103"))
	require.Regexp(t, `\[101\]:\s+1\b`, poll("-t", "0", "-r", "101"))

	args := []string{"-m", "tcp", "-p", strconv.Itoa(f.port), "-a", "1", "-0", "-r", "110", "-t", "4:float", "-B", "127.0.0.1", "3.5"}
	out, err := exec.Command(mbpoll, args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	requireReading(t, tags.FloatValue(3.5), read(t, d, point("HR:110", "", tags.Float))[0])
}

func TestForeignServerKilledWithinReadsAndRestarted(t *testing.T) {
	f := startForeign(t, "tcp")
	d := connected(t, driver.Options{Address: f.addr(), Timeout: 30 * time.Second})
	points := ints("HR:1", "HR:100", "HR:200", "IR:1", "2/HR:1")
	read(t, d, points...)
	process := f.process.Process
	killed := make(chan error, 1)
	time.AfterFunc(20*time.Millisecond, func() { killed <- process.Kill() })
	for {
		out := make([]tags.Reading, len(points))
		err := d.Read(t.Context(), points, out)
		if err != nil {
			require.ErrorIs(t, err, tags.ErrNotConnected)
			break
		}
		for _, r := range out {
			require.NoError(t, r.Err)
		}
	}
	require.NoError(t, <-killed)
	_ = f.process.Wait()
	f.process = nil
	require.ErrorIs(t, d.Connect(t.Context()), tags.ErrNotConnected)
	require.ErrorIs(t, d.Read(t.Context(), points, make([]tags.Reading, len(points))), tags.ErrNotConnected)

	f.start(t)
	require.NoError(t, d.Connect(t.Context()))
	requireReading(t, tags.IntValue(7), read(t, d, points...)[0])
}

func TestForeignServerFrozen(t *testing.T) {
	t.Parallel()
	f := startForeign(t, "tcp")
	now := time.Now()
	d := connected(t, driver.Options{
		Address: f.addr(), Timeout: 2 * time.Second, Now: func() time.Time { return now },
	})
	points := ints("HR:1", "HR:100", "HR:200", "IR:1", "IR:100")
	requireReading(t, tags.IntValue(7), read(t, d, points...)[0])
	f.signal(t, sigStop)
	for range 2 { // the first read ends with three timeouts, the second at once
		for _, r := range read(t, d, points...) {
			require.ErrorIs(t, r.Err, tags.ErrTimeout)
		}
	}
	f.signal(t, sigCont)
	now = now.Add(time.Minute)
	require.Eventually(t, func() bool {
		now = now.Add(time.Minute)
		return read(t, d, points...)[0].Err == nil
	}, time.Minute, 10*time.Millisecond)
	requireReading(t, tags.IntValue(31), read(t, d, points...)[3])
}

func TestForeignGatewayWithADeadUnit(t *testing.T) {
	t.Parallel()
	f := startForeign(t, "rtu")
	d := connected(t, driver.Options{Address: f.addr(), Protocol: driver.RTUOverTCP, Timeout: time.Second})
	for range 5 {
		out := read(t, d, ints("7/HR:0", "HR:1", "2/HR:1")...)
		require.ErrorIs(t, out[0].Err, tags.ErrTimeout)
		requireReading(t, tags.IntValue(7), out[1])
		requireReading(t, tags.IntValue(101), out[2])
	}
}
