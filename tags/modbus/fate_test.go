package modbus_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/simonvetter/modbus"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
	driver "github.com/otkit/otkit/tags/modbus"
)

// Nobody may be told that a value was not taken which the device has all the same.
func TestWritesOfUncertainFate(t *testing.T) {
	exception := func(code byte) func([]byte) []byte {
		return func(r []byte) []byte { return []byte{r[0], r[1], 0, 0, 0, 3, r[6], r[7] | 0x80, code} }
	}
	for name, c := range map[string]struct {
		answer    func([]byte) []byte
		uncertain bool
	}{
		"no answer":        {func([]byte) []byte { return []byte{} }, true},
		"another function": {func(r []byte) []byte { return append(r[:7:7], 16, 0, 0, 0, 1) }, true},
		"another value":    {func(r []byte) []byte { return append(r[:10:10], 9, 9) }, true},
		"connection ended": {func([]byte) []byte { return nil }, true},
		"acknowledge":      {exception(5), true},
		"gateway, silent":  {exception(11), true},
		"function":         {exception(1), false},
		"address":          {exception(2), false},
		"value":            {exception(3), false},
		"failure":          {exception(4), false},
		"busy":             {exception(6), false},
		"gateway, no path": {exception(10), false},
	} {
		t.Run(name, func(t *testing.T) {
			s := startScripted(t, c.answer)
			d := connected(t, driver.Options{Address: s.addr, Timeout: time.Second})
			item := tags.WriteItem{Point: point("HR:0", "", tags.Int), Value: tags.IntValue(7)}
			errs := make([]error, 2)
			if err := d.Write(t.Context(), []tags.WriteItem{item, item}, errs); err != nil {
				require.ErrorIs(t, err, tags.ErrNotConnected)
				require.NotErrorIs(t, errs[1], tags.ErrUncertain, "it was not sent")
			}
			require.Error(t, errs[0])
			require.Equal(t, c.uncertain, errors.Is(errs[0], tags.ErrUncertain), "%v", errs[0])
			require.Equal(t, c.uncertain, errors.Is(errs[0], tags.ErrUncertain) || errors.Is(errs[0], tags.ErrTimeout))
		})
	}
}

// Setting a bit begins with reading its register; what fails then was not written.
func TestABitWhoseRegisterCannotBeReadIsNotWritten(t *testing.T) {
	s := startScripted(t, func([]byte) []byte { return []byte{} })
	d := connected(t, driver.Options{Address: s.addr, Timeout: time.Second})
	err := write(t, d, tags.WriteItem{Point: point("HR:0.3", "", tags.Bool), Value: tags.BoolValue(true)})[0]
	require.ErrorContains(t, err, "not sent")
	require.NotErrorIs(t, err, tags.ErrUncertain)
	require.NotErrorIs(t, err, tags.ErrTimeout)
}

// serialGateway is a transparent gateway: what the line says goes to whoever is connected at the time,
// or to who connects next. The value of a register is its address.
type serialGateway struct {
	addr string
	mu   sync.Mutex
	slow time.Duration // of the next answer
	conn net.Conn      // the newest connection
	kept bytes.Buffer
}

func startSerialGateway(t *testing.T, keepFor time.Duration) *serialGateway {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	g := &serialGateway{addr: l.Addr().String()}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { g.serve(conn, keepFor) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		all.Wait()
	})
	return g
}

func (g *serialGateway) serve(conn net.Conn, keepFor time.Duration) {
	defer func() { _ = conn.Close() }()
	g.mu.Lock()
	g.conn = conn
	g.mu.Unlock()
	time.Sleep(keepFor)
	g.mu.Lock()
	_, _ = g.kept.WriteTo(conn)
	g.mu.Unlock()
	request := make([]byte, 8)
	for {
		if _, err := io.ReadFull(conn, request); err != nil {
			g.mu.Lock()
			if g.conn == conn {
				g.conn = nil
			}
			g.mu.Unlock()
			return
		}
		g.mu.Lock()
		slow := g.slow
		g.slow = 0
		g.mu.Unlock()
		answer := withCRC(request[0], 3, 2, request[2], request[3])
		if slow == 0 {
			_, _ = conn.Write(answer)
			continue
		}
		time.AfterFunc(slow, func() { // the line does not know who asked
			g.mu.Lock()
			defer g.mu.Unlock()
			if g.conn == nil {
				g.kept.Write(answer)
				return
			}
			_, _ = g.conn.Write(answer)
		})
	}
}

