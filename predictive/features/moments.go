package features

import "math"

// Moments has the sums of samples (t, x) from which mean, deviation and slope follow. Moments of parts are merged to those of the
// whole, in any order. The zero value has no samples.
//
// The updates are those of Welford (Technometrics 1962) and of Chan, Golub and LeVeque (COMPSTAT 1982), which do not lose
// digits when values are large against their spread.
type Moments struct {
	n          float64
	t, x       float64 // means
	tt, tx, xx float64 // sums of products of deviations from the means
}

// Add adds a sample. The slope is per unit of t.
func (m *Moments) Add(t, x float64) {
	m.n++
	dt, dx := t-m.t, x-m.x
	m.t += dt / m.n
	m.x += dx / m.n
	m.tt += dt * (t - m.t)
	m.tx += dt * (x - m.x)
	m.xx += dx * (x - m.x)
}

// Merge adds the samples of other.
func (m *Moments) Merge(other Moments) {
	if other.n == 0 {
		return
	}
	if m.n == 0 {
		*m = other
		return
	}
	n := m.n + other.n
	dt, dx := other.t-m.t, other.x-m.x
	weight := m.n * other.n / n
	m.t += dt * other.n / n
	m.x += dx * other.n / n
	m.tt += other.tt + dt*dt*weight
	m.tx += other.tx + dt*dx*weight
	m.xx += other.xx + dx*dx*weight
	m.n = n
}

// Count returns the number of samples.
func (m *Moments) Count() int { return int(m.n) }

// Mean returns the mean of x, NaN without samples.
func (m *Moments) Mean() float64 {
	if m.n == 0 {
		return math.NaN()
	}
	return m.x
}

// StdDev returns the standard deviation of x with n-1, NaN with fewer than two samples.
func (m *Moments) StdDev() float64 {
	if m.n < 2 {
		return math.NaN()
	}
	return math.Sqrt(max(m.xx, 0) / (m.n - 1))
}

// Trend returns the least-squares slope of x over t, NaN unless there are samples at two different times.
func (m *Moments) Trend() float64 {
	if m.n < 2 || m.tt <= 0 {
		return math.NaN()
	}
	return m.tx / m.tt
}
