package learn

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// DetectorOptions are the options of a [Detector]. The zero value has the defaults, which suit all signals.
type DetectorOptions struct {
	// Fast is the weight of a new sample in the short averages, above Slow and at most 1; 0 means 0.1.
	Fast float64
	// Slow is the weight of a new sample in what is normal, above 0; 0 means 0.005.
	Slow float64
	// Window is the number of trailing scores that a score is ranked among, from 200 to 100,000; 0 means 4000.
	// It takes 8 bytes each.
	Window int
	// Threshold is the rank from which a sample is anomalous, from 0.5 to below 1; 0 means 0.995.
	// A share of 1-Threshold of the samples of a signal that does not change is anomalous.
	Threshold float64
	// Quiet is the number of samples after an alarm without another; 0 means 200, and a negative number means none.
	Quiet int
	// Season is subtracted from the samples. Nil means none; see [FindSeason].
	Season *Season
}

// Score is what a [Detector] says about a sample. Without Ready, only Expected, Low and High mean something.
type Score struct {
	// Ignored reports that the sample was NaN, infinite or not later than the one before, and changed nothing. All else is 0 then.
	Ignored bool
	// Ready reports whether the detector has seen enough samples to judge.
	Ready bool
	// Rank is the share of the trailing scores that are lower, from 0 to below 1.
	Rank float64
	// Anomalous reports whether Rank has reached the threshold.
	Anomalous bool
	// Alarm reports the first anomalous sample after a quiet period.
	Alarm bool
	// Deviation is the score before ranking: standard deviations of the short averages, 0 or more.
	Deviation float64
	// Expected is the value expected at the time of the sample.
	Expected float64
	// Low and High limit the values that would not have been anomalous, in the unit of the signal. A sample is anomalous exactly
	// if it is outside, with one exception: in a long anomaly, no value may be normal yet. Low and High are then Expected.
	Low, High float64
}

const (
	defaultFast      = 0.1
	defaultSlow      = 0.005
	defaultWindow    = 4000
	defaultThreshold = 0.995
	defaultQuiet     = 200
	minWindow        = 200
	maxWindow        = 100_000

	// maxStep is the number of standard deviations that count of a sample that is further off. An error code such as -9999
	// would otherwise hide anomalies for as long as the slow averages remember.
	maxStep = 10
	// minCount is the number of first samples that give no scores.
	minCount = 20
	// minScore is the deviation below which there is none. Rounding would otherwise be an anomaly of a constant signal.
	minScore = 1e-3
	// maxScore limits deviations, so that they fit a float32.
	maxScore = 1e6
	// maxValue keeps squares of samples finite.
	maxValue = 1e150
	// gapFactor is the number of mean intervals from which a pause is a gap.
	gapFactor = 20
	// maxLate is the number of late samples in a row that are ignored. More mean that the clock was set back.
	maxLate = 100
)

// normalSpread is the mean absolute deviation of a normal distribution, in standard deviations.
var normalSpread = math.Sqrt(2 / math.Pi)

// Detector finds anomalies in the samples of one signal as they come. Make it by [NewDetector].
//
// It follows two short averages: the level of the signal and the spread of the samples around what is normal. The level is compared
// with its own slow mean and deviation, as in a control chart. The larger of the two, in standard deviations, is the deviation of a
// sample. Its rank among the trailing deviations of the same signal is the score, which needs no assumption about their distribution.
//
// A signal with irregular times is judged sample by sample. After a gap of more than 20 mean intervals, the short averages restart
// at what is normal. Samples that are NaN, infinite, above 1e150 or not later than the one before are ignored. After 100 late samples
// in a row, the clock is taken to be set back, and samples count again. A sample that is more than ten standard deviations off counts
// as ten.
//
// An update takes O(log Window) comparisons and moves up to 4*Window bytes, and allocates nothing. A Detector is not safe for concurrent use.
//
// Sources: S. W. Roberts, "Control chart tests based on geometric moving averages", Technometrics 1, 1959, for the averages;
// R. Laxhammar and G. Falkman, "Conformal prediction for distribution-independent anomaly detection in streaming vessel data",
// StreamKDD 2010, for the rank.
type Detector struct {
	options DetectorOptions

	last     time.Time
	late     int
	interval average // seconds

	normal moments // of the samples
	level  average // short
	levels moments // of level
	spread average // short, of the samples in standard deviations

	scores *ranking
	quiet  int // samples until an alarm is possible
}

