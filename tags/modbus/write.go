package modbus

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/simonvetter/modbus"

	"github.com/otkit/otkit/tags"
)

// Write writes items in order, one request each; see tags.Driver and the package comment. When the
// deadline of ctx passes, Write returns nil. The error of an item is a tags.ErrUncertain when the
// device may have taken the value: no answer came, or a garbled one, or the exceptions 05
// (acknowledge) and 0B (gateway: no response). Any other error means that it has not.
func (d *Driver) Write(ctx context.Context, items []tags.WriteItem, errs []error) error {
	if !d.link.connected() {
		return tags.ErrNotConnected
	}
	for i := range items {
		err := d.writeItem(ctx, items[i])
		errs[i] = writeOutcome(err)
		if !endsCall(err) {
			continue
		}
		for k := i + 1; k < len(items); k++ {
			errs[k] = errNotSent
		}
		if errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, tags.ErrNotConnected) {
			return nil
		}
		return err
	}
	return nil
}

var errNotSent = errors.New("the value was not sent")

// fate returns the error of an item. A value that was surely not sent must not look as if it had been:
// the error is then no tags.ErrTimeout, which leaves that open.
func writeOutcome(err error) error {
	late := errors.Is(err, tags.ErrTimeout) || errors.Is(err, context.DeadlineExceeded)
	switch {
	case !late:
		return err
	case errors.Is(err, tags.ErrUncertain):
		return fmt.Errorf("%w: %w", tags.ErrTimeout, err)
	}
	return fmt.Errorf("%w: %s", errNotSent, err) //nolint:errorlint // the cause is a timeout, which would count as uncertain
}

// Round returns the value that the device holds once v is written to p: rounded to a whole number for an
// integer register, with the precision of a 32-bit one. The error is that of writing v: a
// tags.ErrAddress or a tags.ErrInvalidValue. No device is asked.
func (d *Driver) Round(p tags.Point, v tags.Value) (tags.Value, error) {
	pt, err := d.parsePoint(p)
	if err != nil {
		return tags.Value{}, err
	}
	v, err = v.Convert(pt.as)
	if err != nil || pt.native == nativeBool {
		return v, err
	}
	raw, err := pt.encode(v)
	if err != nil {
		return tags.Value{}, err
	}
	return pt.decode(raw)
}

func (d *Driver) writeItem(ctx context.Context, item tags.WriteItem) error {
	p, err := d.parsePoint(item.Point)
	if err != nil {
		return err
	}
	if !p.table.writable() {
		return tags.ErrReadOnly.Because("the table %s cannot be written", p.table)
	}
	if most := d.options.maxWritten(p.unit); int(p.count) > most {
		return fmt.Errorf("%w: one request writes at most %d registers", tags.ErrAddress, most)
	}
	v, err := item.Value.Convert(p.as)
	if err != nil {
		return err
	}
	if p.bit != noBit {
		return d.writeBit(ctx, p, v.Bool())
	}
	if p.table == coils {
		return d.order(ctx, p.unit, func(c *modbus.ModbusClient) error { return c.WriteCoil(p.start, v.Bool()) })
	}
	raw, err := p.encode(v)
	if err != nil {
		return err
	}
	return d.writeRegisters(ctx, p, raw)
}

func (d *Driver) writeRegisters(ctx context.Context, p point, raw []byte) error {
	return d.order(ctx, p.unit, func(c *modbus.ModbusClient) error {
		if p.count == 1 {
			return c.WriteRegister(p.start, binary.BigEndian.Uint16(raw))
		}
		return c.WriteRawBytes(p.start, raw)
	})
}

// writeBit changes one bit of a register. The library has no mask write, which few devices have.
func (d *Driver) writeBit(ctx context.Context, p point, set bool) error {
	raw, _, err := d.ask(ctx, p.unit, func(c *modbus.ModbusClient) ([]byte, error) {
		return c.ReadRawBytes(p.start, 2, modbus.HOLDING_REGISTER)
	})
	if err != nil {
		return err
	}
	arrange(raw, p.order, true)
	register := binary.BigEndian.Uint16(raw)
	if set {
		register |= 1 << p.bit
	} else {
		register &^= 1 << p.bit
	}
	binary.BigEndian.PutUint16(raw, register)
	arrange(raw, p.order, true)
	return d.writeRegisters(ctx, p, raw)
}
