//go:build unix

package tagspart

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/storetest"
	"github.com/otkit/otkit/storage/tagconfigstore"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/tagconfig"
)

func configured(n int) []tagconfig.Config {
	items := make([]tagconfig.Config, n)
	for i := range items {
		items[i] = tagconfig.Config{TagID: fmt.Sprintf("plant.area%02d.tag%06d", i%50, i), DriverID: "plc", DataType: tags.Float, Address: fmt.Sprintf("HR:%d", i),
			Unit: "bar", Description: fmt.Sprintf("Pressure of pump %d", i), MinValue: tags.Ptr(0), MaxValue: tags.Ptr(100)}
	}
	return items
}

// BenchmarkConfiguration changes one tag of 100,000, durably, beside a bare transaction that replaces the same row; exports and imports
// them; and opens the part with them.
func BenchmarkConfiguration(b *testing.B) {
	const count = 100_000
	for _, kind := range []string{"sqlite", "postgres"} {
		b.Run(kind, func(b *testing.B) {
			db, bare := storetest.Bench(b, kind)
			config, err := tagconfigstore.New(db.DB)
			require.NoError(b, err)
			open := func(path string) *Tags {
				part, err := New(b.Context(), Options{ModelPath: path, Config: config})
				require.NoError(b, err)
				return part
			}
			part := open("")
			defer func() { require.NoError(b, part.drain(b.Context())) }()
			items := configured(count)
			_, err = part.config.Bulk(b.Context(), items)
			require.NoError(b, err)
			cpu := func(b *testing.B, work func()) {
				b.Helper()
				start := processorTime(b)
				for b.Loop() {
					work()
				}
				b.ReportMetric(float64((processorTime(b)-start).Microseconds())/1000/float64(b.N), "cpu-ms/op")
			}
			one, step := items[5], 0.0
			b.Run("edit", func(b *testing.B) {
				cpu(b, func() {
					step++
					one.Offset = tags.Ptr(step)
					_, err := part.config.Apply(b.Context(), tagconfig.Edit{Put: []tagconfig.Config{one}, WriteBehind: true})
					require.NoError(b, err)
				})
			})
			_, err = bare.ExecContext(b.Context(), "CREATE TABLE bare (tag_id VARCHAR(200) PRIMARY KEY, item TEXT)")
			require.NoError(b, err)
			b.Run("bareEdit", func(b *testing.B) {
				cpu(b, func() {
					step++ // SQLite writes nothing where a row stays as it is
					one.Offset = tags.Ptr(step)
					text, err := one.MarshalJSON()
					require.NoError(b, err)
					_, err = bare.ExecContext(b.Context(), fmt.Sprintf("INSERT INTO bare VALUES ('%s', '%s') ON CONFLICT (tag_id) DO UPDATE SET item = excluded.item", one.TagID, text))
					require.NoError(b, err)
				})
			})
			for _, format := range []tagconfig.Format{tagconfig.CSV, tagconfig.XLSX, tagconfig.JSON} {
				var sheet bytes.Buffer
				b.Run("export-"+string(format), func(b *testing.B) {
					cpu(b, func() {
						sheet.Reset()
						require.NoError(b, tagconfig.Export(&sheet, format, part.config.All()))
					})
				})
				b.Run("import-"+string(format), func(b *testing.B) {
					cpu(b, func() {
						edit, err := tagconfig.Limits{}.ImportEdit(bytes.NewReader(sheet.Bytes()), format)
						require.NoError(b, err)
						step++
						for i := range edit.Put { // else nothing would change
							edit.Put[i].Offset = tags.Ptr(step)
						}
						_, err = part.config.Apply(b.Context(), edit)
						require.NoError(b, err)
					})
				})
			}
			path := filepath.Join(b.TempDir(), "model.json")
			require.NoError(b, open(path).drain(b.Context())) // writes the file
			b.Run("open", func(b *testing.B) {
				cpu(b, func() {
					part := open(path)
					require.Equal(b, count, part.config.Len())
					require.NoError(b, part.drain(b.Context()))
				})
			})
		})
	}
}
