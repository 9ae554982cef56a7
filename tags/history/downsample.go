package history

import (
	"iter"
	"time"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
)

// The limits of how many points a plot may ask for.
const (
	DefaultPlotPoints = 2000
	MaxPlotPoints     = 100_000
)

// Downsample reduces the samples of one tag in [start, end) to at most limit, in order of time, so
// that a plot keeps its shape. The range from the first sample on is cut into equal parts; each keeps
// its first, last, lowest and highest sample (the M4 aggregation: Jugel et al., "M4: A
// Visualization-Oriented Time Series Data Aggregation", VLDB 2014), and its first sample that is not
// tags.Good, so that neither a peak nor an outage is lost. Samples that are no numbers keep the first, the
// last and the one that is not tags.Good. A range that begins or ends far from the samples wastes no more
// than half of the parts. Fewer samples than limit are all kept. limit must be at least 5.
func Downsample(samples iter.Seq2[Sample, error], start, end time.Time, limit int) ([]Sample, error) {
	if limit < pointsPerPart {
		return nil, tags.ErrInvalidRequest.Invalid(fault.Field{Field: "maxPoints", Message: "must be at least 5"})
	}
	if !start.Before(end) {
		return nil, tags.ErrInvalidTimeRange
	}
	d := downsampler{end: end, limit: limit}
	for s, err := range samples {
		if err != nil {
			return nil, err
		}
		d.add(s)
	}
	return d.finish(), nil
}

const pointsPerPart = 5

// downsampler keeps all samples while there are few, and parts when there are too many.
type downsampler struct {
	end   time.Time
	limit int
	all   []Sample

	start time.Time     // of the first part
	width time.Duration // of a part
	parts []part        // nil while there are few samples
}

type part struct {
	n                     int
	first, last, low, top Sample
	notGood               Sample
	numbers, faulty       bool
	lowest, highest       float64
}

func (d *downsampler) add(s Sample) {
	if d.parts != nil {
		d.reduce(s)
		return
	}
	if d.all = append(d.all, s); len(d.all) <= d.limit {
		return
	}
	d.divide(s.Time.Sub(d.all[0].Time))
	for _, kept := range d.all {
		d.reduce(kept)
	}
	d.all = nil
}

// divide makes the parts. Where the samples end is not known yet: the parts are as narrow as they can
// be to reach over the first samples, and doubling their width some times fills the whole range.
func (d *downsampler) divide(first time.Duration) {
	n := time.Duration(d.limit / pointsPerPart)
	d.start, d.parts = d.all[0].Time, make([]part, n)
	d.width = (max(d.end.Sub(d.start), 1)-1)/n + 1
	for d.width > 1 && first/((d.width+1)/2) < n {
		d.width = (d.width + 1) / 2
	}
}

func (d *downsampler) reduce(s Sample) {
	after := s.Time.Sub(d.start)
	for int(after/d.width) >= len(d.parts) && d.width <= d.end.Sub(d.start)/2 {
		d.merge()
	}
	d.parts[max(min(int(after/d.width), len(d.parts)-1), 0)].add(s)
}

// merge makes one part of each two, so that the second half is free.
func (d *downsampler) merge() {
	for i := range d.parts {
		if i%2 == 0 {
			d.parts[i/2] = d.parts[i]
		} else {
			d.parts[i/2].merge(&d.parts[i])
		}
	}
	clear(d.parts[(len(d.parts)+1)/2:])
	d.width *= 2
}

func (d *downsampler) finish() []Sample {
	list := d.all
	for i := range d.parts {
		list = d.parts[i].appendTo(list)
	}
	return list
}

func (p *part) add(s Sample) {
	if p.n == 0 {
		p.first = s
	}
	p.n++
	p.last = s
	if s.Quality != tags.Good && !p.faulty {
		p.faulty, p.notGood = true, s
	}
	f, ok := s.Value.Float()
	if !ok {
		return
	}
	if !p.numbers || f < p.lowest {
		p.low, p.lowest = s, f
	}
	if !p.numbers || f > p.highest {
		p.top, p.highest = s, f
	}
	p.numbers = true
}

// merge adds the samples of the part that follows.
func (p *part) merge(next *part) {
	switch {
	case next.n == 0:
		return
	case p.n == 0:
		*p = *next
		return
	}
	p.n += next.n
	p.last = next.last
	if next.faulty && !p.faulty {
		p.faulty, p.notGood = true, next.notGood
	}
	if !next.numbers {
		return
	}
	if !p.numbers || next.lowest < p.lowest {
		p.low, p.lowest = next.low, next.lowest
	}
	if !p.numbers || next.highest > p.highest {
		p.top, p.highest = next.top, next.highest
	}
	p.numbers = true
}

// appendTo appends the samples that the part keeps, by time and each once.
func (p *part) appendTo(list []Sample) []Sample {
	if p.n == 0 {
		return list
	}
	var kept [pointsPerPart]Sample
	n := 0
	keep := func(s Sample) {
		i := n
		for i > 0 && kept[i-1].Time.After(s.Time) {
			i--
		}
		if i > 0 && kept[i-1].Time.Equal(s.Time) {
			return
		}
		copy(kept[i+1:n+1], kept[i:n])
		kept[i] = s
		n++
	}
	keep(p.first)
	keep(p.last)
	if p.numbers {
		keep(p.low)
		keep(p.top)
	}
	if p.faulty {
		keep(p.notGood)
	}
	return append(list, kept[:n]...)
}
