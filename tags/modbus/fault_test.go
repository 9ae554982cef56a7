package modbus_test

import (
	"context"
	"encoding/binary"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/simonvetter/modbus"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
	driver "github.com/otkit/otkit/tags/modbus"
)

// scripted is a TCP server that answers each request with whatever bytes the script gives, and closes
// the connection after an answer of nil.
type scripted struct {
	addr        string
	connections atomic.Int32
	once        atomic.Bool // close each connection after its first answer
}

func startScripted(t testing.TB, script func(request []byte) []byte) *scripted {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &scripted{addr: l.Addr().String()}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.connections.Add(1)
			all.Go(func() {
				defer func() { _ = conn.Close() }()
				request := make([]byte, 300)
				for {
					n, err := conn.Read(request)
					if err != nil {
						return
					}
					answer := script(request[:n])
					if answer == nil {
						return
					}
					if _, err := conn.Write(answer); err != nil || s.once.Load() {
						return
					}
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		all.Wait()
	})
	return s
}

// registerAnswer answers a request for one register.
func registerAnswer(request []byte, value uint16) []byte {
	answer := []byte{request[0], request[1], 0, 0, 0, 5, request[6], request[7], 2}
	return binary.BigEndian.AppendUint16(answer, value)
}

func TestForeignTransactionsArePassedOver(t *testing.T) {
	s := startScripted(t, func(request []byte) []byte {
		foreign := registerAnswer(request, 111)
		foreign[1]++
		return append(foreign, registerAnswer(request, 222)...)
	})
	d := connected(t, driver.Options{Address: s.addr})
	for range 3 {
		requireReading(t, tags.IntValue(222), read(t, d, ints("HR:0")...)[0])
	}
}

func TestALateAnswerIsNotTakenForTheNext(t *testing.T) {
	t.Parallel()
	for _, protocol := range []driver.Protocol{driver.TCP, driver.RTUOverTCP} {
		var requests atomic.Int32
		s := startScripted(t, func(request []byte) []byte {
			if requests.Add(1) == 1 {
				time.Sleep(1500 * time.Millisecond)
			}
			if protocol == driver.RTUOverTCP {
				return withCRC(request[0], 3, 2, 0, byte(requests.Load()))
			}
			return registerAnswer(request, uint16(requests.Load()))
		})
		d := connected(t, driver.Options{Address: s.addr, Protocol: protocol, Timeout: time.Second})
		require.ErrorIs(t, read(t, d, ints("HR:0")...)[0].Err, tags.ErrTimeout)
		time.Sleep(time.Second) // so that the late answer is there
		requireReading(t, tags.IntValue(2), read(t, d, ints("HR:1")...)[0])
		if protocol == driver.TCP {
			require.EqualValues(t, 2, s.connections.Load())
		}
	}
}

// withCRC ends a serial frame with its check sum, CRC-16 with the polynomial 0xA001.
func withCRC(frame ...byte) []byte {
	crc := uint16(0xFFFF)
	for _, b := range frame {
		crc ^= uint16(b)
		for range 8 {
			odd := crc&1 == 1
			crc >>= 1
			if odd {
				crc ^= 0xA001
			}
		}
	}
	return binary.LittleEndian.AppendUint16(frame, crc)
}

func TestGarbledAnswers(t *testing.T) {
	for name, garble := range map[string]func([]byte) []byte{
		"unit":     func(a []byte) []byte { a[6]++; return a },
		"function": func(a []byte) []byte { a[7] = 4; return a },
		"count":    func(a []byte) []byte { a[8] = 4; return a },
		"longer":   func(a []byte) []byte { a[5] = 7; return append(a, 0, 0) },
		"shorter":  func(a []byte) []byte { a[5] = 4; return a[:10] },
		"huge":     func(a []byte) []byte { a[4] = 0xFF; return a },
		"empty":    func(a []byte) []byte { a[5] = 1; return a },
	} {
		t.Run(name, func(t *testing.T) {
			var good atomic.Bool
			s := startScripted(t, func(request []byte) []byte {
				answer := registerAnswer(request, 7)
				if good.Load() {
					return answer
				}
				return garble(answer)
			})
			d := connected(t, driver.Options{Address: s.addr})
			out := read(t, d, ints("HR:0", "2/HR:0")...)
			require.ErrorIs(t, out[0].Err, tags.ErrDevice)
			require.ErrorIs(t, out[1].Err, tags.ErrDevice)
			good.Store(true)
			requireReading(t, tags.IntValue(7), read(t, d, ints("HR:0")...)[0])
			require.EqualValues(t, 3, s.connections.Load(), "each garbled answer costs the connection")
		})
	}
}

func TestUnknownExceptionsAreErrorsOfTheDevice(t *testing.T) {
	s := startScripted(t, func(request []byte) []byte {
		return []byte{request[0], request[1], 0, 0, 0, 3, request[6], request[7] | 0x80, 0x63}
	})
	d := connected(t, driver.Options{Address: s.addr})
	for range 5 {
		out := read(t, d, ints("HR:0")...)
		require.ErrorIs(t, out[0].Err, tags.ErrDevice)
		require.ErrorContains(t, out[0].Err, "99")
	}
	require.EqualValues(t, 1, s.connections.Load())
}

func TestAConnectionThatEndsWithinAnAnswer(t *testing.T) {
	var whole atomic.Bool
	s := startScripted(t, func(request []byte) []byte {
		if whole.Load() {
			return registerAnswer(request, 7)
		}
		return nil
	})
	d := connected(t, driver.Options{Address: s.addr})
	out := make([]tags.Reading, 1)
	require.ErrorIs(t, d.Read(t.Context(), ints("HR:0"), out), tags.ErrNotConnected)
	whole.Store(true)
	require.ErrorIs(t, d.Read(t.Context(), ints("HR:0"), out), tags.ErrNotConnected, "the engine is to connect")
	require.ErrorIs(t, d.Write(t.Context(), make([]tags.WriteItem, 1), make([]error, 1)), tags.ErrNotConnected)
	require.NoError(t, d.Connect(t.Context()))
	requireReading(t, tags.IntValue(7), read(t, d, ints("HR:0")...)[0])
}

func TestADeadUnitIsLeftOutAndTriedAgain(t *testing.T) {
	t.Parallel()
	dev := startDevice(t)
	now := time.Unix(0, 0)
	d := connected(t, driver.Options{
		Address: dev.addr, Timeout: time.Second, Now: func() time.Time { return now },
		Breaker: driver.Breaker{Failures: 2, ProbeAfter: time.Minute},
	})
	points := ints("9/HR:0", "9/HR:100", "9/HR:200", "10/HR:0", "1/HR:0")
	poll := func(wantAsked ...string) {
		t.Helper()
		dev.asked()
		out := read(t, d, points...)
		for i, r := range out {
			if i < 3 && dev.silent[9] {
				require.ErrorIs(t, r.Err, tags.ErrTimeout)
			} else {
				requireReading(t, tags.IntValue(0), r)
			}
		}
		require.Equal(t, wantAsked, dev.asked())
	}
	read(t, d, points...)
	dev.change(func(d *device) { d.silent[9] = true })
	poll("read 1/HR:0+1", "read 9/HR:0+1", "read 10/HR:0+1") // one request is enough to see it
	poll("read 1/HR:0+1", "read 10/HR:0+1", "read 9/HR:0+1")
	poll("read 1/HR:0+1", "read 10/HR:0+1")
	item := tags.WriteItem{Point: points[0], Value: tags.IntValue(1)}
	err := write(t, d, item)[0]
	require.ErrorContains(t, err, "not sent")
	require.NotErrorIs(t, err, tags.ErrUncertain)
	require.NotErrorIs(t, err, tags.ErrTimeout)
	require.Empty(t, dev.asked(), "a write does not wait for a dead unit either")
	for range 5 {
		now = now.Add(time.Minute - 1)
		poll("read 1/HR:0+1", "read 10/HR:0+1")
		now = now.Add(1)
		poll("read 1/HR:0+1", "read 10/HR:0+1", "read 9/HR:0+1") // one attempt, after the others
	}
	dev.change(func(d *device) { d.silent = nil })
	now = now.Add(time.Minute)
	poll("read 1/HR:0+1", "read 10/HR:0+1", "read 9/HR:0+1", "read 9/HR:100+1", "read 9/HR:200+1")
	poll("read 1/HR:0+1", "read 9/HR:0+1", "read 9/HR:100+1", "read 9/HR:200+1", "read 10/HR:0+1")
}

func TestDeadUnitsCostOneTimeoutARead(t *testing.T) {
	t.Parallel()
	dev := startDevice(t)
	for unit := range uint8(4) {
		dev.silent[2+unit] = true
	}
	now := time.Unix(0, 0)
	d := connected(t, driver.Options{
		Address: dev.addr, Timeout: time.Second, Now: func() time.Time { return now },
		Breaker: driver.Breaker{Failures: 1, ProbeAfter: 10 * time.Second},
	})
	points := ints("2/HR:0", "3/HR:0", "4/HR:0", "5/HR:0", "6/HR:0")
	poll := func() (silent []string) {
		t.Helper()
		dev.asked()
		out := read(t, d, points...)
		for i := range 4 {
			require.ErrorIs(t, out[i].Err, tags.ErrTimeout)
		}
		for i, a := range dev.asked() {
			if a == "read 6/HR:0+1" {
				require.NoError(t, out[4].Err)
				require.Zero(t, i, "it is read first")
			} else {
				silent = append(silent, a)
			}
		}
		return silent
	}
	for _, unit := range []string{"2", "3", "4", "5"} { // each is found out in a Read of its own
		require.Equal(t, []string{"read " + unit + "/HR:0+1"}, poll())
	}
	require.Empty(t, poll(), "all dead units are known")
	now = now.Add(10 * time.Second)
	require.Equal(t, []string{"read 2/HR:0+1"}, poll())
	require.Empty(t, poll(), "the next attempt waits, although it is due")
	now = now.Add(10 * time.Second)
	require.Equal(t, []string{"read 3/HR:0+1"}, poll())
	dev.change(func(d *device) { d.silent = nil })
	now = now.Add(2500 * time.Millisecond) // a quarter of the time, as there are four
	for _, r := range read(t, d, points...) {
		requireReading(t, tags.IntValue(0), r) // one that answers makes the others due
	}
}

func TestAGatewayThatReportsADeadUnit(t *testing.T) {
	dev := startDevice(t)
	dev.refuse = modbus.ErrGWTargetFailedToRespond
	d := connected(t, driver.Options{Address: dev.addr, Breaker: driver.Breaker{Failures: 2, ProbeAfter: time.Hour}})
	for range 5 {
		for _, r := range read(t, d, ints("HR:0", "2/HR:0")...) {
			require.ErrorIs(t, r.Err, tags.ErrTimeout)
		}
	}
	require.Len(t, dev.asked(), 4)
	require.NoError(t, d.Connect(t.Context()))
	dev.change(func(d *device) { d.refuse = nil })
	requireReading(t, tags.IntValue(0), read(t, d, ints("HR:0")...)[0])
}

func TestWhatWasReadBeforeTheDeadlineStays(t *testing.T) {
	t.Parallel()
	dev := startDevice(t)
	dev.silent[9] = true
	d := connected(t, driver.Options{Address: dev.addr, Timeout: 3 * time.Second})
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	out := make([]tags.Reading, 3)
	require.NoError(t, d.Read(ctx, ints("9/HR:0", "1/HR:0", "10/HR:0"), out))
	require.ErrorIs(t, out[0].Err, tags.ErrTimeout)
	requireReading(t, tags.IntValue(0), out[1])
	require.ErrorIs(t, out[2].Err, tags.ErrTimeout)
	requireReading(t, tags.IntValue(0), read(t, d, ints("10/HR:0")...)[0])
}

func TestAFrozenDeviceEndsNoCallTooLate(t *testing.T) {
	dev := startDevice(t)
	d := connected(t, driver.Options{Address: dev.addr, Timeout: time.Minute})
	dev.freeze()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- d.Read(ctx, ints("HR:0"), make([]tags.Reading, 1)) }()
	require.Eventually(t, func() bool { return len(dev.asked()) == 1 }, time.Minute, time.Millisecond)
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)

	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.Error(t, d.Connect(short), "the library is not done with the request yet")
	dev.thaw()
	require.NoError(t, d.Connect(t.Context()))
	requireReading(t, tags.IntValue(0), read(t, d, ints("HR:0")...)[0])

	dev.freeze()
	ctx, cancel = context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	errs := make([]error, 2)
	item := tags.WriteItem{Point: point("HR:0", "", tags.Int), Value: tags.IntValue(1)}
	require.NoError(t, d.Write(ctx, []tags.WriteItem{item, item}, errs))
	require.ErrorIs(t, errs[0], tags.ErrTimeout)
	require.ErrorIs(t, errs[0], tags.ErrUncertain)
	require.ErrorContains(t, errs[1], "not sent")
	require.NotErrorIs(t, errs[1], tags.ErrTimeout)
	dev.thaw()
}

func TestCloseEndsAReadUnderWay(t *testing.T) {
	dev := startDevice(t)
	d := connected(t, driver.Options{Address: dev.addr, Timeout: time.Minute})
	dev.freeze()
	done := make(chan error, 1)
	go func() { done <- d.Read(context.Background(), ints("HR:0"), make([]tags.Reading, 1)) }()
	require.Eventually(t, func() bool { return len(dev.asked()) == 1 }, time.Minute, time.Millisecond)
	closed := make(chan error, 2)
	for range 2 {
		go func() { closed <- d.Close() }()
	}
	require.ErrorIs(t, <-done, tags.ErrNotConnected)
	dev.thaw()
	require.NoError(t, <-closed)
	require.NoError(t, <-closed)
}
