package predictive

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/predictive/learn"
)

// newSignals returns a plant with tags of one machine that follow a common load, a sample each minute.
func newSignals(tags, samples int) *plant {
	p := newPlant()
	random := rand.New(rand.NewPCG(1, 1))
	load := 0.
	at := epoch
	for range samples {
		at = at.Add(time.Minute)
		load = 0.95*load + random.NormFloat64()
		for j := range tags {
			id := fmt.Sprintf("m.t%02d", j)
			p.samples[id] = append(p.samples[id], Sample{Time: at, Value: 100 + float64(j) + float64(1+j%3)*load + 0.1*random.NormFloat64()})
		}
	}
	for j := range tags {
		p.tags["m"] = append(p.tags["m"], Tag{ID: fmt.Sprintf("m.t%02d", j)})
	}
	p.now = at.Add(time.Second)
	return p
}

func TestAnomaly(t *testing.T) {
	p := newSignals(1, 6000)
	s := newService(t, p)
	normal, err := s.Anomaly(t.Context(), "m.t00")
	require.NoError(t, err)
	requireFinite(t, normal)
	require.False(t, normal.IsAnomaly)
	require.Equal(t, SeverityLow, normal.Severity)
	list := p.samples["m.t00"]
	last := list[len(list)-1]
	require.InDelta(t, last.Value, normal.CurrentValue, 0)
	require.Equal(t, last.Time, normal.SampledAt)
	require.Equal(t, p.now, normal.DetectedAt)
	require.Less(t, normal.ExpectedRange.Min, normal.ExpectedRange.Max)
	again, err := s.Anomaly(t.Context(), "m.t00")
	require.NoError(t, err)
	require.Equal(t, normal, again, "asking changes nothing")

	list[len(list)-1].Value += 200
	odd, err := s.Anomaly(t.Context(), "m.t00")
	require.NoError(t, err)
	requireFinite(t, odd)
	require.True(t, odd.IsAnomaly)
	require.GreaterOrEqual(t, odd.AnomalyScore, odd.Threshold)
	require.NotEqual(t, SeverityLow, odd.Severity)
	require.Greater(t, odd.CurrentValue, odd.ExpectedRange.Max)

	list[len(list)-1].Value = math.NaN()
	bad, err := s.Anomaly(t.Context(), "m.t00")
	require.NoError(t, err)
	require.Equal(t, list[len(list)-2].Time, bad.SampledAt, "a value that is no number is not judged")
}

// Some sensors send such values when they fail.
func TestValuesThatAreTooLargeAreLeftOut(t *testing.T) {
	p := newSignals(1, 1000)
	s := newService(t, p)
	list := p.samples["m.t00"]
	list[len(list)-1].Value = math.MaxFloat64
	a, err := s.Anomaly(t.Context(), "m.t00")
	require.NoError(t, err)
	require.Equal(t, list[len(list)-2].Time, a.SampledAt)
	for i := range list[:900] {
		list[i].Value = -1e101
	}
	_, err = s.Anomaly(t.Context(), "m.t00")
	require.ErrorIs(t, err, ErrInsufficientData)
	require.ErrorContains(t, err, "99 samples")
	require.ErrorContains(t, err, "901 more are left out, because their values are beyond 1e+100")
}

func TestAnomalyNeedsHistory(t *testing.T) {
	p := newSignals(1, 150)
	s := newService(t, p)
	_, err := s.Anomaly(t.Context(), "m.t00")
	require.ErrorIs(t, err, ErrInsufficientData)
	require.ErrorContains(t, err, "150 samples")
	require.ErrorContains(t, err, "200 are needed")
	_, err = s.Anomaly(t.Context(), "m.t99")
	require.ErrorIs(t, err, ErrUnknownTag)
}