// NewDetector returns a detector that has seen nothing. It returns an error for an option out of its range.
func NewDetector(options DetectorOptions) (*Detector, error) {
	o := &options
	o.Fast = cmp.Or(o.Fast, defaultFast)
	o.Slow = cmp.Or(o.Slow, defaultSlow)
	o.Threshold = cmp.Or(o.Threshold, defaultThreshold)
	o.Window = cmp.Or(o.Window, defaultWindow)
	o.Quiet = min(max(cmp.Or(o.Quiet, defaultQuiet), -1), maxQuiet)
	if err := o.validate(); err != nil {
		return nil, err
	}
	return &Detector{options: options, scores: newRanking(o.Window)}, nil
}

// validate returns an error for an option that is out of range or NaN.
func (o *DetectorOptions) validate() error {
	switch {
	case !(o.Slow > 0 && o.Slow < 1):
		return dataError("DetectorOptions.Slow is %v; it must be above 0 and below 1", o.Slow)
	case !(o.Fast > o.Slow && o.Fast <= 1):
		return dataError("DetectorOptions.Fast is %v; it must be above Slow (%v) and at most 1", o.Fast, o.Slow)
	case o.Window < minWindow || o.Window > maxWindow:
		return dataError("DetectorOptions.Window is %d; it must be from %d to %d", o.Window, minWindow, maxWindow)
	case !(o.Threshold >= 0.5 && o.Threshold < 1):
		return dataError("DetectorOptions.Threshold is %v; it must be from 0.5 to below 1", o.Threshold)
	case o.need(o.Window) > o.Window:
		return dataError("DetectorOptions.Threshold is %v; a window of %d scores cannot reach it", o.Threshold, o.Window)
	}
	return nil
}

// need returns how many of n trailing scores must be lower for a rank, which is their number divided by n+1, to reach the threshold.
func (o *DetectorOptions) need(n int) int {
	return int(math.Ceil(o.Threshold * float64(n+1)))
}

// Update judges a sample against those before it, then learns from it.
func (d *Detector) Update(t time.Time, x float64) Score {
	if !(math.Abs(x) <= maxValue) || !d.advance(t) {
		return Score{Ignored: true}
	}
	season := d.options.Season.At(t)
	value := x - season
	x = d.normal.limit(value)

	level, spread := d.level, d.spread
	level.add(x, d.options.Fast)
	spread.add(min(d.normal.deviations(x), maxStep), d.options.Fast)
	s := Score{Deviation: max(d.levels.deviations(level.mean), spread.mean)}
	if s.Deviation < minScore {
		s.Deviation = 0
	}
	cut := d.rank(&s)
	d.limit(&s, cut)
	if s.Ready && !s.Anomalous { // rounding
		s.Low, s.High = min(s.Low, value), max(s.High, value)
	}
	s.Low, s.High, s.Expected = s.Low+season, s.High+season, s.Expected+season

	// The first deviations are infinite, as the variance is not known.
	if d.normal.count >= minCount {
		d.spread = spread
		d.scores.add(float32(s.Deviation))
	}
	d.level = level
	d.normal.add(x, d.options.Slow)
	d.levels.add(level.mean, d.options.Slow)
	return s
}

// advance reports whether a sample at t counts.
func (d *Detector) advance(t time.Time) bool {
	if d.normal.count == 0 {
		d.last = t
		return true
	}
	dt := t.Sub(d.last).Seconds()
	if dt <= 0 && d.late < maxLate {
		d.late++
		return false
	}
	longest := math.Inf(1)
	if d.interval.weight > 0 {
		longest = gapFactor * d.interval.mean
	}
	if dt <= 0 || dt > longest {
		d.level.mean = d.levels.mean
		d.spread.mean = min(d.spread.mean, normalSpread)
	}
	if dt > 0 {
		d.interval.add(min(dt, longest), d.options.Slow)
	}
	d.late = 0
	d.last = t
	return true
}

