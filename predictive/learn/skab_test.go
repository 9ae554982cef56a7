package learn_test

import (
	"encoding/csv"
	"path/filepath"
	"sort"
	"strconv"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/otkit/otkit/predictive/learn"
)

// skabFile is a run of the Skoltech Anomaly Benchmark: a pump loop with 8 sensors.
type skabFile struct {
	name   string
	x      *mat.Dense
	labels []bool
}

// skabTraining is the number of first rows that a monitor is fitted on.
const skabTraining = 400

func loadSKAB(tb testing.TB) []skabFile {
	tb.Helper()
	paths, err := filepath.Glob(filepath.Join(dataDir(tb, "skab"), "*", "[0-9]*.csv.gz"))
	if err != nil {
		tb.Fatal(err)
	}
	sort.Strings(paths)
	files := make([]skabFile, 0, len(paths))
	for _, path := range paths {
		r := csv.NewReader(openData(tb, path))
		r.Comma = ';'
		rows, err := r.ReadAll()
		if err != nil {
			tb.Fatal(err)
		}
		rows = rows[1:]
		f := skabFile{name: filepath.Base(filepath.Dir(path)) + "/" + filepath.Base(path), x: mat.NewDense(len(rows), 8, nil)}
		for i, row := range rows {
			for j := range 8 {
				v, err := strconv.ParseFloat(row[j+1], 64)
				if err != nil {
					tb.Fatal(err)
				}
				f.x.Set(i, j, v)
			}
			f.labels = append(f.labels, row[9] == "1.0" || row[9] == "1")
		}
		files = append(files, f)
	}
	return files
}

// BenchmarkSKAB prints how well a [learn.Monitor] finds the faults of all files together. Default has the default limits, which follow
// from the first 400 rows of each file, without labels. Halves picks the limit with the best F1 on every second file for the others.
func BenchmarkSKAB(b *testing.B) {
	b.Run("Default", func(b *testing.B) {
		files := loadSKAB(b)
		var c learn.Confusion
		for b.Loop() {
			c = judgeSKAB(b, skabScores(b, files), files, 1)
		}
		reportSKAB(b, c)
	})
	b.Run("Halves", func(b *testing.B) {
		var halves [2][]skabFile
		for i, f := range loadSKAB(b) {
			halves[i%2] = append(halves[i%2], f)
		}
		var c learn.Confusion
		for b.Loop() {
			scores := [2][][]float64{skabScores(b, halves[0]), skabScores(b, halves[1])}
			c = learn.Confusion{}
			for i, half := range halves {
				best, limit := 0.0, 0.0
				for l := 0.1; l < 20; l *= 1.1 {
					if f1 := judgeSKAB(b, scores[1-i], halves[1-i], l).F1(); f1 > best {
						best, limit = f1, l
					}
				}
				c = addConfusion(c, judgeSKAB(b, scores[i], half, limit))
			}
		}
		reportSKAB(b, c)
	})
}

func reportSKAB(b *testing.B, c learn.Confusion) {
	b.ReportMetric(c.F1(), "F1")
	b.ReportMetric(100*c.FalseAlarmRate(), "%FAR")
	b.ReportMetric(100*(1-c.Recall()), "%MAR")
}

// judgeSKAB counts the decisions index >= limit on the rows after the training rows of all files.
func judgeSKAB(tb testing.TB, scores [][]float64, files []skabFile, limit float64) (all learn.Confusion) {
	tb.Helper()
	for i, f := range files {
		c, err := learn.ConfusionAt(limit, scores[i], f.labels[skabTraining:])
		if err != nil {
			tb.Fatal(err)
		}
		all = addConfusion(all, c)
	}
	return all
}

// skabScores returns the index of each row after the training rows, by file.
func skabScores(tb testing.TB, files []skabFile) [][]float64 {
	tb.Helper()
	scores := make([][]float64, len(files))
	for k, f := range files {
		rows, cols := f.x.Dims()
		m := fitPCA(tb, f.x.Slice(0, skabTraining, 0, cols), learn.PCAOptions{}).Monitor()
		for i := skabTraining; i < rows; i++ {
			s, err := m.Update(f.x.RawRowView(i))
			if err != nil {
				tb.Fatal(err)
			}
			scores[k] = append(scores[k], s.Index)
		}
	}
	return scores
}

func addConfusion(a, b learn.Confusion) learn.Confusion {
	a.TruePositives += b.TruePositives
	a.FalsePositives += b.FalsePositives
	a.TrueNegatives += b.TrueNegatives
	a.FalseNegatives += b.FalseNegatives
	return a
}
