package predictive

import (
	"encoding"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"slices"

	"github.com/otkit/otkit/predictive/features"
	"github.com/otkit/otkit/predictive/learn"
)

// A bundle is written as the letters "OTKB", a byte for the version of the layout, a byte for the model type, the horizon, the predictors, and the
// CRC-32C of all before, little-endian. Parts of other packages are in their own encodings, each after its length.
const (
	bundleMagic   = "OTKB"
	bundleVersion = 1
	bundleHead    = len(bundleMagic) + 2
	bundleSum     = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// flags of a predictor.
const (
	flagShape = 1 << iota
	flagBoost
)

// encode returns the bundle as bytes.
func (b *bundle) encode() ([]byte, error) {
	e := encoder{data: append([]byte(bundleMagic), bundleVersion, byte(slices.Index(ModelTypes(), b.modelType)))}
	e.float(b.horizon)
	e.count(len(b.predictors))
	for i := range b.predictors {
		e.predictor(&b.predictors[i])
	}
	return sealed(e.data), e.err
}

// sealed returns data and its checksum.
func sealed(data []byte) []byte {
	return binary.LittleEndian.AppendUint32(data, crc32.Checksum(data, castagnoli))
}

type encoder struct {
	data []byte
	err  error
}

func (e *encoder) count(v int) { e.data = binary.AppendUvarint(e.data, uint64(v)) }
func (e *encoder) float(v float64) {
	e.data = binary.LittleEndian.AppendUint64(e.data, math.Float64bits(v))
}
func (e *encoder) bytes(v []byte) {
	e.count(len(v))
	e.data = append(e.data, v...)
}
func (e *encoder) part(m encoding.BinaryMarshaler) {
	data, err := m.MarshalBinary()
	if err != nil && e.err == nil {
		e.err = err
	}
	e.bytes(data)
}
func (e *encoder) floats(v []float64) {
	e.count(len(v))
	for _, f := range v {
		e.float(f)
	}
}

func (e *encoder) predictor(p *predictor) {
	e.bytes([]byte(p.key))
	e.bytes([]byte(p.only))
	flags := byte(0)
	if p.shape {
		flags |= flagShape
	}
	if p.boost != nil {
		flags |= flagBoost
	}
	e.data = append(e.data, flags)
	e.count(p.lives)
	e.part(p.extractor)
	if p.boost != nil {
		e.part(p.boost)
	} else {
		e.part(p.ridge)
	}
	if p.platt != nil {
		e.part(p.platt)
	} else {
		e.part(p.conformal)
	}
	e.float(p.threshold)
	e.float(p.limit)
	e.floats(p.domain.centre)
	e.floats(p.domain.scale)
	e.float(p.domain.limit)
	e.count(len(p.drift))
	for _, h := range p.drift {
		if h == nil {
			e.bytes(nil)
		} else {
			e.part(h)
		}
	}
}

// decodeBundle returns the bundle that encode wrote. For other bytes it returns an error that wraps [learn.ErrModel]. The memory is
// a small multiple of the length of data.
func decodeBundle(data []byte) (*bundle, error) {
	d := &decoder{}
	switch end := len(data) - bundleSum; {
	case len(data) < bundleHead+bundleSum || string(data[:len(bundleMagic)]) != bundleMagic:
		d.fail("the bytes do not begin as a bundle")
	case crc32.Checksum(data[:end], castagnoli) != binary.LittleEndian.Uint32(data[end:]):
		d.fail("the checksum is wrong")
	case data[len(bundleMagic)] != bundleVersion:
		d.fail("the bundle has version %d; version %d can be read", data[len(bundleMagic)], bundleVersion)
	case int(data[len(bundleMagic)+1]) >= len(ModelTypes()):
		d.fail("model type %d is not known", data[len(bundleMagic)+1])
	default:
		b := &bundle{modelType: ModelTypes()[data[len(bundleMagic)+1]]}
		d.data = data[bundleHead:end]
		if b.horizon = d.float(); b.horizon <= 0 {
			d.fail("the horizon is %v", b.horizon)
		}
		for range d.count(64) {
			b.predictors = append(b.predictors, d.predictor(b.modelType))
			if d.err != nil {
				break
			}
		}
		if d.err == nil && len(d.data) > 0 {
			d.fail("%d bytes are left over", len(d.data))
		}
		if d.err == nil {
			return b, nil
		}
	}
	return nil, d.err
}

// decoder reads the content of a bundle. After the first error it returns zeros.
type decoder struct {
	data []byte
	err  error
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("predictive: %w: %s", learn.ErrModel, fmt.Sprintf(format, args...))
	}
	d.data = nil
}

