package learn

import (
	"math"
	"slices"
	"time"
)

// maxQuiet limits the quiet period of a snapshot.
const maxQuiet = math.MaxInt32

// Snapshot returns the options and all that the detector remembers as bytes, 4 for each trailing score and about 200 more.
func (d *Detector) Snapshot() []byte {
	e := newEncoder(kindDetector, 1)
	o := d.options
	e.float(o.Fast)
	e.float(o.Slow)
	e.float(o.Threshold)
	e.count(o.Window)
	e.count(o.Quiet + 1) // none is -1
	if o.Season == nil {
		e.byte(0)
	} else {
		e.byte(1)
		o.Season.encode(e)
	}

	e.time(d.last)
	e.count(d.late)
	e.count(d.quiet)
	e.average(d.interval)
	e.moments(d.normal)
	e.average(d.level)
	e.moments(d.levels)
	e.average(d.spread)
	e.count(len(d.scores.values))
	for i := range d.scores.values { // from the oldest
		e.float32(d.scores.values[(d.scores.oldest+i)%len(d.scores.values)])
	}
	return e.bytes()
}

// RestoreDetector returns the detector that Snapshot was called on, which continues exactly. If data is not a snapshot of
// a detector, it returns an error that wraps [ErrModel].
func RestoreDetector(data []byte) (*Detector, error) {
	d := newDecoder(data, kindDetector, 1)
	o := DetectorOptions{Fast: d.finite(), Slow: d.finite(), Threshold: d.finite(), Window: d.count(maxWindow, 0), Quiet: d.count(maxQuiet, 0) - 1}
	if form := d.byte(); form == 1 {
		o.Season = decodeSeason(d)
	} else if form != 0 {
		d.fail("a season has form %d", form)
	}
	if d.err == nil {
		if err := o.validate(); err != nil {
			d.fail("%v", err)
		}
	}
	if d.err != nil {
		return nil, d.err
	}

	r := &Detector{options: o}
	r.last = d.time()
	r.late = d.count(maxLate, 0)
	r.quiet = d.count(max(o.Quiet, 0), 0)
	r.interval = d.average()
	r.normal = d.moments()
	r.level = d.average()
	r.levels = d.moments()
	r.spread = d.average()
	n := d.count(o.Window, 4)
	r.scores = newRanking(o.Window)
	for range n {
		v := d.float32()
		if !(v >= 0 && v <= maxScore) {
			d.fail("a score is %v", v)
		}
		r.scores.values = append(r.scores.values, v)
	}
	if n > 0 && r.normal.count < minCount {
		d.fail("%d scores of %d samples", n, r.normal.count)
	}
	r.scores.sorted = append(r.scores.sorted, r.scores.values...)
	slices.Sort(r.scores.sorted)
	if err := d.end(); err != nil {
		return nil, err
	}
	return r, nil
}

func (e *encoder) time(t time.Time) {
	e.int64(t.Unix())
	e.count(t.Nanosecond())
}

func (d *decoder) time() time.Time { return time.Unix(d.int64(), int64(d.count(999_999_999, 0))) }

func (e *encoder) average(a average) {
	e.float(a.weight)
	e.float(a.mean)
}

func (e *encoder) moments(m moments) {
	e.average(m.average)
	e.float(m.variance)
	e.count(m.count)
}

func (d *decoder) average() average {
	a := average{weight: d.finite(), mean: d.finite()}
	if !(a.weight >= 0 && a.weight <= 1) {
		d.fail("a weight is %v", a.weight)
	}
	return a
}

func (d *decoder) moments() moments {
	m := moments{average: d.average(), variance: d.finite(), count: d.count(minCount, 0)}
	if m.variance < 0 {
		d.fail("a variance is %v", m.variance)
	}
	return m
}
