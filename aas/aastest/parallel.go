package aastest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
)

func testParallelCreates(t *testing.T, s *store) {
	const parallel, rounds = 12, 5
	stores := []repository.Store{s.Store, s.second()}
	for round := range rounds {
		id := fmt.Sprintf("id%d", round)
		var wg sync.WaitGroup
		var won atomic.Int32
		for n := range parallel {
			wg.Go(func() {
				_, err := stores[n%2].Write(t.Context(), changes(repository.Match{Absent: true}, shell(id, fmt.Sprint(n), "asset=same")))
				var mismatch *repository.MismatchError
				switch {
				case err == nil:
					won.Add(1)
				case !errors.As(err, &mismatch):
					t.Errorf("Write: %v", err)
				}
			})
		}
		wg.Wait()
		require.Equal(t, int32(1), won.Load(), "exactly one of %d parallel creates makes the document", parallel)
	}
	require.Len(t, s.found(t, repository.Query{Kind: repository.KindShell}), rounds)
}

// testParallelUpdates has writers read, change and write one document: each success is one version.
func testParallelUpdates(t *testing.T, s *store) {
	const parallel, each = 6, 8
	stores := []repository.Store{s.Store, s.second()}
	s.put(t, shell("a", "0"))
	var wg sync.WaitGroup
	for n := range parallel {
		wg.Go(func() {
			for done := 0; done < each; {
				list, err := stores[n%2].Get(t.Context(), repository.KindShell, "a")
				if err != nil {
					t.Errorf("Get: %v", err)
					return
				}
				var value int
				_, _ = fmt.Sscan(list[0].IDShort, &value)
				_, err = stores[n%2].Write(t.Context(), changes(repository.Match{Version: list[0].Version}, shell("a", fmt.Sprint(value+1), fmt.Sprintf("asset=%d", value+1))))
				var mismatch *repository.MismatchError
				switch {
				case err == nil:
					done++
				case !errors.As(err, &mismatch):
					t.Errorf("Write: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
	got := s.get(t, repository.KindShell, "a")[0]
	require.Equal(t, fmt.Sprint(parallel*each), got.IDShort, "no update is lost")
	require.EqualValues(t, parallel*each+1, got.Version)
	require.Equal(t, []string{"a"}, s.found(t, repository.Query{Kind: repository.KindShell, Terms: terms(fmt.Sprintf("asset=%d", parallel*each))}))
}

func testParallelCounts(t *testing.T, s *store) {
	const parallel, each = 8, 20
	stores := []repository.Store{s.Store, s.second()}
	var wg sync.WaitGroup
	for n := range parallel {
		wg.Go(func() {
			for i := range each {
				id := fmt.Sprintf("id%d-%d", n, i)
				if _, err := stores[n%2].Write(t.Context(), changes(repository.Match{Absent: true}, shell(id, "n", "assetKind=Instance"))); err != nil {
					t.Errorf("Write: %v", err)
				}
				if i%4 > 0 {
					continue
				}
				if _, err := stores[n%2].Write(t.Context(), repository.Batch{Changes: []repository.Change{{Document: repository.Document{Kind: repository.KindShell, ID: id}, Delete: true}}}); err != nil {
					t.Errorf("Write: %v", err)
				}
			}
		})
	}
	wg.Wait()
	require.Equal(t, parallel*each*3/4, s.find(t, repository.Query{Kind: repository.KindShell, Limit: 1, Count: true}).Total)
	require.Equal(t, parallel*each*3/4, s.find(t, repository.Query{Kind: repository.KindShell, Terms: terms("assetKind=Instance"), Limit: 1, Count: true}).Total)
}

func serve(t testing.TB, s repository.Store) *repository.Service {
	t.Helper()
	service, err := repository.New(s, repository.Options{Now: func() time.Time { return time.UnixMicro(1) }}) // versions begin at 1
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, service.Close(context.Background())) })
	return service
}

func path(t testing.TB, text string) aas.Path {
	t.Helper()
	p, err := aas.ParsePath(text)
	require.NoError(t, err)
	return p
}

// testServiceUpdates has many clients of two services write to different elements of one submodel.
func testServiceUpdates(t *testing.T, s *store) {
	const parallel, each = 8, 4
	services := []*repository.Service{serve(t, s.Store), serve(t, s.second())}
	ctx := t.Context()
	zero := "0"
	m := &aas.Submodel{}
	m.ID, m.IDShort = "urn:sm", "Data"
	for n := range parallel {
		p := &aas.Property{ValueType: "xs:int", Value: &zero}
		p.IDShort = fmt.Sprintf("p%d", n)
		m.Elements = append(m.Elements, p)
	}
	_, err := services[0].Submodels.Create(ctx, m)
	require.NoError(t, err)
	var wg sync.WaitGroup
	for n := range parallel {
		at := path(t, fmt.Sprintf("p%d", n))
		wg.Go(func() {
			for i := range each {
				if _, err := services[n%2].SetValue(ctx, m.ID, at, fmt.Appendf(nil, "%q", fmt.Sprint(i+1)), repository.Match{}); err != nil {
					t.Errorf("SetValue: %v", err)
				}
			}
			e := &aas.Capability{}
			e.IDShort = fmt.Sprintf("new%d", n)
			if _, err := services[(n+1)%2].InsertElement(ctx, m.ID, nil, e, repository.Match{}); err != nil {
				t.Errorf("InsertElement: %v", err)
			}
		})
	}
	wg.Wait()
	got, err := services[0].Submodels.Get(ctx, m.ID)
	require.NoError(t, err)
	require.Len(t, got.Elements, 2*parallel, "no element is lost")
	for n := range parallel {
		require.Equal(t, fmt.Sprint(each), *got.Elements[n].(*aas.Property).Value, "no value is lost")
	}
	d, err := services[1].Submodels.Document(ctx, m.ID)
	require.NoError(t, err)
	require.EqualValues(t, 1+parallel*(each+1), d.Version)
}

func testServiceFiles(t *testing.T, s *store) {
	service, ctx := serve(t, s.Store), t.Context()
	m := &aas.Submodel{}
	m.ID, m.IDShort = "urn:sm", "Docs"
	f := &aas.File{ContentType: "text/plain"}
	f.IDShort = "Manual"
	m.Elements = []aas.Element{f}
	_, err := service.Submodels.Create(ctx, m)
	require.NoError(t, err)
	names := func() []string {
		list, err := service.FileNames(ctx, repository.KindSubmodel, m.ID)
		require.NoError(t, err)
		return list
	}
	at := path(t, "Manual")
	require.NoError(t, service.PutFile(ctx, m.ID, at, "c:\\docs\\a.txt", "text/plain", []byte("one"), repository.Match{}))
	require.NoError(t, service.PutFile(ctx, m.ID, at, "b.txt", "text/plain", []byte("two"), repository.Match{}))
	require.Equal(t, []string{"/aasx/Manual/b.txt"}, names(), "the file before it is gone")
	got, err := service.GetFile(ctx, m.ID, at)
	require.NoError(t, err)
	require.Equal(t, "two", string(got.Data))
	_, created, err := service.Submodels.Put(ctx, m, repository.Match{})
	require.NoError(t, err)
	require.False(t, created)
	require.Empty(t, names(), "what nothing names any more is gone")
	_, err = service.GetFile(ctx, m.ID, at)
	require.ErrorIs(t, err, repository.ErrFileNotFound)
	require.NoError(t, service.PutFile(ctx, m.ID, at, "a.txt", "text/plain", []byte("one"), repository.Match{}))
	require.NoError(t, service.Submodels.Delete(ctx, m.ID, repository.Match{}))
	require.Empty(t, names())
}