func TestAnomalyOfConstantTag(t *testing.T) {
	p := newSignals(1, 3000)
	for i := range p.samples["m.t00"] {
		p.samples["m.t00"][i].Value = 7
	}
	a, err := newService(t, p).Anomaly(t.Context(), "m.t00")
	if err != nil {
		require.ErrorIs(t, err, ErrInsufficientData)
		return
	}
	requireFinite(t, a)
	require.False(t, a.IsAnomaly)
}

// newest is a history that can begin with the newest samples.
type newestHistory struct{ *plant }

func (h newestHistory) Newest(_ context.Context, tag string, from, to time.Time, n int) ([]Sample, error) {
	list := slices.DeleteFunc(slices.Clone(h.samples[tag]), func(s Sample) bool { return s.Time.Before(from) || !s.Time.Before(to) })
	return list[max(len(list)-n, 0):], nil
}

func TestNewestSamplesAreFoundEitherWay(t *testing.T) {
	p := newSignals(1, 9000)
	slow := newService(t, p)
	fast := newService(t, p, func(d *Deps, _ *Options) { d.History = newestHistory{p} })
	for _, n := range []int{1, 100, 3000, 9000, 20000} {
		from, to := p.now.AddDate(0, 0, -30), p.now
		want, err := fast.newest(t.Context(), "m.t00", from, to, n)
		require.NoError(t, err)
		got, err := slow.newest(t.Context(), "m.t00", from, to, n)
		require.NoError(t, err)
		require.Equal(t, want, got, n)
		require.Len(t, got, min(n, 9000))
	}
}

func TestMultivariate(t *testing.T) {
	p := newSignals(6, 4000)
	s := newService(t, p)
	tags := []string{"m.t00", "m.t01", "m.t02", "m.t03", "m.t04", "m.t05", "m.t00"}
	normal, err := s.Multivariate(t.Context(), tags)
	require.NoError(t, err)
	requireFinite(t, normal)
	require.False(t, normal.IsAnomaly)
	require.Equal(t, []string{}, normal.ContributingTags)
	require.Len(t, normal.TagScores, 6)
	again, err := s.Multivariate(t.Context(), tags)
	require.NoError(t, err)
	require.Equal(t, normal, again)

	list := p.samples["m.t03"] // leaves the others, within its own range
	for i := len(list) - 60; i < len(list); i++ {
		list[i].Value += 4
	}
	odd, err := s.Multivariate(t.Context(), tags)
	require.NoError(t, err)
	requireFinite(t, odd)
	require.True(t, odd.IsAnomaly)
	require.NotEmpty(t, odd.ContributingTags)
	require.Equal(t, "m.t03", odd.ContributingTags[0])
	require.NotEqual(t, SeverityLow, odd.Severity)
	sum := 0.
	for _, score := range odd.TagScores {
		require.GreaterOrEqual(t, score, 0.)
		sum += score
	}
	require.InDelta(t, odd.AnomalyScore, sum, 1e-9)
}

func TestMultivariateRequestsAreChecked(t *testing.T) {
	p := newSignals(66, 300)
	s := newService(t, p)
	var ids []string
	for _, tag := range p.tags["m"] {
		ids = append(ids, tag.ID)
	}
	for _, bad := range [][]string{nil, {"m.t00"}, {"m.t00", "m.t00"}, ids[:65]} {
		_, err := s.Multivariate(t.Context(), bad)
		require.ErrorIs(t, err, ErrInvalidRequest)
	}
	_, err := s.Multivariate(t.Context(), []string{"m.t00", "x"})
	require.ErrorIs(t, err, ErrUnknownTag)
	all, err := s.Multivariate(t.Context(), ids[:64])
	require.NoError(t, err)
	requireFinite(t, all)
	p.samples["m.t01"] = p.samples["m.t01"][:1]
	_, err = s.Multivariate(t.Context(), []string{"m.t00", "m.t01"})
	require.ErrorIs(t, err, ErrInsufficientData)
}

