package learn_test

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"testing"
	"time"
)

// The Numenta Anomaly Benchmark: Lavin and Ahmad, "Evaluating Real-time
// Anomaly Detection Algorithms - the Numenta Anomaly Benchmark", ICMLA 2015.

type nabSeries struct {
	name    string
	times   []time.Time
	values  []float64
	windows [][2]int // first and last row of each labelled window
}

// nabProfile has the costs of a false and of a missed detection.
type nabProfile struct{ fp, fn float64 }

var (
	nabStandard = nabProfile{fp: 0.11, fn: 1}
	nabLowFP    = nabProfile{fp: 0.22, fn: 1}
	nabLowFN    = nabProfile{fp: 0.11, fn: 2}
)

func loadNAB(tb testing.TB) []nabSeries {
	tb.Helper()
	dir := dataDir(tb, "nab")
	text, err := os.ReadFile(filepath.Join(dir, "windows.json"))
	if err != nil {
		tb.Fatal(err)
	}
	var windows map[string][][2]string
	if err := json.Unmarshal(text, &windows); err != nil {
		tb.Fatal(err)
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*", "*.csv.gz"))
	if err != nil {
		tb.Fatal(err)
	}
	sort.Strings(paths)
	series := make([]nabSeries, 0, len(paths))
	for _, path := range paths {
		name := filepath.Base(filepath.Dir(path)) + "/" + filepath.Base(path[:len(path)-len(".gz")])
		s := nabSeries{name: name}
		rows, err := csv.NewReader(openData(tb, path)).ReadAll()
		if err != nil {
			tb.Fatal(err)
		}
		for _, row := range rows[1:] {
			s.times = append(s.times, nabTime(tb, row[0]))
			v, err := strconv.ParseFloat(row[1], 64)
			if err != nil {
				tb.Fatal(err)
			}
			s.values = append(s.values, v)
		}
		for _, w := range windows[name] {
			s.windows = append(s.windows, [2]int{s.row(tb, nabTime(tb, w[0])), s.row(tb, nabTime(tb, w[1]))})
		}
		series = append(series, s)
	}
	return series
}

func nabTime(tb testing.TB, text string) time.Time {
	tb.Helper()
	t, err := time.Parse("2006-01-02 15:04:05", text)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

func (s nabSeries) row(tb testing.TB, t time.Time) int {
	tb.Helper()
	for i := range s.times {
		if s.times[i].Equal(t) {
			return i
		}
	}
	tb.Fatalf("%s: no row at %s", s.name, t)
	return 0
}

// probation returns the number of first rows that are not scored.
func (s nabSeries) probation() int {
	return int(min(math.Floor(0.15*float64(len(s.values))), 750))
}

// score returns the score of detections, and the number of windows.
func (s nabSeries) score(detected []bool, p nabProfile) (score, windows float64) {
	probation := s.probation()
	last, width := -1, 0.0
	next := 0
	best := make([]float64, len(s.windows))
	for i := range best {
		best[i] = -p.fn
	}
	for i, hit := range detected {
		for next < len(s.windows) && i > s.windows[next][1] {
			last, width = s.windows[next][1], float64(s.windows[next][1]-s.windows[next][0]+1)
			next++
		}
		if !hit || i < probation {
			continue
		}
		if next < len(s.windows) && i >= s.windows[next][0] {
			w := s.windows[next]
			gain := nabSigmoid(-float64(w[1]-i+1)/float64(w[1]-w[0]+1)) / nabSigmoid(-1)
			best[next] = max(best[next], gain)
			continue
		}
		past := 3.0
		if last >= 0 {
			past = float64(i-last) / (width - 1)
		}
		score += p.fp * nabSigmoid(past)
	}
	for i, w := range s.windows {
		if w[1] >= probation {
			score += best[i]
			windows++
		}
	}
	return score, windows
}

// nabSigmoid returns the weight of a detection at a position relative to the
// end of a window: near 1 at its start, at -1; 0 at its end; -1 far behind it.
func nabSigmoid(position float64) float64 {
	if position >= 3 {
		return -1
	}
	return 2/(1+math.Exp(5*position)) - 1
}

// nabTotal returns the score of all series: 0 without detections, 100 for a
// detection in the first row of each window and no other.
func nabTotal(series []nabSeries, detected [][]bool, p nabProfile) float64 {
	var total, windows float64
	for i, s := range series {
		score, n := s.score(detected[i], p)
		total += score
		windows += n
	}
	return 100 * (total + p.fn*windows) / (windows + p.fn*windows)
}