func TestALateSerialAnswerIsNotTakenForTheNext(t *testing.T) {
	t.Parallel()
	g := startSerialGateway(t, 20*time.Millisecond)
	d := connected(t, driver.Options{Address: g.addr, Protocol: driver.RTUOverTCP, Timeout: time.Second})
	requireReading(t, tags.IntValue(100), read(t, d, ints("HR:100")...)[0])
	for _, slow := range []time.Duration{1250, 1500, 1750} {
		g.mu.Lock()
		g.slow = slow * time.Millisecond
		g.mu.Unlock()
		require.ErrorIs(t, read(t, d, ints("HR:100")...)[0].Err, tags.ErrTimeout)
		for i := range 3 {
			requireReading(t, tags.IntValue(int64(200+i)), read(t, d, ints("HR:"+strconv.Itoa(200+i))...)[0])
		}
	}
}

func TestClosingDoesNotWaitForALateSerialAnswer(t *testing.T) {
	t.Parallel()
	g := startSerialGateway(t, 0)
	d := connected(t, driver.Options{Address: g.addr, Protocol: driver.RTUOverTCP, Timeout: 3 * time.Second})
	g.mu.Lock()
	g.slow = time.Hour
	g.mu.Unlock()
	require.ErrorIs(t, read(t, d, ints("HR:1")...)[0].Err, tags.ErrTimeout)
	done := make(chan error, 1)
	go func() { done <- d.Read(t.Context(), ints("HR:1"), make([]tags.Reading, 1)) }()
	time.Sleep(50 * time.Millisecond)
	require.NoError(t, d.Close())
	select {
	case err := <-done:
		require.ErrorIs(t, err, tags.ErrNotConnected)
	case <-time.After(2 * time.Second):
		require.Fail(t, "the Read goes on waiting after Close")
	}
}

func TestRound(t *testing.T) {
	d, err := driver.New(driver.Options{Address: "127.0.0.1"})
	require.NoError(t, err)
	for _, c := range []struct {
		address, native string
		as              tags.DataType
		v, want         tags.Value
	}{
		{"HR:0", "Int16", tags.Float, tags.FloatValue(25.05), tags.FloatValue(25)},
		{"HR:0", "Int16", tags.Float, tags.FloatValue(-2.5), tags.FloatValue(-3)},
		{"HR:0", "Float32;DCBA", tags.Float, tags.FloatValue(0.1), tags.FloatValue(float64(float32(0.1)))},
		{"HR:0", "Float64", tags.Float, tags.FloatValue(0.1), tags.FloatValue(0.1)},
		{"HR:0", "UInt64", tags.Int, tags.IntValue(5), tags.IntValue(5)},
		{"CO:0", "", tags.Bool, tags.BoolValue(true), tags.BoolValue(true)},
		{"HR:0.7", "", tags.Bool, tags.BoolValue(true), tags.BoolValue(true)},
		{"HR:0", "String:5", tags.String, tags.StringValue("abc"), tags.StringValue("abc")},
	} {
		got, err := d.Round(point(c.address, c.native, c.as), c.v)
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
	_, err = d.Round(point("HR:0", "Int16", tags.Float), tags.FloatValue(32767.5))
	require.ErrorIs(t, err, tags.ErrInvalidValue)
	_, err = d.Round(point("HR:0", "Float32", tags.Float), tags.FloatValue(1e39))
	require.ErrorIs(t, err, tags.ErrInvalidValue)
	_, err = d.Round(point("HR:0", "Float32", tags.Int), tags.IntValue(1<<24+1))
	require.ErrorIs(t, err, tags.ErrInvalidValue)
	_, err = d.Round(point("bad", "", tags.Int), tags.IntValue(1))
	require.ErrorIs(t, err, tags.ErrAddress)
}

func TestADeviceThatRefusesEverythingIsNotAskedForEachPoint(t *testing.T) {
	dev := startDevice(t)
	now := time.Unix(0, 0)
	d := connected(t, driver.Options{Address: dev.addr, Now: func() time.Time { return now }})
	points := make([]tags.Point, 500)
	for i := range points {
		points[i] = point("HR:"+strconv.Itoa(i), "", tags.Int)
	}
	poll := func() int {
		t.Helper()
		dev.asked()
		read(t, d, points...)
		return len(dev.asked())
	}
	require.Equal(t, 4, poll())
	for _, exception := range []modbus.Error{modbus.ErrServerDeviceFailure, modbus.ErrIllegalDataValue} {
		now = now.Add(time.Hour)
		dev.change(func(d *device) { d.refuse = exception })
		require.LessOrEqual(t, poll(), 64, "it is looked for a part to blame")
		require.Equal(t, 4, poll(), "there is none, so the runs are left in one piece")
		now = now.Add(time.Hour)
		require.LessOrEqual(t, poll(), 64)
		dev.change(func(d *device) { d.refuse = nil })
		require.Equal(t, 4, poll(), "nothing was learnt from it")
	}
	dev.change(func(d *device) { d.refuse = modbus.ErrIllegalDataAddress })
	require.LessOrEqual(t, poll(), 250, "one Read halves so many runs and no more")
}