// TestTagsOfDifferentRates checks that the value of a slow tag holds between its samples, but not for ever.
func TestTagsOfDifferentRates(t *testing.T) {
	p := newSignals(3, 4000)
	slow := p.samples["m.t01"][:0:0]
	for i, sample := range p.samples["m.t01"] {
		if i%10 == 0 {
			slow = append(slow, sample)
		}
	}
	p.samples["m.t01"] = slow
	s := newService(t, p)
	rows, err := s.align(t.Context(), []string{"m.t00", "m.t01"}, p.now)
	require.NoError(t, err)
	missing := func(a aligned) (n int) {
		for i := range a.length {
			if math.IsNaN(a.values[2*i+1]) {
				n++
			}
		}
		return n
	}
	require.Less(t, missing(rows), 10)
	p.samples["m.t01"] = slow[:len(slow)/2]
	rows, err = s.align(t.Context(), []string{"m.t00", "m.t01"}, p.now)
	require.NoError(t, err)
	require.Greater(t, missing(rows), rows.length/3, "it has stopped")
}

func BenchmarkAnomaly(b *testing.B) {
	p := newSignals(1, 6000)
	s := newService(b, p)
	for b.Loop() {
		if _, err := s.Anomaly(b.Context(), "m.t00"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMultivariate(b *testing.B) {
	p := newSignals(64, 6000)
	s := newService(b, p)
	var ids []string
	for _, tag := range p.tags["m"] {
		ids = append(ids, tag.ID)
	}
	for b.Loop() {
		if _, err := s.Multivariate(b.Context(), ids); err != nil {
			b.Fatal(err)
		}
	}
}

// TestFalseAlarmsAreRare asks at many moments of a signal that does not change.
func TestFalseAlarmsAreRare(t *testing.T) {
	p := newSignals(1, 7000)
	s := newService(t, p, func(_ *Deps, o *Options) { o.AnomalySamples = 2000 })
	end, flagged := p.now, 0
	const calls = 300
	for i := range calls {
		p.now = end.Add(-time.Duration(i*13) * time.Minute)
		a, err := s.Anomaly(t.Context(), "m.t00")
		require.NoError(t, err)
		require.Equal(t, a.AnomalyScore >= a.Threshold, a.IsAnomaly)
		if a.IsAnomaly {
			flagged++
		} else {
			require.GreaterOrEqual(t, a.CurrentValue, a.ExpectedRange.Min)
			require.LessOrEqual(t, a.CurrentValue, a.ExpectedRange.Max)
		}
	}
	require.LessOrEqual(t, flagged, calls*3/100)
}

// TestRememberedDetectorsAnswerTheSame asks a service again and again while samples come, come late, change and go, and compares its answers
// with those of a service that was never asked before, as after a restart.
func TestRememberedDetectorsAnswerTheSame(t *testing.T) {
	p := newSignals(3, 3000)
	p.addSeason("m.t01")
	coming := make(map[string][]Sample)
	for tag, list := range p.samples {
		coming[tag] = list[700:]
		p.samples[tag] = slices.Clone(list[:700])
	}
	o := func(_ *Deps, o *Options) { o.AnomalySamples, o.AnomalyTags, o.AnomalyLookback = 600, 2, 11*time.Hour }
	s := newService(t, p, o)
	random := rand.New(rand.NewPCG(5, 5))
	went := 0
	for range 250 {
		tag := fmt.Sprintf("m.t%02d", random.IntN(3))
		n := random.IntN(40)
		list, next := p.samples[tag], coming[tag]
		switch random.IntN(12) {
		case 0: // one is late
			if n++; n < len(next) {
				list = append(list, next[n])
				next = slices.Delete(slices.Clone(next), n, n+1)
			}
		case 1: // one that was late comes
			i := len(list) - 2 - n
			list = slices.Insert(list, i, Sample{Time: list[i].Time.Add(-time.Second), Value: list[i].Value + 3})
		case 2: // one is corrected
			list[len(list)-1-n].Value += 2
		case 3: // one becomes bad
			list[len(list)-1-n].Bad = true
		case 4: // old ones are trimmed
			list = list[n:]
		case 5: // a burst, more often than each minute
			for i := range n {
				list = append(list, Sample{Time: list[len(list)-1].Time.Add(time.Duration(i+1) * time.Millisecond), Value: 101})
			}
		default:
			list, next = append(list, next[:n]...), next[n:]
		}
		slices.SortStableFunc(list, func(a, b Sample) int { return a.Time.Compare(b.Time) })
		list = slices.CompactFunc(list, func(a, b Sample) bool { return a.Time.Equal(b.Time) })
		p.samples[tag], coming[tag] = list, next
		p.now = list[len(list)-1].Time.Add(time.Duration(random.IntN(3)-1) * time.Minute) // the clock may be behind
		before := s.detectors.remembered(tag)
		got, err := s.Anomaly(t.Context(), tag)
		want, wantErr := newService(t, p, o).Anomaly(t.Context(), tag)
		require.Equal(t, wantErr, err)
		require.Equal(t, want, got)
		if before != nil && before == s.detectors.remembered(tag) {
			went++
		}
		require.LessOrEqual(t, len(s.detectors.tags), 2)
		require.Equal(t, len(s.detectors.tags), s.detectors.order.Len())
	}
	require.Greater(t, went, 30, "detectors that went on with what was new")
}

// TestAnomalyCallsSideBySide asks for few tags from many sides, of which two are remembered at a time.
func TestAnomalyCallsSideBySide(t *testing.T) {
	p := newSignals(3, 1000)
	s := newService(t, p, func(_ *Deps, o *Options) { o.AnomalySamples, o.AnomalyTags = 600, 2 })
	want := make(map[string]Anomaly)
	for _, tag := range []string{"m.t00", "m.t01", "m.t02"} {
		a, err := newService(t, p, func(_ *Deps, o *Options) { o.AnomalySamples = 600 }).Anomaly(t.Context(), tag)
		require.NoError(t, err)
		want[tag] = a
	}
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 5 {
				for tag := range want {
					if a, err := s.Anomaly(t.Context(), tag); err != nil || a != want[tag] {
						t.Errorf("%+v, %v; want %+v", a, err, want[tag])
					}
				}
			}
		})
	}
	wait.Wait()
}

