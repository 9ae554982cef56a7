package modbus_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"strconv"
	"sync"
	"testing"

	"github.com/simonvetter/modbus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otkit/otkit/internal/realtest"
	"github.com/otkit/otkit/tags"
	driver "github.com/otkit/otkit/tags/modbus"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// device is a Modbus server in this process. Its units have all addresses.
type device struct {
	addr string

	mu       sync.Mutex
	server   *modbus.ModbusServer
	items    map[string]uint16 // by unit/table:address; bits as 0 and 1
	missing  map[string]bool
	longest  int // longer runs are refused; 0 for no limit
	refuse   error
	frozen   chan struct{}  // requests wait for it to be closed; nil when not frozen
	silent   map[uint8]bool // units that give no answer
	absent   map[uint8]bool // units that the gateway says give none
	quit     chan struct{}
	requests []string // what was asked: unit/table:address+quantity
}

func startDevice(t testing.TB) *device {
	t.Helper()
	d := &device{
		addr:  "127.0.0.1:" + strconv.Itoa(realtest.FreePort(t)),
		items: map[string]uint16{}, missing: map[string]bool{},
		silent: map[uint8]bool{}, absent: map[uint8]bool{}, quit: make(chan struct{}),
	}
	d.start(t)
	t.Cleanup(func() {
		d.thaw()
		close(d.quit)
		d.stop(t)
	})
	return d
}

func (d *device) start(t testing.TB) {
	t.Helper()
	server, err := modbus.NewServer(&modbus.ServerConfiguration{
		URL: "tcp://" + d.addr, MaxClients: 50, Logger: log.New(io.Discard, "", 0),
	}, d)
	require.NoError(t, err)
	require.NoError(t, server.Start())
	d.server = server
}

func (d *device) stop(t testing.TB) {
	t.Helper()
	require.NoError(t, d.server.Stop())
}

func (d *device) freeze() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.frozen = make(chan struct{})
}

func (d *device) thaw() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.frozen != nil {
		close(d.frozen)
	}
	d.frozen = nil
}

// change sets what else the device does.
func (d *device) change(f func(*device)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f(d)
}

func place(unit uint8, table string, address int) string {
	return fmt.Sprintf("%d/%s:%d", unit, table, address)
}

func (d *device) set(unit uint8, table string, address int, values ...uint16) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, v := range values {
		d.items[place(unit, table, address+i)] = v
	}
}

func (d *device) get(unit uint8, table string, address, quantity int) []uint16 {
	d.mu.Lock()
	defer d.mu.Unlock()
	values := make([]uint16, quantity)
	for i := range values {
		values[i] = d.items[place(unit, table, address+i)]
	}
	return values
}

// asked returns the requests since the last call.
func (d *device) asked() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	asked := d.requests
	d.requests = nil
	return asked
}

func (d *device) handle(unit uint8, table string, address, quantity uint16, write []uint16) ([]uint16, error) {
	what := "read "
	if write != nil {
		what = "write "
	}
	d.mu.Lock()
	d.requests = append(d.requests, fmt.Sprintf("%s%s+%d", what, place(unit, table, int(address)), quantity))
	frozen, silent := d.frozen, d.silent[unit]
	d.mu.Unlock()
	if silent {
		frozen = d.quit
	}
	if frozen != nil {
		<-frozen
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	refuse := d.refuse
	if d.absent[unit] {
		refuse = modbus.ErrGWTargetFailedToRespond
	}
	if refuse != nil {
		return nil, refuse
	}
	if d.longest > 0 && int(quantity) > d.longest {
		return nil, modbus.ErrIllegalDataValue
	}
	values := make([]uint16, quantity)
	for i := range values {
		key := place(unit, table, int(address)+i)
		if d.missing[key] {
			return nil, modbus.ErrIllegalDataAddress
		}
		if write != nil {
			d.items[key] = write[i]
		}
		values[i] = d.items[key]
	}
	return values, nil
}

func (d *device) HandleCoils(r *modbus.CoilsRequest) ([]bool, error) {
	var write []uint16
	for _, set := range r.Args {
		write = append(write, map[bool]uint16{true: 1}[set])
	}
	values, err := d.handle(r.UnitId, "CO", r.Addr, r.Quantity, write)
	return bits(values), err
}

func (d *device) HandleDiscreteInputs(r *modbus.DiscreteInputsRequest) ([]bool, error) {
	values, err := d.handle(r.UnitId, "DI", r.Addr, r.Quantity, nil)
	return bits(values), err
}

func (d *device) HandleHoldingRegisters(r *modbus.HoldingRegistersRequest) ([]uint16, error) {
	return d.handle(r.UnitId, "HR", r.Addr, r.Quantity, r.Args)
}

func (d *device) HandleInputRegisters(r *modbus.InputRegistersRequest) ([]uint16, error) {
	return d.handle(r.UnitId, "IR", r.Addr, r.Quantity, nil)
}

func bits(values []uint16) []bool {
	b := make([]bool, len(values))
	for i, v := range values {
		b[i] = v != 0
	}
	return b
}

// connected makes a driver and connects it.
func connected(t testing.TB, o driver.Options) *driver.Driver {
	t.Helper()
	d, err := driver.New(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	require.NoError(t, d.Connect(context.Background()))
	return d
}

func read(t testing.TB, d *driver.Driver, points ...tags.Point) []tags.Reading {
	t.Helper()
	out := make([]tags.Reading, len(points))
	require.NoError(t, d.Read(context.Background(), points, out))
	return out
}

func write(t testing.TB, d *driver.Driver, items ...tags.WriteItem) []error {
	t.Helper()
	errs := make([]error, len(items))
	require.NoError(t, d.Write(context.Background(), items, errs))
	return errs
}

func point(address, native string, as tags.DataType) tags.Point {
	return tags.Point{Address: address, NativeType: native, Type: as}
}

// good is a reading of a value.
func good(v tags.Value) tags.Reading { return tags.Reading{Value: v, Quality: tags.Good} }

func requireReading(t testing.TB, want tags.Value, got tags.Reading) {
	t.Helper()
	require.NoError(t, got.Err)
	require.Equal(t, good(want), got)
}
