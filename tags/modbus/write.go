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
// deadline of ctx passes, the items that are left get tags.ErrTimeout, and Write returns nil.
func (d *Driver) Write(ctx context.Context, items []tags.WriteItem, errs []error) error {
	if !d.link.connected() {
		return tags.ErrNotConnected
	}
	for i := range items {
		err := d.writeItem(ctx, items[i])
		if !endsCall(err) {
			errs[i] = err
			continue
		}
		if errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, tags.ErrNotConnected) {
			for k := i; k < len(items); k++ {
				errs[k] = fmt.Errorf("%w: %w", tags.ErrTimeout, err)
			}
			return nil
		}
		for k := i; k < len(items); k++ {
			errs[k] = err
		}
		return err
	}
	return nil
}

func (d *Driver) writeItem(ctx context.Context, item tags.WriteItem) error {
	p, err := d.parsePoint(item.Point)
	if err != nil {
		return err
	}
	if !p.table.writable() {
		return tags.ErrReadOnly.Because("the table %s cannot be written", p.table)
	}
	if p.count > maxWriteRegisters {
		return fmt.Errorf("%w: one request writes at most %d registers", tags.ErrAddress, maxWriteRegisters)
	}
	v, err := item.Value.Convert(p.as)
	if err != nil {
		return err
	}
	if p.bit != noBit {
		return d.writeBit(ctx, p, v.Bool())
	}
	if p.table == coils {
		_, err = d.ask(ctx, p.unit, func(c *modbus.ModbusClient) ([]byte, error) {
			return nil, c.WriteCoil(p.start, v.Bool())
		})
		return err
	}
	raw, err := p.encode(v)
	if err != nil {
		return err
	}
	return d.writeRegisters(ctx, p, raw)
}

func (d *Driver) writeRegisters(ctx context.Context, p point, raw []byte) error {
	_, err := d.ask(ctx, p.unit, func(c *modbus.ModbusClient) ([]byte, error) {
		if p.count == 1 {
			return nil, c.WriteRegister(p.start, binary.BigEndian.Uint16(raw))
		}
		return nil, c.WriteRawBytes(p.start, raw)
	})
	return err
}

// writeBit changes one bit of a register. The library has no mask write, which few devices have.
func (d *Driver) writeBit(ctx context.Context, p point, set bool) error {
	raw, err := d.ask(ctx, p.unit, func(c *modbus.ModbusClient) ([]byte, error) {
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