// remembered returns the detector of a tag, nil for none.
func (d *detectors) remembered(tag string) *learn.Detector {
	if e := d.tags[tag]; e != nil {
		return e.Value.(*detectorOf).detector
	}
	return nil
}

// addSeason adds a pattern that repeats each hour.
func (p *plant) addSeason(tag string) {
	for i := range p.samples[tag] {
		p.samples[tag][i].Value += 30 * math.Sin(float64(i)*2*math.Pi/60)
	}
}

// BenchmarkAnomalyOfNewSample asks with each sample that comes.
func BenchmarkAnomalyOfNewSample(b *testing.B) {
	p := newSignals(1, 100_000)
	list := p.samples["m.t00"]
	s := newService(b, p, func(d *Deps, _ *Options) { d.History = tailHistory{p} })
	n := 6000
	for b.Loop() {
		if n++; n == len(list) {
			n = 6000
		}
		p.samples["m.t00"], p.now = list[:n], list[n-1].Time
		if _, err := s.Anomaly(b.Context(), "m.t00"); err != nil {
			b.Fatal(err)
		}
	}
}

// tailHistory is a history that has its newest samples at hand.
type tailHistory struct{ *plant }

func (h tailHistory) Newest(_ context.Context, tag string, from, _ time.Time, n int) ([]Sample, error) {
	list := h.samples[tag]
	list = list[max(len(list)-n, 0):]
	for len(list) > 0 && list[0].Time.Before(from) {
		list = list[1:]
	}
	return list, nil
}
