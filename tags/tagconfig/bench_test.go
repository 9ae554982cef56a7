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
	m, _ := (&model{index: map[string]int{}}).upsert(many(10_000))
	data, err := m.encode()
	require.NoError(b, err)
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
	m, _ := (&model{index: map[string]int{}}).upsert(many(10_000))
	data, err := m.encode()
	require.NoError(b, err)
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

func BenchmarkBinder100000(b *testing.B) {
	e := newEngine()
	binder, err := NewBinder(e, quiet())
	require.NoError(b, err)
	items := many(100_000)
	binder.SetConfig(items)
	var step float64
	for b.Loop() {
		step++
		items[5].Offset = &step
		binder.SetConfig(items)
	}
}
