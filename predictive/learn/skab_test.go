package learn_test

import (
	"context"
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

// BenchmarkSKAB prints how well a [learn.Monitor] with the default options finds the faults of all files together. Its limits
// follow from the first 400 rows, without labels.
func BenchmarkSKAB(b *testing.B) {
	files := loadSKAB(b)
	var all learn.Confusion
	for b.Loop() {
		all = learn.Confusion{}
		for _, f := range files {
			scores := skabScores(b, f)
			c, err := learn.ConfusionAt(1, scores, f.labels[skabTraining:])
			if err != nil {
				b.Fatal(err)
			}
			all = addConfusion(all, c)
		}
	}
	b.ReportMetric(all.F1(), "F1")
	b.ReportMetric(100*all.FalseAlarmRate(), "%FAR")
	b.ReportMetric(100*(1-all.Recall()), "%MAR")
}

// skabScores returns the index of each row after the training rows.
func skabScores(tb testing.TB, f skabFile) []float64 {
	tb.Helper()
	rows, cols := f.x.Dims()
	p, err := learn.FitPCA(context.Background(), f.x.Slice(0, skabTraining, 0, cols), learn.PCAOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	m := p.Monitor()
	var scores []float64
	for i := skabTraining; i < rows; i++ {
		s, err := m.Update(f.x.RawRowView(i))
		if err != nil {
			tb.Fatal(err)
		}
		scores = append(scores, s.Index)
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
