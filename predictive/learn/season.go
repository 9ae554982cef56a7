package learn

import (
	"context"
	"math"
	"math/cmplx"
	"slices"
	"time"

	"gonum.org/v1/gonum/dsp/fourier"
)

const (
	minSeasonSamples = 50
	minCycles        = 3
	maxGrid          = 1 << 16 // cells of the time that samples cover
	minPhases        = 4       // samples in the shortest period
	maxPhases        = 96      // values of a profile
	maxCandidates    = 10      // periods that are tried
	minCorrelation   = 0.2     // of values a period apart
	minStrength      = 0.3
)

// Season is a pattern that repeats, such as the load of each day: differences from the mean by the time within a period. A nil
// Season is none. A Season is immutable and safe for concurrent use.
type Season struct {
	period   time.Duration
	strength float64
	origin   time.Time
	profile  []float64 // at equal parts of the period, the first at the origin
}

// FindSeason returns the strongest season in the samples of a signal, or nil if there is none. At least three periods are needed.
// Times may be irregular and in any order; samples that are NaN or infinite, and above 1e150, are left out.
//
// Candidates are peaks of the autocorrelation. For each, a profile of the first two thirds of the time is judged by the last
// third: it must explain 30% of the variance there, so that a trend or a random walk is no season. Periods within 2% of an hour, a shift of 8 or
// 12 hours, a day or a week are set to those. The profile has up to 96 medians.
//
// Source: M. Vlachos, P. Yu and V. Castelli, "On periodicity detection and structural periodic similarity", SDM 2005, for candidates
// from the autocorrelation, which is computed by the Fourier transform.
func FindSeason(ctx context.Context, times []time.Time, values []float64) (*Season, error) {
	if err := sameLength(len(times), len(values), "times", "values"); err != nil {
		return nil, err
	}
	g := newGrid(times, values)
	if g == nil {
		return nil, ctx.Err()
	}
	type candidate struct {
		period, strength float64
	}
	var best candidate
	correlation := g.autocorrelation()
	for _, lag := range peaks(correlation) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		period := g.refine(correlation, lag)
		strength := g.strength(period)
		// A longer period explains no less, so it must explain clearly more.
		if longer := period > best.period; best.period == 0 || longer && strength > best.strength+0.1 || !longer && strength > best.strength-0.1 {
			best = candidate{period, strength}
		}
	}
	if best.strength < minStrength {
		return nil, ctx.Err()
	}
	s := &Season{period: time.Duration(best.period * float64(g.step)), strength: best.strength, origin: g.start}
	s.profile = g.profile(float64(s.period)/float64(g.step), 0, len(g.values))
	return s, ctx.Err()
}

// Period returns the time after which the season repeats; 0 for nil.
func (s *Season) Period() time.Duration {
	if s == nil {
		return 0
	}
	return s.period
}

// Strength returns the share of the variance of later samples that the season explains, from 0.3 to 1; 0 for nil.
func (s *Season) Strength() float64 {
	if s == nil {
		return 0
	}
	return s.strength
}

// At returns the difference from the mean that is expected at t, between the two nearest values of the profile; 0 for nil. The time must
// be less than 292 years from that of the samples.
func (s *Season) At(t time.Time) float64 {
	if s == nil || len(s.profile) == 0 {
		return 0
	}
	return interpolate(s.profile, phase(t, s.origin, s.period))
}

// phase returns the share of a period that has passed at t since a multiple of it from the origin.
func phase(t, origin time.Time, period time.Duration) float64 {
	p := t.Sub(origin) % period
	if p < 0 {
		p += period
	}
	return float64(p) / float64(period)
}

// interpolate returns the value of a profile at a phase from 0 to 1.
func interpolate(profile []float64, phase float64) float64 {
	n := len(profile)
	i, part := math.Modf(phase * float64(n))
	return profile[int(i)%n]*(1-part) + profile[(int(i)+1)%n]*part
}

// grid has the mean of the samples in equal steps of time, without their trend. NaN is an empty cell.
type grid struct {
	start  time.Time
	step   time.Duration
	values []float64
}

