package modbus

import (
	"github.com/simonvetter/modbus"

	"github.com/otkit/otkit/tags"
)

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
