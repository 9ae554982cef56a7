package learn

import (
	"encoding/binary"
	"slices"
)

// MonitorScore is what a [Monitor] says about a row.
type MonitorScore struct {
	// T2 is the distance from the mean within the components, squared, in units of their variances.
	T2 float64
	// Q is the squared distance from the components, in standardised units.
	Q float64
	// Index is T2 and Q, each divided by its limit, added and divided by the limit of the sum. It is 0 or more.
	Index float64
	// Anomalous reports whether Index is above 1.
	Anomalous bool
}

// Monitor judges rows as they come by a [PCA]. It remembers the smoothed values, which begin at the mean of the
// training data. An update takes time proportional to columns times components and allocates nothing. A Monitor is not safe
// for concurrent use, but many may share one PCA.
type Monitor struct {
	model   *PCA
	state   []float64
	centred []float64
}

// Monitor returns a monitor that has seen nothing.
func (p *PCA) Monitor() *Monitor {
	return &Monitor{model: p, state: slices.Clone(p.mean), centred: make([]float64, p.Columns())}
}

// Update judges a row. A value that is missing or infinite leaves the smoothed one of its column as it is. A row of another
// length than the training data is an error that wraps [ErrData], and changes nothing.
func (m *Monitor) Update(row []float64) (MonitorScore, error) {
	p := m.model
	if p.Columns() == 0 {
		return MonitorScore{}, dataError("the model is not fitted")
	}
	if len(row) != p.Columns() {
		return MonitorScore{}, dataError("the row has %d values; the model has %d columns", len(row), p.Columns())
	}
	p.smooth(m.state, func(j int) float64 { return row[j] })
	for j := range m.centred {
		m.centred[j] = m.state[j] - p.mean[j]
	}
	var s MonitorScore
	s.T2, s.Q = p.space.figures(m.centred)
	s.Index = (s.T2/p.limits.t2 + s.Q/p.limits.q) / p.limits.index
	s.Anomalous = s.Index > 1
	return s, nil
}

// Contributions returns the share of each column in the index of the last row. They are 0 or more and add up to the
// index. They are written to dst if it is long enough.
func (m *Monitor) Contributions(dst []float64) []float64 {
	cols := m.model.Columns()
	dst = slices.Grow(dst[:0], cols)[:cols]
	for i := range dst {
		var v float64
		for j, w := range m.model.root[i*cols : (i+1)*cols] {
			v += w * m.centred[j]
		}
		dst[i] = v * v
	}
	return dst
}

// Snapshot returns what the monitor remembers as bytes, 8 for each column. It does not have the model.
func (m *Monitor) Snapshot() []byte {
	e := newEncoder(kindMonitor, 1)
	e.data = binary.LittleEndian.AppendUint32(e.data, m.model.sum())
	e.floats(m.state)
	e.floats(m.centred)
	return e.bytes()
}

// RestoreMonitor returns the monitor that Snapshot was called on, which continues exactly. If data is not a snapshot of
// a monitor of p, it returns an error that wraps [ErrModel].
func (p *PCA) RestoreMonitor(data []byte) (*Monitor, error) {
	d := newDecoder(data, kindMonitor, 1)
	if sum := binary.LittleEndian.Uint32(d.take(4)); sum != p.sum() {
		d.fail("the monitor has another model")
	}
	m := &Monitor{model: p, state: d.finites(maxPCAColumns), centred: d.finites(maxPCAColumns)}
	if len(m.state) != p.Columns() || len(m.centred) != p.Columns() {
		d.fail("the monitor has %d columns; the model has %d", len(m.state), p.Columns())
	}
	if err := d.end(); err != nil {
		return nil, err
	}
	return m, nil
}

// sum returns the checksum at the end of the model. That of the whole would be the same for all models.
func (p *PCA) sum() uint32 {
	data, _ := p.MarshalBinary()
	return binary.LittleEndian.Uint32(data[len(data)-sumLength:])
}

// MarshalBinary returns the model as bytes, 8 for each column and component. The error is always nil.
func (p *PCA) MarshalBinary() ([]byte, error) {
	e := newEncoder(kindPCA, 1)
	e.float(p.smoothing)
	e.floats(p.center)
	e.floats(p.scale)
	e.floats(p.mean)
	e.floats(p.space.components)
	e.floats(p.space.variances)
	e.float(p.limits.t2)
	e.float(p.limits.q)
	e.float(p.limits.index)
	return e.bytes(), nil
}

// UnmarshalBinary replaces the model by one that MarshalBinary wrote; see [ErrModel].
func (p *PCA) UnmarshalBinary(data []byte) error {
	d := newDecoder(data, kindPCA, 1)
	read := PCA{
		smoothing: d.finite(),
		center:    d.finites(maxPCAColumns),
		scale:     d.finites(maxPCAColumns),
		mean:      d.finites(maxPCAColumns),
		space:     subspace{components: d.finites(maxPCAColumns * maxPCAColumns), variances: d.finites(maxPCAColumns)},
		limits:    pcaLimits{t2: d.finite(), q: d.finite(), index: d.finite()},
	}
	cols, l := read.Columns(), read.limits
	switch {
	case cols < 2 || len(read.scale) != cols || len(read.mean) != cols:
		d.fail("the model has %d columns, %d scales and %d means", cols, len(read.scale), len(read.mean))
	case len(read.space.variances) == 0 || len(read.space.components) != cols*len(read.space.variances):
		d.fail("the model has %d numbers for %d components", len(read.space.components), len(read.space.variances))
	case !(read.smoothing > 0 && read.smoothing <= 1) || l.t2 <= 0 || l.q <= 0 || l.index <= 0 || slices.Min(read.space.variances) <= 0 || slices.Min(read.scale) < 0:
		d.fail("a limit, a variance or a scale is not positive")
	}
	if err := d.end(); err != nil {
		return err
	}
	read.findRoot()
	*p = read
	return nil
}