// newGrid returns nil if there are too few samples.
func newGrid(times []time.Time, values []float64) *grid {
	var kept []int
	for i, v := range values {
		if math.Abs(v) <= maxValue {
			kept = append(kept, i)
		}
	}
	if len(kept) < minSeasonSamples {
		return nil
	}
	slices.SortStableFunc(kept, func(a, b int) int { return times[a].Compare(times[b]) })
	intervals := make([]float64, len(kept)-1)
	for k := range intervals {
		intervals[k] = float64(times[kept[k+1]].Sub(times[kept[k]]))
	}
	first, span := times[kept[0]], times[kept[len(kept)-1]].Sub(times[kept[0]])
	g := &grid{start: first, step: max(time.Duration(medianOf(intervals)), span/(maxGrid-1), 1)}
	sums, counts := make([]float64, span/g.step+2), make([]float64, span/g.step+2)
	for _, i := range kept {
		cell := (times[i].Sub(first) + g.step/2) / g.step
		sums[cell] += values[i]
		counts[cell]++
	}
	for i := range sums {
		sums[i] /= counts[i] // NaN if empty
	}
	g.values = sums
	g.detrend()
	return g
}

// detrend subtracts the least squares line, and limits what is far from it.
func (g *grid) detrend() {
	var n, sx, sy, sxx, sxy float64
	for i, v := range g.values {
		if x := float64(i); !math.IsNaN(v) {
			n++
			sx, sy, sxx, sxy = sx+x, sy+v, sxx+x*x, sxy+x*v
		}
	}
	slope := 0.0
	if d := n*sxx - sx*sx; d > 0 {
		slope = (n*sxy - sx*sy) / d
	}
	offset := (sy - slope*sx) / n
	var distances []float64
	for i, v := range g.values {
		if !math.IsNaN(v) {
			g.values[i] = v - offset - slope*float64(i)
			distances = append(distances, math.Abs(g.values[i]))
		}
	}
	if limit := 6 * medianOf(distances); limit > 0 {
		for i, v := range g.values {
			if !math.IsNaN(v) {
				g.values[i] = min(max(v, -limit), limit)
			}
		}
	}
}

// autocorrelation returns the correlation of values and those a number of steps later, up to a third of all.
func (g *grid) autocorrelation() []float64 {
	n := len(g.values)
	size := 1
	for size < 2*n {
		size *= 2
	}
	padded, there := make([]float64, size), make([]float64, size)
	for i, v := range g.values {
		if !math.IsNaN(v) {
			padded[i], there[i] = v, 1
		}
	}
	fft := fourier.NewFFT(size)
	products, pairs := lagged(fft, padded), lagged(fft, there)
	list := make([]float64, n/minCycles+1)
	for lag := range list {
		if pairs[lag] > 0.5 {
			list[lag] = products[lag] / pairs[lag]
		}
	}
	if list[0] <= 0 {
		return nil
	}
	for lag := len(list) - 1; lag >= 0; lag-- {
		list[lag] /= list[0]
	}
	return list
}

// lagged returns the sums of products of values and those a number of steps later.
func lagged(fft *fourier.FFT, padded []float64) []float64 {
	c := fft.Coefficients(nil, padded)
	for i, v := range c {
		c[i] = complex(real(v*cmplx.Conj(v))/float64(len(padded)), 0)
	}
	return fft.Sequence(nil, c)
}

// peaks returns the lag of the highest peak of an autocorrelation, in steps, and the first lags that come near. A short period has peaks
// at its multiples too, which may be higher.
func peaks(correlation []float64) []int {
	var lags []int
	highest := 0
	for lag := minPhases; lag < len(correlation)-1; lag++ {
		if c := correlation[lag]; c >= minCorrelation && c >= correlation[lag-1] && c > correlation[lag+1] {
			lags = append(lags, lag)
			if highest == 0 || c > correlation[highest] {
				highest = lag
			}
		}
	}
	if highest == 0 {
		return nil
	}
	lags = slices.DeleteFunc(lags, func(lag int) bool { return lag == highest || correlation[lag] < 0.8*correlation[highest] })
	return append(lags[:min(len(lags), maxCandidates)], highest)
}

