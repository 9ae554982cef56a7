package predictive

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkCMAPSS prints how well the service predicts the engines of the C-MAPSS data set, an hour for each cycle: trainings with the
// model's own metrics, and the remaining lives of the official test engines, at most 125 cycles.
func BenchmarkCMAPSS(b *testing.B) {
	dir := os.Getenv("OTKIT_DATA")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "data")
	}
	if _, err := os.Stat(filepath.Join(dir, "cmapss")); err != nil {
		b.Skip("no data set cmapss: set OTKIT_DATA to the folder of the data sets")
	}
	for _, set := range []string{"FD001", "FD003"} {
		engines := loadEngines(b, filepath.Join(dir, "cmapss", "train_"+set+".txt.gz"), true)
		engines.now = epoch.AddDate(0, 3, 0)
		s := newService(b, engines, func(_ *Deps, o *Options) { o.MaxLife, o.MaxRows = 125*time.Hour, 50_000 })
		for _, modelType := range ModelTypes() {
			b.Run(set+"/"+string(modelType), func(b *testing.B) {
				for b.Loop() {
					_, err := s.Retrain(b.Context(), modelType)
					require.NoError(b, err)
				}
				m, err := s.Metrics(b.Context(), modelType, 0)
				require.NoError(b, err)
				_, data, err := s.deps.Registry.Get(b.Context(), modelType, 0)
				require.NoError(b, err)
				b.ReportMetric(float64(len(data)), "bytes")
				b.ReportMetric(m.F1Score, "F1")
				if m.AUC != nil {
					b.ReportMetric(*m.AUC, "AUC")
					b.ReportMetric(*m.ECE, "ECE")
				}
			})
		}
		b.Run(set+"/official", func(b *testing.B) { officialTest(b, s, dir, set) })
		half := loadEngines(b, filepath.Join(dir, "cmapss", "train_"+set+".txt.gz"), true)
		half.now = engines.now
		half.keepRunning(b)
		s = newService(b, half, func(_ *Deps, o *Options) { o.MaxLife, o.MaxRows = 125*time.Hour, 50_000 })
		_, err := s.Retrain(b.Context(), RULModel)
		require.NoError(b, err)
		b.Run(set+"/half of them run", func(b *testing.B) { officialTest(b, s, dir, set) })
	}
}

func officialTest(b *testing.B, s *Service, dir, set string) {
	engines := loadEngines(b, filepath.Join(dir, "cmapss", "test_"+set+".txt.gz"), false)
	truth, err := os.ReadFile(filepath.Join(dir, "cmapss", "RUL_"+set+".txt"))
	require.NoError(b, err)
	t := newService(b, engines, func(d *Deps, _ *Options) { d.Registry = s.deps.Registry })
	squares, covered, count := 0., 0., 0.
	for b.Loop() {
		squares, covered, count = 0, 0, 0
		for i, line := range strings.Fields(string(truth)) {
			actual, err := strconv.ParseFloat(line, 64)
			require.NoError(b, err)
			actual = min(actual, 125)
			id := fmt.Sprintf("engine%03d", i+1)
			last := engines.samples[id+".s1"]
			engines.now = last[len(last)-1].Time
			r, err := t.RUL(b.Context(), id, "Motor")
			require.NoError(b, err)
			off := r.PredictedFailureDate.Sub(r.PredictedAt).Hours() - actual
			squares += off * off
			if r.LowDays*24 <= actual && actual <= r.HighDays*24+1e-9 {
				covered++
			}
			count++
		}
	}
	b.ReportMetric(math.Sqrt(squares/count), "RMSE")
	b.ReportMetric(covered/count, "covered")
}

// loadEngines returns a plant of the engines of a file, with their failures if they ran until then.
func loadEngines(b *testing.B, path string, failed bool) *plant {
	b.Helper()
	file, err := os.Open(path)
	require.NoError(b, err)
	defer func() { _ = file.Close() }()
	z, err := gzip.NewReader(file)
	require.NoError(b, err)
	data, err := io.ReadAll(z)
	require.NoError(b, err)
	p := newPlant()
	lines := bufio.NewScanner(strings.NewReader(string(data)))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		unit, err := strconv.Atoi(fields[0])
		require.NoError(b, err)
		cycle, err := strconv.Atoi(fields[1])
		require.NoError(b, err)
		id := fmt.Sprintf("engine%03d", unit)
		if p.tags[id] == nil {
			p.addReplacement(b, id, "Motor", epoch)
		}
		for j, field := range fields[2:] {
			tag := Tag{ID: fmt.Sprintf("%s.s%d", id, j-2), Setting: j < 3}
			if tag.Setting {
				tag.ID = fmt.Sprintf("%s.setting%d", id, j+1)
			}
			if len(p.tags[id]) < len(fields)-2 {
				p.tags[id] = append(p.tags[id], tag)
			}
			value, err := strconv.ParseFloat(field, 64)
			require.NoError(b, err)
			p.samples[tag.ID] = append(p.samples[tag.ID], Sample{Time: epoch.Add(time.Duration(cycle) * time.Hour), Value: value})
		}
	}
	if failed {
		for id := range p.tags {
			list := p.samples[id+".s1"]
			end := list[len(list)-1].Time.Add(time.Second)
			require.NoError(b, p.AddFailures(b.Context(), []Failure{{ID: id, EquipmentID: id, Component: "Motor", Start: end}}))
		}
	}
	return p
}

// keepRunning lets every second engine run still, after a part of its life.
func (p *plant) keepRunning(b *testing.B) {
	b.Helper()
	for unit := 2; unit <= len(p.tags); unit += 2 {
		id := fmt.Sprintf("engine%03d", unit)
		require.NoError(b, p.DeleteFailure(b.Context(), id))
		require.NoError(b, p.DeleteReplacement(b.Context(), id+"-new"))
		var moved time.Duration
		for _, tag := range p.tags[id] {
			list := p.samples[tag.ID]
			list = list[:len(list)*(25+unit*37%70)/100]
			moved = p.now.Add(-time.Hour).Sub(list[len(list)-1].Time)
			for i := range list {
				list[i].Time = list[i].Time.Add(moved)
			}
			p.samples[tag.ID] = list
		}
		p.addReplacement(b, id, "Motor", epoch.Add(moved))
	}
}
