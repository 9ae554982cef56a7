package server_test

import (
	"io"
	"net/http"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/engine"
	"github.com/otkit/otkit/internal/storetest"
	"github.com/otkit/otkit/storage"
)

// BenchmarkRESTShells times requests for shells through the whole server, client included, with 10,000
// shells in memory and in a database.
func BenchmarkRESTShells(b *testing.B) {
	b.Run("memory", func(b *testing.B) { benchmarkShells(b, repository.NewMemory()) })
	b.Run("sqlite", func(b *testing.B) {
		db := storetest.OpenSQLite(b, b.TempDir(), storage.Options{})
		benchmarkShells(b, db.AAS())
	})
}

func benchmarkShells(b *testing.B, store repository.Store) {
	p := start(b, func(o *engine.Options) { o.AAS.Store = store })
	fillShells(b, p)
	p.client = &http.Client{} // the judge would be timed
	token := p.token(accounts.Admin)

	made := 0
	for name, c := range map[string]struct {
		method, path string
		body         func() any
	}{
		"GetShell":     {http.MethodGet, shells + "/urn:shell:105000", nil},
		"List100First": {http.MethodGet, shells + "?pageSize=100", nil},
		"List100Last":  {http.MethodGet, shells + "?pageSize=100&page=100", nil},
		"GetSubmodel":  {http.MethodGet, submodels + "/m", nil},
		"Search":       {http.MethodGet, registry + "/search?idShort=5000", nil},
		"PutValue":     {http.MethodPut, submodels + "/m/submodel-elements/p7/value", func() any { return strconv.Itoa(made) }},
		"PostShell":    {http.MethodPost, shells, func() any { return shellBody("urn:new:"+strconv.Itoa(made), "New", "urn:m") }},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				made++
				var body any
				if c.body != nil {
					body = c.body()
				}
				r := p.request(b.Context(), nobody, c.method, c.path, body)
				r.Header.Set("Authorization", "Bearer "+token)
				resp, err := p.client.Do(r)
				require.NoError(b, err)
				_, err = io.Copy(io.Discard, resp.Body)
				require.NoError(b, err)
				require.NoError(b, resp.Body.Close())
				require.Less(b, resp.StatusCode, 300)
			}
		})
	}
	p.client.CloseIdleConnections()
}

// fillShells makes 10,000 shells, and a submodel of 50 properties.
func fillShells(b *testing.B, p *platform) {
	b.Helper()
	var env aas.Environment
	for i := range 10_000 {
		n := strconv.Itoa(100_000 + i)
		s := &aas.Shell{AssetInformation: aas.AssetInformation{AssetKind: aas.Instance, GlobalAssetID: "urn:asset:" + n,
			SpecificAssetIDs: []aas.SpecificAssetID{{Name: "serial", Value: n}, {Name: "batch", Value: "b" + n}}},
			Submodels: []aas.Reference{aas.RefTo("urn:submodel:" + n), aas.RefTo("urn:submodel:other:" + n)}}
		s.ID, s.IDShort = "urn:shell:"+n, "Shell"+n
		env.Shells = append(env.Shells, s)
	}
	_, err := p.AAS().Import(b.Context(), &env, nil, repository.ImportOptions{})
	require.NoError(b, err)
	var elements []any
	for i := range 50 {
		elements = append(elements, property("p"+strconv.Itoa(i), "xs:int", strconv.Itoa(i)))
	}
	p.create(submodels, submodelBody("m", "M", elements...))
}
