package modbus

import (
	"context"
	"errors"
	"fmt"

	"github.com/simonvetter/modbus"

	"github.com/otkit/otkit/tags"
)

// Read reads points; see tags.Driver and the package comment. When the deadline of ctx passes, what
// has been read stays, the other points get tags.ErrTimeout, and Read returns nil.
func (d *Driver) Read(ctx context.Context, points []tags.Point, out []tags.Reading) error {
	if !d.link.connected() {
		return tags.ErrNotConnected
	}
	p := d.plans.of(points, d.parsePoint)
	for _, bad := range p.bad {
		out[bad.index].Err = bad.err
	}
	err := d.readUnits(ctx, p, out)
	if errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, tags.ErrNotConnected) {
		late := fmt.Errorf("%w: %w", tags.ErrTimeout, err)
		for i := range out {
			if out[i].Err == nil && out[i].Value.IsZero() {
				out[i].Err = late
			}
		}
		return nil
	}
	return err
}

// readUnits reads units in trouble after the others, which are not to wait for their timeouts.
func (d *Driver) readUnits(ctx context.Context, p *plan, out []tags.Reading) error {
	if len(p.units) == 0 {
		return ctx.Err()
	}
	d.late = d.late[:0]
	for _, u := range p.units {
		if !d.breakers.healthy(u.unit) {
			d.late = append(d.late, u)
			continue
		}
		if err := d.readUnit(ctx, p, u, out); err != nil {
			return err
		}
	}
	for _, u := range d.late {
		if err := d.readUnit(ctx, p, u, out); err != nil {
			return err
		}
	}
	return nil
}

func (d *Driver) readUnit(ctx context.Context, p *plan, u unitRuns, out []tags.Reading) error {
	for _, r := range u.runs {
		if _, err := d.readRun(ctx, p, r, out); err != nil {
			return err
		}
	}
	return nil
}

// readRun reads one run, halving it as long as the device refuses it. It says whether the device
// refused a point by itself. The error is for the whole call.
func (d *Driver) readRun(ctx context.Context, p *plan, r run, out []tags.Reading) (refused bool, err error) {
	raw, err := d.ask(ctx, r.unit, r.request)
	if err == nil {
		p.take(r, raw, out)
		d.plans.release(p.parsed[r.items[0]].block())
		return false, nil
	}
	if endsCall(err) {
		return false, err
	}
	m := 0
	if maySplit(err) {
		if m = p.middle(r.items); m == 0 {
			d.plans.isolate(p.parsed[r.items[0]].block())
			refused = true
		}
	}
	if m == 0 {
		for _, i := range r.items {
			out[i].Err = err
		}
		return refused, nil
	}
	left, err := d.readRun(ctx, p, p.runOf(r.items[:m]), out)
	if err != nil {
		return left, err
	}
	right, err := d.readRun(ctx, p, p.runOf(r.items[m:]), out)
	if err != nil {
		return left || right, err
	}
	if !left && !right {
		// No point is to blame: the gap between the halves is, or the length of the whole.
		d.plans.cut(r.place, p.parsed[r.items[m]].start)
	}
	return left || right, nil
}

// request reads the run: two bytes for a register, one for a bit.
func (r run) request(c *modbus.ModbusClient) ([]byte, error) {
	switch r.table {
	case coils:
		return bitsAsBytes(c.ReadCoils(r.start, uint16(r.count)))
	case discreteInputs:
		return bitsAsBytes(c.ReadDiscreteInputs(r.start, uint16(r.count)))
	case inputRegisters:
		return c.ReadRawBytes(r.start, uint16(2*r.count), modbus.INPUT_REGISTER)
	default:
		return c.ReadRawBytes(r.start, uint16(2*r.count), modbus.HOLDING_REGISTER)
	}
}

func bitsAsBytes(bits []bool, err error) ([]byte, error) {
	b := make([]byte, len(bits))
	for i, set := range bits {
		if set {
			b[i] = 1
		}
	}
	return b, err
}

// take sets the readings of a run from its bytes.
func (p *plan) take(r run, raw []byte, out []tags.Reading) {
	for _, i := range r.items {
		pt := &p.parsed[i]
		offset := int(pt.start - r.start)
		if r.table.bits() {
			out[i] = tags.Reading{Value: tags.BoolValue(raw[offset] != 0), Quality: tags.Good}
			continue
		}
		v, err := pt.decode(raw[2*offset : 2*(offset+int(pt.count))])
		if err != nil {
			out[i].Err = err
			continue
		}
		out[i] = tags.Reading{Value: v, Quality: tags.Good}
	}
}