// refine returns the period near a lag of the autocorrelation, in steps, that is a natural one or fits better.
func (g *grid) refine(correlation []float64, lag int) float64 {
	for _, natural := range []time.Duration{time.Hour, 8 * time.Hour, 12 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour} {
		if steps := float64(natural) / float64(g.step); math.Abs(float64(lag)-steps) <= max(0.02*steps, 1) {
			return steps
		}
	}
	// A period that is off by part of a step is off by many after as many cycles. Its multiples show that part.
	period := float64(lag)
	for cycles := 2.0; cycles*period+2 < float64(len(correlation)); cycles *= 2 {
		middle := int(math.Round(cycles * period))
		best := middle
		for l := middle - 2; l <= middle+2; l++ {
			if correlation[l] > correlation[best] {
				best = l
			}
		}
		period = float64(best) / cycles
	}
	if all := len(g.values); g.explained(period, 0, all, 0, all) > g.explained(float64(lag), 0, all, 0, all) {
		return period
	}
	return float64(lag)
}

// strength returns the share of the variance in the last third that a profile of the rest explains.
func (g *grid) strength(period float64) float64 {
	split := 2 * len(g.values) / 3
	return g.explained(period, 0, split, split, len(g.values))
}

// explained returns the share of the variance of some cells that the profile of others explains.
func (g *grid) explained(period float64, from, to, testFrom, testTo int) float64 {
	profile := g.profile(period, from, to)
	var before, after squareSum
	for i := testFrom; i < testTo; i++ {
		if v := g.values[i]; !math.IsNaN(v) {
			before.add(v)
			after.add(v - interpolate(profile, g.phase(i, period)))
		}
	}
	if before.squares <= 0 {
		return 0
	}
	return 1 - after.squares/before.squares
}

// squareSum sums squares of differences from the mean: B. P. Welford, Technometrics 4, 1962.
type squareSum struct{ count, mean, squares float64 }

func (m *squareSum) add(v float64) {
	m.count++
	d := v - m.mean
	m.mean += d / m.count
	m.squares += d * (v - m.mean)
}

// phase is that of a cell from the start.
func (g *grid) phase(cell int, period float64) float64 {
	p := float64(cell) / period
	return p - math.Floor(p)
}

// profile returns the median of the cells by phase, less their mean.
func (g *grid) profile(period float64, from, to int) []float64 {
	n := min(int(math.Round(period)), maxPhases)
	parts := make([][]float64, n)
	for i := from; i < to; i++ {
		if v := g.values[i]; !math.IsNaN(v) {
			k := int(math.Round(g.phase(i, period)*float64(n))) % n
			parts[k] = append(parts[k], v)
		}
	}
	list := make([]float64, n)
	var mean float64
	for k, part := range parts {
		if len(part) > 0 {
			list[k] = medianOf(part)
		}
		mean += list[k] / float64(n)
	}
	for k := range list {
		list[k] -= mean
	}
	return list
}

// MarshalBinary returns the season as bytes, up to 800. The error is always nil.
func (s *Season) MarshalBinary() ([]byte, error) {
	e := newEncoder(kindSeason, 1)
	s.encode(e)
	return e.bytes(), nil
}

// UnmarshalBinary replaces the season by one that MarshalBinary wrote; see [ErrModel].
func (s *Season) UnmarshalBinary(data []byte) error {
	d := newDecoder(data, kindSeason, 1)
	read := decodeSeason(d)
	if err := d.end(); err != nil {
		return err
	}
	*s = *read
	return nil
}

func (s *Season) encode(e *encoder) {
	e.int64(int64(s.period))
	e.time(s.origin)
	e.float(s.strength)
	e.floats(s.profile)
}

func decodeSeason(d *decoder) *Season {
	s := &Season{period: time.Duration(d.int64()), origin: d.time(), strength: d.finite(), profile: d.finites(maxPhases)}
	if s.period <= 0 || len(s.profile) < minPhases || !(s.strength >= 0 && s.strength <= 1) {
		d.fail("a season has a period of %v, a strength of %v and %d values", s.period, s.strength, len(s.profile))
	}
	return s
}
