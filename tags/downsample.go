package tags

import (
	"iter"
	"time"

	"github.com/otkit/otkit/fault"
)

// The limits of how many points a plot may ask for.
const (
	DefaultPlotPoints = 2000
	MaxPlotPoints     = 100_000
)

// Downsample reduces the samples of one tag in [start, end) to at most limit, in order of time, so
// that a plot keeps its shape. The range from the first sample on is cut into equal parts; each keeps its first, last, lowest
// and highest sample (the M4 aggregation: Jugel et al., "M4: A Visualization-Oriented Time Series
// Data Aggregation", VLDB 2014), and its first sample that is not Good, so that neither a peak nor an
// outage is lost. Samples that are no numbers keep the first, the last and the one that is not Good.
// Fewer samples than limit are all kept. limit must be at least 5.
func Downsample(samples iter.Seq2[HistorySample, error], start, end time.Time, limit int) ([]HistorySample, error) {
	if limit < pointsPerPart {
		return nil, ErrInvalidRequest.Invalid(fault.Field{Field: "maxPoints", Message: "must be at least 5"})
	}
	if !start.Before(end) {
		return nil, ErrInvalidTimeRange
	}
	d := downsampler{end: end, limit: limit, parts: limit / pointsPerPart}
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
	start   time.Time // of the first part
	end     time.Time
	width   time.Duration
	parts   int
	limit   int
	all     []HistorySample
	reduced []HistorySample
	many    bool
	index   int // of the part being filled
	part    part
}

type part struct {
	n                     int
	first, last, low, top HistorySample
	notGood               HistorySample
	numbers, faulty       bool
	lowest, highest       float64
}

func (d *downsampler) add(s HistorySample) {
	if !d.many {
		d.all = append(d.all, s)
		if len(d.all) <= d.limit {
			return
		}
		d.many = true
		d.start = d.all[0].Time
		d.width = max(d.end.Sub(d.start)/time.Duration(d.parts), 1)
		for _, kept := range d.all {
			d.reduce(kept)
		}
		d.all = nil
		return
	}
	d.reduce(s)
}

func (d *downsampler) reduce(s HistorySample) {
	index := min(int(s.Time.Sub(d.start)/d.width), d.parts-1)
	if index != d.index {
		d.reduced = d.part.appendTo(d.reduced)
		d.part, d.index = part{}, index
	}
	d.part.add(s)
}

func (d *downsampler) finish() []HistorySample {
	if !d.many {
		return d.all
	}
	return d.part.appendTo(d.reduced)
}

func (p *part) add(s HistorySample) {
	if p.n == 0 {
		p.first = s
	}
	p.n++
	p.last = s
	if s.Quality != Good && !p.faulty {
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

// appendTo appends the samples that the part keeps, by time and each once.
func (p *part) appendTo(list []HistorySample) []HistorySample {
	if p.n == 0 {
		return list
	}
	var kept [pointsPerPart]HistorySample
	n := 0
	keep := func(s HistorySample) {
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