// rank compares the deviation of a sample with the trailing ones. It returns the deviation above which a sample is anomalous.
func (d *Detector) rank(s *Score) (cut float64) {
	n := len(d.scores.values)
	need := d.options.need(n)
	if s.Ready = need <= n; !s.Ready {
		return 0
	}
	below := d.scores.below(float32(s.Deviation))
	s.Rank = float64(below) / float64(n+1)
	s.Anomalous = below >= need
	if d.quiet > 0 {
		d.quiet--
	} else if s.Anomalous {
		s.Alarm = true
		d.quiet = max(d.options.Quiet, 0)
	}
	return float64(d.scores.sorted[need-1])
}

// limit finds the values that keep the deviation up to cut. Before d is ready, they are three standard deviations wide.
func (d *Detector) limit(s *Score, cut float64) {
	mean := d.normal.mean
	s.Low, s.High, s.Expected = mean, mean, mean
	if d.normal.count == 0 {
		return
	}
	if !s.Ready {
		s.Low, s.High = mean-3*d.normal.deviation(), mean+3*d.normal.deviation()
		return
	}
	share := d.spread.share(d.options.Fast)
	width := (cut - (1-share)*d.spread.mean) / share * d.normal.deviation()
	share = d.level.share(d.options.Fast)
	center := (d.levels.mean - (1-share)*d.level.mean) / share
	reach := cut * d.levels.deviation() / share
	low, high := max(mean-width, center-reach), min(mean+width, center+reach)
	if low <= high {
		s.Low, s.High = low, high
		s.Expected = min(max(mean, low), high)
	}
}

// average is an exponentially weighted mean without a bias towards its start.
type average struct{ weight, mean float64 }

// share returns the part of the mean that the next value makes.
func (a *average) share(rate float64) float64 { return rate / (a.weight + rate*(1-a.weight)) }

func (a *average) add(x, rate float64) {
	a.mean += a.share(rate) * (x - a.mean)
	a.weight += rate * (1 - a.weight)
}

// moments are an exponentially weighted mean and variance.
type moments struct {
	average
	variance float64
	count    int // up to minCount
}

func (m *moments) add(x, rate float64) {
	m.count = min(m.count+1, minCount)
	share := m.share(rate)
	m.variance = (1 - share) * (m.variance + share*(x-m.mean)*(x-m.mean))
	m.average.add(x, rate)
}

// limit returns the value next to x that is at most maxStep deviations from the mean. Without a deviation, it returns x, so that
// a constant signal may begin to move.
func (m *moments) limit(x float64) float64 {
	width := maxStep * m.deviation()
	if m.count < minCount || width <= maxStep*m.rounding() {
		return x
	}
	return min(max(x, m.mean-width), m.mean+width)
}

// rounding returns what is no deviation.
func (m *moments) rounding() float64 { return max(1e-9*math.Abs(m.mean), 1e-150) }

// deviation returns the standard deviation, which is never 0.
func (m *moments) deviation() float64 { return max(math.Sqrt(m.variance), m.rounding()) }

// deviations returns the distance of x from the mean in standard deviations.
func (m *moments) deviations(x float64) float64 {
	return min(math.Abs(x-m.mean)/m.deviation(), maxScore)
}

// ranking has the last values of a stream, by age and by size.
type ranking struct {
	values []float32 // a ring when it is full
	oldest int
	sorted []float32
}

func newRanking(size int) *ranking {
	return &ranking{values: make([]float32, 0, size), sorted: make([]float32, 0, size)}
}

// below returns the number of values that are lower than v.
func (r *ranking) below(v float32) int {
	i, _ := slices.BinarySearch(r.sorted, v)
	return i
}

// add puts v in the place of the oldest value once there are as many as fit.
func (r *ranking) add(v float32) {
	at := r.below(v)
	if len(r.values) < cap(r.values) {
		r.values = append(r.values, v)
		r.sorted = append(r.sorted, 0)
		copy(r.sorted[at+1:], r.sorted[at:])
		r.sorted[at] = v
		return
	}
	gone := r.below(r.values[r.oldest])
	r.values[r.oldest] = v
	r.oldest = (r.oldest + 1) % len(r.values)
	if at > gone {
		at--
		copy(r.sorted[gone:at], r.sorted[gone+1:at+1])
	} else {
		copy(r.sorted[at+1:gone+1], r.sorted[at:gone])
	}
	r.sorted[at] = v
}
