package learn_test

import (
	"math"
	"testing"

	"github.com/otkit/otkit/predictive/learn"
)

// BenchmarkNAB prints the scores of the series that are there, at one threshold for all.
//
// Detector has the default options: the threshold is a rank, the same for each signal, and no label is used. Best is the
// convention of the benchmark, which picks the threshold that scores best. Halves picks it on every second series for the others.
// WindowedGaussian is the method of that name, to check the scorer by published scores.
func BenchmarkNAB(b *testing.B) {
	b.Run("Detector", func(b *testing.B) {
		series := loadNAB(b)
		var detected [][]bool
		for b.Loop() {
			detected = detectAll(b, series, learn.DetectorOptions{})
		}
		b.ReportMetric(nabTotal(series, detected, nabStandard), "standard")
		b.ReportMetric(nabTotal(series, detected, nabLowFP), "lowFP")
		b.ReportMetric(nabTotal(series, detected, nabLowFN), "lowFN")
	})
	b.Run("Best", func(b *testing.B) {
		series := loadNAB(b)
		var best float64
		for b.Loop() {
			best, _ = bestThreshold(b, series)
		}
		b.ReportMetric(best, "standard")
	})
	b.Run("Halves", func(b *testing.B) {
		var halves [2][]nabSeries
		for i, s := range loadNAB(b) {
			halves[i%2] = append(halves[i%2], s)
		}
		var score float64
		for b.Loop() {
			score = 0
			for i, half := range halves {
				_, threshold := bestThreshold(b, halves[1-i])
				score += nabTotal(half, detectAll(b, half, learn.DetectorOptions{Threshold: threshold}), nabStandard) / 2
			}
		}
		b.ReportMetric(score, "standard")
	})
	b.Run("WindowedGaussian", func(b *testing.B) {
		series := loadNAB(b)
		detected := make([][]bool, len(series))
		for b.Loop() {
			for i, s := range series {
				detected[i] = windowedGaussian(s.values)
			}
		}
		for i, s := range series {
			want, ok := publishedGaussian[s.name]
			if score, _ := s.score(detected[i], nabStandard); ok && math.Abs(score-want) > 1e-9 {
				b.Errorf("%s scores %v; published is %v", s.name, score, want)
			}
		}
		b.ReportMetric(nabTotal(series, detected, nabStandard), "standard")
	})
}

// BenchmarkDetector measures one sample. Its window is full.
func BenchmarkDetector(b *testing.B) {
	d, samples := newTestDetector(b, learn.DetectorOptions{}), noise(1, 20000)
	for i, x := range samples {
		d.Update(at(i), x)
	}
	i := len(samples)
	b.ReportAllocs()
	for b.Loop() {
		d.Update(at(i), samples[i%len(samples)])
		i++
	}
}

func detectAll(tb testing.TB, series []nabSeries, options learn.DetectorOptions) [][]bool {
	tb.Helper()
	detected := make([][]bool, len(series))
	for i, s := range series {
		d := newTestDetector(tb, options)
		for j, x := range s.values {
			detected[i] = append(detected[i], d.Update(s.times[j], x).Alarm)
		}
	}
	return detected
}

// bestThreshold returns the best standard score and its threshold.
func bestThreshold(tb testing.TB, series []nabSeries) (best, threshold float64) {
	tb.Helper()
	best = math.Inf(-1)
	for _, t := range []float64{0.98, 0.985, 0.99, 0.9925, 0.995, 0.9965, 0.9975, 0.998, 0.999} {
		if score := nabTotal(series, detectAll(tb, series, learn.DetectorOptions{Threshold: t}), nabStandard); score > best {
			best, threshold = score, t
		}
	}
	return best, threshold
}

// windowedGaussian detects values that a normal distribution with the mean and deviation of up to 6400 values before, which move
// in steps of 100, has no number above 0 for.
func windowedGaussian(values []float64) []bool {
	const window, step = 6400, 100
	detected := make([]bool, len(values))
	for i := 1; i < len(values); i++ {
		from := max(0, i-window) / step * step
		before := values[from:min(i, from+window)]
		var mean, squares float64
		for _, v := range before {
			mean += v / float64(len(before))
		}
		for _, v := range before {
			squares += (v - mean) * (v - mean) / float64(len(before))
		}
		deviation := math.Sqrt(squares)
		if deviation == 0 {
			deviation = 1e-6
		}
		detected[i] = 1-math.Erfc((values[i]-mean)/deviation/math.Sqrt2)/2 >= 1
	}
	return detected
}

// publishedGaussian has standard scores of the method by NAB 1.1, of series that it handles alike: those of its window or shorter, and two
// longer ones. github.com/numenta/NAB, results/windowedGaussian/windowedGaussian_standard_scores.csv.
var publishedGaussian = map[string]float64{
	"artificialNoAnomaly/art_daily_no_noise.csv":               0,
	"artificialNoAnomaly/art_daily_small_noise.csv":            0,
	"artificialNoAnomaly/art_noisy.csv":                        0,
	"artificialWithAnomaly/art_daily_flatmiddle.csv":           -1,
	"artificialWithAnomaly/art_daily_jumpsup.csv":              -1,
	"artificialWithAnomaly/art_increase_spike_density.csv":     -1,
	"realAWSCloudwatch/ec2_cpu_utilization_24ae8d.csv":         -1.266678759349383,
	"realAWSCloudwatch/ec2_cpu_utilization_5f5533.csv":         -2,
	"realAWSCloudwatch/ec2_cpu_utilization_825cc2.csv":         -1,
	"realAWSCloudwatch/ec2_cpu_utilization_c6585a.csv":         -1.3200000000000003,
	"realAWSCloudwatch/ec2_network_in_257a54.csv":              0.8606718242697022,
	"realAWSCloudwatch/elb_request_count_8c0756.csv":           -0.13844919792440225,
	"realAWSCloudwatch/iio_us-east-1_i-a2eb1cd9_NetworkIn.csv": -2,
	"realAWSCloudwatch/rds_cpu_utilization_e47b3b.csv":         -0.13844919792440225,
	"realAdExchange/exchange-2_cpc_results.csv":                -1,
	"realAdExchange/exchange-3_cpc_results.csv":                2.5026632611866138,
	"realAdExchange/exchange-4_cpc_results.csv":                0.2922884634276035,
	"realKnownCause/ambient_temperature_system_failure.csv":    -2,
	"realKnownCause/cpu_utilization_asg_misconfiguration.csv":  -1.11,
	"realKnownCause/ec2_request_latency_system_failure.csv":    -0.06591011872780705,
	"realTraffic/TravelTime_387.csv":                           -1.7959813307852819,
	"realTraffic/occupancy_6005.csv":                           -1,
	"realTraffic/speed_6005.csv":                               -1,
	"realTraffic/speed_t4013.csv":                              -2,
}
