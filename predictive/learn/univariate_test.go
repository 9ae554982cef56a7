package learn_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/predictive/learn"
)

func newTestDetector(tb testing.TB, options learn.DetectorOptions) *learn.Detector {
	tb.Helper()
	d, err := learn.NewDetector(options)
	require.NoError(tb, err)
	return d
}

// at returns the time of sample i.
func at(i int) time.Time {
	return time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(i) * time.Minute)
}

// noise returns samples of a normal distribution with mean 20 and deviation 1.
func noise(seed uint64, n int) []float64 {
	random := rand.New(rand.NewPCG(seed, 0))
	list := make([]float64, n)
	for i := range list {
		list[i] = 20 + random.NormFloat64()
	}
	return list
}

func TestDetectorFindsChangesAndLittleElse(t *testing.T) {
	changes := []struct {
		name    string
		samples int
		change  func(x float64) float64
	}{
		{"shift", 100, func(x float64) float64 { return x + 2 }},
		{"drop", 100, func(x float64) float64 { return x - 2 }},
		{"noise", 100, func(x float64) float64 { return 20 + 4*(x-20) }},
		{"spike", 1, func(x float64) float64 { return x + 15 }},
		{"error code", 1, func(float64) float64 { return -9999 }},
	}
	for _, c := range changes {
		for seed := range uint64(5) {
			samples := noise(seed, 5000)
			for i := 3000; i < 3000+c.samples; i++ {
				samples[i] = c.change(samples[i])
			}
			d := newTestDetector(t, learn.DetectorOptions{})
			found, others := -1, 0
			for i, x := range samples {
				s := d.Update(at(i), x)
				switch {
				case i >= 3000 && i < 3100:
					if s.Anomalous && found < 0 {
						found = i - 3000
					}
				case s.Alarm:
					others++
				}
			}
			require.GreaterOrEqual(t, found, 0, "%s, seed %d", c.name, seed)
			require.LessOrEqual(t, found, 20, "%s, seed %d", c.name, seed)
			require.LessOrEqual(t, others, 15, "%s, seed %d", c.name, seed)
		}
	}
}

func TestDetectorRankIsUniformWithoutChanges(t *testing.T) {
	d := newTestDetector(t, learn.DetectorOptions{})
	var ready, anomalous, lower float64
	for i, x := range noise(1, 50000) {
		s := d.Update(at(i), math.Exp(x)) // far from normal
		require.Equal(t, i >= 219, s.Ready, "sample %d", i)
		if !s.Ready {
			require.False(t, s.Anomalous)
			continue
		}
		ready++
		require.Equal(t, s.Rank >= 0.995, s.Anomalous)
		if s.Anomalous {
			anomalous++
		}
		if s.Rank < 0.3 {
			lower++
		}
	}
	require.InDelta(t, 0.005, anomalous/ready, 0.002)
	require.InDelta(t, 0.3, lower/ready, 0.03)
}

func TestDetectorRangeHasTheValuesThatAreNormal(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 9))
	d := newTestDetector(t, learn.DetectorOptions{Window: 500})
	probed := 0
	for i, x := range noise(3, 3000) {
		if i > 1500 && i < 1600 {
			x += 4
		}
		before := d.Snapshot()
		s := d.Update(at(i), x)
		if !s.Ready {
			continue
		}
		require.LessOrEqual(t, s.Low, s.Expected)
		require.LessOrEqual(t, s.Expected, s.High)
		if s.Low == s.High {
			require.True(t, s.Anomalous)
			continue
		}
		require.Equal(t, x < s.Low || x > s.High, s.Anomalous, "sample %d", i)
		width := s.High - s.Low
		for _, probe := range []struct {
			value     float64
			anomalous bool
		}{
			{s.Low - 1e-3*width, true}, {s.Low + 1e-3*width, false}, {s.Low + width*random.Float64()*0.999, false},
			{s.High - 1e-3*width, false}, {s.High + 1e-3*width, true},
		} {
			if math.Abs(probe.value-20) > 9 { // ten deviations count for more
				continue
			}
			other, err := learn.RestoreDetector(before)
			require.NoError(t, err)
			require.Equal(t, probe.anomalous, other.Update(at(i), probe.value).Anomalous, "sample %d of %v in %v to %v", i, probe.value, s.Low, s.High)
			probed++
		}
	}
	require.Greater(t, probed, 5000)
}

func TestRestoredDetectorContinuesExactly(t *testing.T) {
	season := dailySeason(t)
	for _, options := range []learn.DetectorOptions{{}, {Window: 300, Quiet: -1, Threshold: 0.99}, {Fast: 0.3, Slow: 0.01, Season: season}} {
		samples := noise(5, 2000)
		for i := 700; i < 750; i++ {
			samples[i] += 5
		}
		d := newTestDetector(t, options)
		for i, x := range samples {
			if i%97 == 3 || i < 25 {
				data := d.Snapshot()
				restored, err := learn.RestoreDetector(data)
				require.NoError(t, err, "sample %d", i)
				require.Equal(t, data, restored.Snapshot(), "sample %d", i)
				original := d
				d = restored
				for j := i; j < min(i+150, len(samples)); j++ {
					require.Equal(t, original.Update(at(j), samples[j]), restored.Update(at(j), samples[j]), "sample %d restored at %d", j, i)
				}
				d, err = learn.RestoreDetector(data)
				require.NoError(t, err)
			}
			d.Update(at(i), x)
		}
	}
}

