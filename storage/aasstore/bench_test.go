package aasstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/internal/storetest"
)

func benchShell(i int) *aas.Shell {
	s := &aas.Shell{}
	s.ID, s.IDShort = fmt.Sprintf("https://example.org/ids/aas/%07d", i), fmt.Sprintf("PumpStation_%07d", i)
	s.AssetInformation = aas.AssetInformation{AssetKind: aas.Instance, GlobalAssetID: fmt.Sprintf("urn:example:asset:%d", i),
		SpecificAssetIDs: []aas.SpecificAssetID{{Name: "serialNumber", Value: fmt.Sprintf("SN-%d", i)}, {Name: "batch", Value: fmt.Sprintf("B-%d", i%100)}}}
	s.Submodels = []aas.Reference{aas.RefTo(fmt.Sprintf("https://example.org/ids/sm/%07d", i)), aas.RefTo(fmt.Sprintf("urn:other:%d", i))}
	return s
}

func benchSubmodel(i, elements int) *aas.Submodel {
	m := &aas.Submodel{}
	m.ID, m.IDShort = fmt.Sprintf("https://example.org/ids/sm/%07d", i), "Nameplate"
	m.SemanticID = aas.Global("https://admin-shell.io/zvei/nameplate/2/0/Nameplate")
	for n := range elements {
		value := fmt.Sprint(n)
		p := &aas.Property{ValueType: "xs:int", Value: &value}
		p.IDShort = fmt.Sprintf("Property%02d", n)
		p.SemanticID = aas.Global(fmt.Sprintf("0173-1#02-AAO%03d#002", n))
		m.Elements = append(m.Elements, p)
	}
	return m
}

func benchService(b *testing.B, db *storetest.DB) *repository.Service {
	b.Helper()
	s, err := repository.New(db.AAS(), repository.Options{Verification: repository.VerifyOff})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, s.Close(context.Background())) })
	return s
}

// fillAAS keeps shells, and a submodel with so many elements for each.
func fillAAS(b *testing.B, s *repository.Service, shells, elements int) {
	b.Helper()
	const part = 5000
	for first := 0; first < shells; first += part {
		var env aas.Environment
		for i := first; i < min(first+part, shells); i++ {
			env.Shells = append(env.Shells, benchShell(i))
			env.Submodels = append(env.Submodels, benchSubmodel(i, elements))
		}
		_, err := s.Import(b.Context(), &env, nil, repository.ImportOptions{})
		require.NoError(b, err)
	}
}

// BenchmarkAAS measures what the server does most, each beside the bare statement.
func BenchmarkAAS(b *testing.B) {
	for _, kind := range []string{"sqlite", "postgres"} {
		db, bare := storetest.Bench(b, kind)
		s, ctx := benchService(b, db), b.Context()
		fillAAS(b, s, 500, 50)
		mark := map[string]string{"sqlite": "?", "postgres": "$1"}[kind]
		b.Run(kind+"/get/store", func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				_, err := s.Shells.Document(ctx, fmt.Sprintf("https://example.org/ids/aas/%07d", i%500))
				require.NoError(b, err)
			}
		})
		b.Run(kind+"/get/bare", func(b *testing.B) {
			stmt, err := bare.Prepare("SELECT json FROM aas_documents WHERE kind = 1 AND id = " + mark)
			require.NoError(b, err)
			defer stmt.Close()
			for i := 0; b.Loop(); i++ {
				var text []byte
				require.NoError(b, stmt.QueryRow(fmt.Sprintf("https://example.org/ids/aas/%07d", i%500)).Scan(&text))
			}
		})
		b.Run(kind+"/get-submodel-50", func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				_, err := s.Submodels.Document(ctx, fmt.Sprintf("https://example.org/ids/sm/%07d", i%500))
				require.NoError(b, err)
			}
		})
		b.Run(kind+"/page-100", func(b *testing.B) {
			for b.Loop() {
				_, err := s.Shells.Find(ctx, repository.Query{Limit: 100, Count: true})
				require.NoError(b, err)
			}
		})
		b.Run(kind+"/set-value", func(b *testing.B) {
			at, err := aas.ParsePath("Property07")
			require.NoError(b, err)
			for i := 0; b.Loop(); i++ {
				_, err := s.SetValue(ctx, fmt.Sprintf("https://example.org/ids/sm/%07d", i%500), at, fmt.Appendf(nil, `"%d"`, i+100), repository.Match{})
				require.NoError(b, err)
			}
		})
		b.Run(kind+"/create/store", func(b *testing.B) {
			for i := 1_000_000; b.Loop(); i++ {
				_, err := s.Shells.Create(ctx, benchShell(i))
				require.NoError(b, err)
			}
		})
		b.Run(kind+"/create/bare", func(b *testing.B) { benchBareCreate(b, kind, bare) })
	}
}