// count returns the next count. Its items have at least size bytes each.
func (d *decoder) count(size int) int {
	v, n := binary.Uvarint(d.data)
	if n <= 0 || v > uint64((len(d.data)-n)/size) {
		d.fail("a count is wrong")
		return 0
	}
	d.data = d.data[n:]
	return int(v)
}

func (d *decoder) bytes() []byte {
	n := d.count(1)
	part := d.data[:n]
	d.data = d.data[n:]
	return part
}

// float returns the next number, which must be finite.
func (d *decoder) float() float64 {
	if len(d.data) < 8 {
		d.fail("the content is cut")
		return 0
	}
	v := math.Float64frombits(binary.LittleEndian.Uint64(d.data))
	d.data = d.data[8:]
	if !finite(v) {
		d.fail("a number is %v", v)
		return 0
	}
	return v
}

func (d *decoder) floats() []float64 {
	list := make([]float64, d.count(8))
	for i := range list {
		list[i] = d.float()
	}
	return list
}

func (d *decoder) part(m encoding.BinaryUnmarshaler) {
	part := d.bytes()
	if d.err != nil {
		return
	}
	if err := m.UnmarshalBinary(part); err != nil {
		d.fail("%v", err)
	}
}

func (d *decoder) predictor(modelType ModelType) (p predictor) {
	p.key, p.only = string(d.bytes()), string(d.bytes())
	if len(d.data) == 0 {
		d.fail("the content is cut")
		return p
	}
	flags := d.data[0]
	d.data = d.data[1:]
	p.shape = flags&flagShape != 0
	lives, n := binary.Uvarint(d.data)
	if n <= 0 || lives > math.MaxInt32 {
		d.fail("a number of lives is wrong")
		return p
	}
	p.lives, d.data = int(lives), d.data[n:]
	p.extractor = new(features.Extractor)
	d.part(p.extractor)
	if flags&flagBoost != 0 {
		p.boost = new(learn.Boost)
		d.part(p.boost)
	} else {
		p.ridge = new(learn.Ridge)
		d.part(p.ridge)
	}
	if modelType == FailureModel {
		p.platt = new(learn.Platt)
		d.part(p.platt)
	} else {
		p.conformal = new(learn.Conformal)
		d.part(p.conformal)
	}
	p.threshold, p.limit = d.float(), d.float()
	p.domain = domain{centre: d.floats(), scale: d.floats(), limit: d.float()}
	for range d.count(1) {
		part := d.bytes()
		var h *learn.Histogram
		if len(part) > 0 {
			h = new(learn.Histogram)
			if err := h.UnmarshalBinary(part); err != nil {
				d.fail("%v", err)
			}
		}
		if d.err != nil {
			return p
		}
		p.drift = append(p.drift, h)
	}
	d.consistent(modelType, &p)
	return p
}

// consistent fails unless the parts of a predictor fit together.
func (d *decoder) consistent(modelType ModelType, p *predictor) {
	if d.err != nil {
		return
	}
	if p.shape && len(p.extractor.Names()) != len(features.Kinds()) {
		d.fail("a pooled extractor of %d features, want %d", len(p.extractor.Names()), len(features.Kinds()))
		return
	}
	columns := len(p.names())
	got := 0
	if p.boost != nil {
		got = p.boost.Columns()
		if p.boost.Classifier() != (modelType == FailureModel) {
			d.fail("the model does not predict what the bundle does")
		}
	} else {
		got = p.ridge.Columns()
		if modelType == FailureModel {
			d.fail("the model does not predict what the bundle does")
		}
	}
	if got != columns || len(p.domain.centre) != columns || len(p.domain.scale) != columns || len(p.drift) != columns {
		d.fail("parts of %d, %d, %d and %d columns, want %d", got, len(p.domain.centre), len(p.domain.scale), len(p.drift), columns)
	}
	if modelType == RULModel && p.limit <= 0 {
		d.fail("the longest life is %v", p.limit)
	}
}
