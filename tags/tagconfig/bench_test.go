package tagconfig

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/xuri/excelize/v2"

	"github.com/otkit/otkit/tags"
)

func many(n int) []Config {
	items := make([]Config, n)
	for i := range items {
		items[i] = full()
		items[i].TagID = fmt.Sprintf("plc.tag%06d", i)
	}
	return items
}

func BenchmarkBulk1000Into10000(b *testing.B) {
	s := open(b, modelPath(b))
	_, err := s.Bulk(b.Context(), many(10_000))
	require.NoError(b, err)
	items := many(1000)
	for b.Loop() {
		if _, err := s.Bulk(b.Context(), items); err != nil {
			b.Fatal(err)
		}
	}
}

// The baseline of a Bulk: the same bytes written and synced, and nothing else.
func BenchmarkBareWriteOf10000(b *testing.B) {
	data := modelText(b, 10_000)
	path := filepath.Join(b.TempDir(), "bare")
	for b.Loop() {
		f, err := os.Create(path + ".tmp")
		require.NoError(b, err)
		_, err = f.Write(data)
		require.NoError(b, err)
		require.NoError(b, f.Sync())
		require.NoError(b, f.Close())
		require.NoError(b, os.Rename(path+".tmp", path))
	}
}

func BenchmarkLoad10000(b *testing.B) {
	data := modelText(b, 10_000)
	for b.Loop() {
		if _, err := parseModel(data, 10_000); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkImport10000(b *testing.B) {
	for _, format := range []Format{CSV, XLSX, JSON} {
		data := export(b, format, many(10_000))
		b.Run(string(format), func(b *testing.B) {
			for b.Loop() {
				items, err := Import(bytes.NewReader(data), format)
				if err != nil || len(items) != 10_000 {
					b.Fatal(err)
				}
			}
		})
	}
}

// The baselines of the imports: the bare readers.
func BenchmarkBareRead10000(b *testing.B) {
	text := export(b, CSV, many(10_000))
	b.Run("csv", func(b *testing.B) {
		for b.Loop() {
			if _, err := csv.NewReader(bytes.NewReader(text[3:])).ReadAll(); err != nil {
				b.Fatal(err)
			}
		}
	})
	sheet := export(b, XLSX, many(10_000))
	b.Run("xlsx", func(b *testing.B) {
		for b.Loop() {
			f, err := excelize.OpenReader(bytes.NewReader(sheet))
			require.NoError(b, err)
			_, err = f.GetRows(sheetName)
			require.NoError(b, err)
			require.NoError(b, f.Close())
		}
	})
}

// modelText returns a model file of so many items.
func modelText(b *testing.B, n int) []byte {
	b.Helper()
	m := &model{index: map[string]int{}}
	for _, c := range many(n) {
		m.set(&entry{Config: c})
	}
	return encoded(b, m)
}

// One tag of 100,000 changes.
func BenchmarkBinder100000(b *testing.B) {
	binder, err := NewBinder(newEngine(), quiet())
	require.NoError(b, err)
	items := many(100_000)
	binder.Change(Edit{Put: items})
	one := items[5]
	var step float64
	for b.Loop() {
		step++
		one.Offset = tags.Ptr(step)
		binder.Change(Edit{Put: []Config{one}})
	}
}