// benchBareCreate inserts the rows of a shell, with nothing around it.
func benchBareCreate(b *testing.B, kind string, bare *sql.DB) {
	document, term := "INSERT INTO aas_documents (kind, id, id_short, id_short_lower, version, live, facts, json) VALUES (9,?,?,?,1,FALSE,?,?)",
		"INSERT INTO aas_terms (kind, name, value, id) VALUES (9,?,?,?)"
	if kind == "postgres" {
		document, term = "INSERT INTO aas_documents (kind, id, id_short, id_short_lower, version, live, facts, json) VALUES (9,$1,$2,$3,1,FALSE,$4,$5)",
			"INSERT INTO aas_terms (kind, name, value, id) VALUES (9,$1,$2,$3)"
	}
	for i := 0; b.Loop(); i++ {
		s := benchShell(i)
		tx, err := bare.Begin()
		require.NoError(b, err)
		_, err = tx.Exec(document, s.ID, s.IDShort, s.IDShort, make([]byte, 32), string(aas.Append(nil, s)))
		require.NoError(b, err)
		for n := range 6 {
			_, err = tx.Exec(term, "asset", fmt.Sprintf("serialNumber%d-%d", n, i), s.ID)
			require.NoError(b, err)
		}
		require.NoError(b, tx.Commit())
	}
}

// BenchmarkAASSearch measures searches over many shells, each with a nameplate.
func BenchmarkAASSearch(b *testing.B) {
	const shells = 100_000
	if testing.Short() {
		b.Skip("it fills a database")
	}
	for _, kind := range []string{"sqlite", "postgres"} {
		db, bare := storetest.Bench(b, kind)
		s, ctx := benchService(b, db), b.Context()
		fillAAS(b, s, shells, 1)
		changed := 0
		if kind == "postgres" {
			_, err := bare.Exec("VACUUM ANALYZE")
			require.NoError(b, err)
		}
		for _, q := range []struct {
			name  string
			query repository.Search
			total int
		}{
			{"part-rare", repository.Search{IDShort: "station_0099999", Limit: 20}, 1},
			{"part-common", repository.Search{IDShort: "STATION", Limit: 20}, shells},
			{"part-none", repository.Search{IDShort: "nothing", Limit: 20}, 0},
			{"asset", repository.Search{GlobalAssetID: "urn:example:asset:777", AssetKind: aas.Instance, Limit: 20}, 1},
			{"kind", repository.Search{AssetKind: aas.Instance, Limit: 20}, shells},
			{"type-common", repository.Search{SubmodelType: "Nameplate", Limit: 20}, shells},
			{"type-part", repository.Search{SubmodelType: "Nameplate", IDShort: "_00123", Limit: 20}, 100},
			{"kind-part", repository.Search{IDShort: "_00123", AssetKind: aas.Instance, Limit: 20}, 100},
			{"all", repository.Search{SubmodelType: "Nameplate", IDShort: "Pump", AssetKind: aas.Instance, Limit: 20}, shells},
		} {
			b.Run(kind+"/"+q.name, func(b *testing.B) {
				for b.Loop() {
					p, err := s.Search(ctx, q.query)
					require.NoError(b, err)
					require.Equal(b, q.total, p.Total)
				}
			})
			b.Run(kind+"/"+q.name+"/after-change", func(b *testing.B) { // totals have to be counted anew
				for b.Loop() {
					b.StopTimer()
					_, err := s.Shells.Update(ctx, benchShell(0).ID, repository.Match{}, func(v *aas.Shell) error {
						changed++
						v.AssetInformation.AssetType = fmt.Sprintf("urn:type:%d", changed)
						return nil
					})
					require.NoError(b, err)
					b.StartTimer()
					p, err := s.Search(ctx, q.query)
					require.NoError(b, err)
					require.Equal(b, q.total, p.Total)
				}
			})
		}
		benchShellPages(b, kind, s, shells)
	}
}

