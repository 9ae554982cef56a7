package modbus

import (
	"context"
	"errors"
	"fmt"
	"slices"

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

// readUnits reads the units that answer before the others, and asks no further one of the others once
// a timeout was waited for: however many units are dead, that costs the good ones one timeout.
func (d *Driver) readUnits(ctx context.Context, p *plan, out []tags.Reading) error {
	if len(p.units) == 0 {
		return ctx.Err()
	}
	d.late = append(d.late[:0], p.units...)
	slices.SortStableFunc(d.late, func(a, b unitRuns) int { return d.breakers.order(a.unit, b.unit) })
	splits, waited := mostSplits, false
	for _, u := range d.late {
		if waited && !(d.breakers.healthy(u.unit) && d.breakers.units[u.unit].known) {
			p.fail(u.runs, errNotAsked, out)
			continue
		}
		left, err := d.readUnit(ctx, p, u, &splits, out)
		if endsCall(err) {
			return err
		}
		// A unit that gave no answer now gives none to its other requests either.
		p.fail(left, err, out)
		waited = waited || errors.Is(err, tags.ErrTimeout) && !errors.Is(err, errLeftOut)
	}
	return nil
}

var errNotAsked = fmt.Errorf("%w: the unit is asked next time, because another one gave no answer", tags.ErrTimeout)

// readUnit reads runs until a request of them has no answer. It gives what is then left, and why.
func (d *Driver) readUnit(ctx context.Context, p *plan, u unitRuns, splits *int, out []tags.Reading) (left []run, err error) {
	for i, r := range u.runs {
		if err := d.readRun(ctx, p, r, splits, out); err != nil {
			return u.runs[i+1:], err
		}
	}
	return nil, nil
}

func (p *plan) fail(runs []run, err error, out []tags.Reading) {
	for _, r := range runs {
		for _, i := range r.items {
			out[i].Err = err
		}
	}
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