func TestDetectorIgnoresWhatIsNoSample(t *testing.T) {
	d := newTestDetector(t, learn.DetectorOptions{})
	for i, x := range noise(1, 500) {
		d.Update(at(i), x)
	}
	before := d.Snapshot()
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e200} {
		require.Equal(t, learn.Score{Ignored: true}, d.Update(at(500), x), x)
	}
	require.Equal(t, before, d.Snapshot())

	for i := range 100 { // a sender that repeats
		require.True(t, d.Update(at(400+i), 99).Ignored, i)
	}
	require.False(t, d.Update(at(500), 20).Ignored)

	// The clock is set back by a year: not all samples of a year are lost.
	back := at(500).AddDate(-1, 0, 0)
	ignored := 0
	for i := range 200 {
		if d.Update(back.Add(time.Duration(i)*time.Minute), 20).Ignored {
			ignored++
		}
	}
	require.Equal(t, 100, ignored)
}

func TestDetectorIsNotBlindedByAnErrorCode(t *testing.T) {
	samples := noise(4, 2200)
	samples[2000] = -9999
	for i := 2100; i < 2200; i++ {
		samples[i] += 6
	}
	d := newTestDetector(t, learn.DetectorOptions{Quiet: 50})
	var alarms []int
	for i, x := range samples {
		if d.Update(at(i), x).Alarm && i >= 2000 {
			alarms = append(alarms, i)
		}
	}
	require.Contains(t, alarms, 2000)
	require.GreaterOrEqual(t, alarms[len(alarms)-1], 2100, "alarms %v", alarms)
}

func TestDetectorStartsAgainAfterAGap(t *testing.T) {
	after := func(pause time.Duration) int {
		samples := noise(6, 1530)
		d := newTestDetector(t, learn.DetectorOptions{})
		anomalous := 0
		for i, x := range samples {
			when := at(i)
			if i >= 1500 {
				when = when.Add(pause)
			} else if i >= 1495 {
				x += 5 // what was before the gap says nothing about what comes after
			}
			if s := d.Update(when, x); s.Anomalous && i >= 1500 {
				anomalous++
			}
		}
		return anomalous
	}
	require.Positive(t, after(0))
	require.Zero(t, after(time.Hour))
}

func TestDetectorOfAConstantSignal(t *testing.T) {
	for _, value := range []float64{0, 20.1, -1e9, 1e-5} {
		d := newTestDetector(t, learn.DetectorOptions{})
		for i := range 6000 {
			require.False(t, d.Update(at(i), value).Anomalous, "%v: sample %d", value, i)
		}
		s := d.Update(at(6000), value+0.01*math.Abs(value)+0.1)
		require.True(t, s.Alarm, "%v", value)
		require.InDelta(t, s.Expected, value, 0)
		for i := 6001; i < 7000; i++ {
			s = d.Update(at(i), value)
		}
		require.False(t, s.Anomalous, "%v", value)
	}
}

func TestDetectorDoesNotDependOnTheUnit(t *testing.T) {
	for _, unit := range []float64{0x1p-60, 0x1p60} { // powers of two, so that nothing is rounded
		plain, scaled := newTestDetector(t, learn.DetectorOptions{}), newTestDetector(t, learn.DetectorOptions{})
		anomalous := 0
		for i, x := range noise(3, 3000) {
			want, got := plain.Update(at(i), x), scaled.Update(at(i), x*unit)
			want.Expected, want.Low, want.High = want.Expected*unit, want.Low*unit, want.High*unit
			require.Equal(t, want, got, "unit %v, sample %d", unit, i)
			if got.Anomalous {
				anomalous++
			}
		}
		require.Positive(t, anomalous)
	}
}

func TestDetectorQuietPeriod(t *testing.T) {
	for _, c := range []struct{ option, quiet int }{{0, 200}, {30, 30}, {-1, 0}} {
		d := newTestDetector(t, learn.DetectorOptions{Quiet: c.option, Threshold: 0.9})
		last, alarms := -1000, 0
		for i, x := range noise(2, 5000) {
			s := d.Update(at(i), x)
			require.Equal(t, s.Anomalous && i-last > c.quiet, s.Alarm, "quiet %d: sample %d", c.option, i)
			if s.Alarm {
				last = i
				alarms++
			}
		}
		require.Greater(t, alarms, 10)
	}
}

func TestDetectorUpdateDoesNotAllocate(t *testing.T) {
	samples := noise(1, 6000)
	d := newTestDetector(t, learn.DetectorOptions{Season: dailySeason(t)})
	for i, x := range samples {
		d.Update(at(i), x)
	}
	i := len(samples)
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		d.Update(at(i), samples[i%6000])
		i++
	}))
}

func TestDetectorOptionsOutOfRange(t *testing.T) {
	for _, o := range []learn.DetectorOptions{
		{Fast: -1}, {Fast: 1.1}, {Fast: math.NaN()}, {Slow: -0.1}, {Slow: 0.2}, {Slow: math.NaN()}, {Window: 10}, {Window: 1 << 20},
		{Threshold: 1}, {Threshold: 0.4}, {Threshold: math.NaN()}, {Window: 300, Threshold: 0.999},
	} {
		_, err := learn.NewDetector(o)
		require.ErrorIs(t, err, learn.ErrData, "%+v", o)
		require.ErrorContains(t, err, "DetectorOptions.")
	}
}

// A pump runs warmer than before, though not warmer than it may.
func ExampleDetector() {
	d, err := learn.NewDetector(learn.DetectorOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	random := rand.New(rand.NewPCG(1, 1))
	start := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	for i := range 2000 {
		temperature := 60 + random.NormFloat64()
		if i >= 1900 {
			temperature += 2.5
		}
		s := d.Update(start.Add(time.Duration(i)*time.Minute), temperature)
		if s.Alarm && i >= 1900 {
			fmt.Printf("after %d minutes: rank %.3f, expected %.0f °C\n", i-1900, s.Rank, s.Expected)
		}
	}
	// Output:
	// after 1 minutes: rank 0.996, expected 60 °C
}