func benchShellPages(b *testing.B, kind string, s *repository.Service, shells int) {
	b.Helper()
	ctx := b.Context()
	for _, q := range []struct {
		name  string
		query repository.Query
	}{
		{"first", repository.Query{Limit: 100, Count: true}},
		{"after-end", repository.Query{Limit: 100, After: "https://example.org/ids/aas/0099800", Count: true}},
		{"offset-middle", repository.Query{Limit: 100, Offset: shells / 2, Count: true}},
		{"offset-end", repository.Query{Limit: 100, Offset: shells - 150, Count: true}},
	} {
		b.Run(kind+"/page/"+q.name, func(b *testing.B) {
			for b.Loop() {
				p, err := s.Shells.Find(ctx, q.query)
				require.NoError(b, err)
				require.Len(b, p.Documents, 100)
			}
		})
	}
}

// BenchmarkAASPages measures pages of a million submodels, beside the bare statement.
func BenchmarkAASPages(b *testing.B) {
	const many, part = 1_000_000, 10_000
	if testing.Short() {
		b.Skip("it fills a database")
	}
	for _, kind := range []string{"sqlite", "postgres"} {
		db, bare := storetest.Bench(b, kind)
		for first := 0; first < many; first += part {
			var batch repository.Batch
			for i := first; i < first+part; i++ {
				batch.Changes = append(batch.Changes, repository.Change{Document: repository.Document{Kind: repository.KindSubmodel,
					ID: fmt.Sprintf("urn:sm:%07d", i), IDShort: "Nameplate", JSON: []byte(`{"modelType":"Submodel","id":"urn:sm:0000000","idShort":"Nameplate"}`)}})
			}
			_, err := db.AAS().Write(b.Context(), batch)
			require.NoError(b, err)
		}
		if kind == "postgres" {
			_, err := bare.Exec("VACUUM ANALYZE")
			require.NoError(b, err)
		}
		for _, q := range []struct {
			name  string
			query repository.Query
		}{
			{"after-start", repository.Query{After: "urn:sm:0000100"}},
			{"after-end", repository.Query{After: "urn:sm:0999800"}},
			{"offset-start", repository.Query{Offset: 100}},
			{"offset-middle", repository.Query{Offset: many / 2}},
			{"offset-end", repository.Query{Offset: many - 200}},
		} {
			q.query.Kind, q.query.Limit, q.query.Count = repository.KindSubmodel, 100, true
			b.Run(kind+"/"+q.name, func(b *testing.B) {
				for b.Loop() {
					p, err := db.AAS().Find(b.Context(), q.query)
					require.NoError(b, err)
					require.Len(b, p.Documents, 100)
				}
			})
		}
		b.Run(kind+"/bare", func(b *testing.B) {
			for b.Loop() {
				rows, err := bare.Query("SELECT id, json FROM aas_documents WHERE kind = 2 AND id > 'urn:sm:0999800' ORDER BY id LIMIT 100")
				require.NoError(b, err)
				for rows.Next() {
					var id, text string
					require.NoError(b, rows.Scan(&id, &text))
				}
				require.NoError(b, rows.Err())
			}
		})
	}
}
