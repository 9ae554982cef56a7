package aastest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/otkit/otkit/aas/repository"
	"github.com/stretchr/testify/require"
)

// TestStore checks a store against the contract of repository.Store, alone and behind a repository.Service. open
// makes an empty store and closes it with t.Cleanup; it is called for each part of the suite. another
// opens the same store beside s, as a second process does; nil if only one process may have it open. reopen
// closes s and opens what it left on disk; nil if nothing survives.
func TestStore(t *testing.T, open func(testing.TB) (s repository.Store, another, reopen func() repository.Store)) {
	t.Helper()
	for _, part := range []struct {
		name string
		run  func(*testing.T, *store)
	}{
		{"Empty", testEmpty},
		{"RoundTrip", testRoundTrip},
		{"Versions", testVersions},
		{"Starts", testStarts},
		{"Matches", testMatches},
		{"Atomic", testAtomic},
		{"AwkwardIDs", testAwkwardIDs},
		{"AwkwardTexts", testAwkwardTexts},
		{"LongIDs", testLongIDs},
		{"Kinds", testKinds},
		{"Get", testGet},
		{"Paging", testPaging},
		{"MaxBytes", testMaxBytes},
		{"Filters", testFilters},
		{"Contains", testContains},
		{"Linked", testLinked},
		{"TermsFollow", testTermsFollow},
		{"Counts", testCounts},
		{"Files", testFiles},
		{"BigBatch", testBigBatch},
		{"CanceledContext", testCanceledContext},
		{"ParallelCreates", testParallelCreates},
		{"ParallelUpdates", testParallelUpdates},
		{"ParallelCounts", testParallelCounts},
		{"Elements", testElements},
		{"ElementsGrow", testElementsGrow},
		{"ElementsOnly", testElementsOnly},
		{"ElementsApartAndWhole", testElementsApartAndWhole},
		{"ServiceElements", testServiceElements},
		{"ServiceLastElement", testServiceLastElement},
		{"ServiceEntries", testServiceEntries},
		{"ServiceUpdates", testServiceUpdates},
		{"ServiceFiles", testServiceFiles},
		{"Reopen", testReopen},
		{"ReopenElements", testReopenElements},
	} {
		t.Run(part.name, func(t *testing.T) {
			s, another, reopen := open(t)
			part.run(t, &store{Store: s, another: another, reopen: reopen})
		})
	}
}

// store is a store under test.
type store struct {
	repository.Store
	another func() repository.Store
	reopen  func() repository.Store
}

// second returns the store as another process has it, or the same one.
func (s *store) second() repository.Store {
	if s.another == nil {
		return s.Store
	}
	return s.another()
}

func document(kind repository.Kind, id, idShort string, terms ...repository.Term) repository.Document {
	return repository.Document{Kind: kind, ID: id, IDShort: idShort, Terms: terms, JSON: fmt.Appendf(nil, `{"idShort":%q}`, idShort)}
}

// shell returns a document with terms given as name=value.
func shell(id, idShort string, terms ...string) repository.Document {
	d := document(repository.KindShell, id, idShort)
	for _, t := range terms {
		name, value, _ := strings.Cut(t, "=")
		d.Terms = append(d.Terms, repository.Term{Name: name, Value: value})
	}
	return d
}

func changes(m repository.Match, list ...repository.Document) repository.Batch {
	var b repository.Batch
	for _, d := range list {
		b.Changes = append(b.Changes, repository.Change{Document: d, Match: m})
	}
	return b
}

// put writes documents without conditions.
func (s *store) put(t testing.TB, list ...repository.Document) []uint64 {
	t.Helper()
	versions, err := s.Write(t.Context(), changes(repository.Match{}, list...))
	require.NoError(t, err, "Write of %d documents", len(list))
	require.Len(t, versions, len(list))
	return versions
}

func (s *store) remove(t testing.TB, kind repository.Kind, ids ...string) {
	t.Helper()
	var b repository.Batch
	for _, id := range ids {
		b.Changes = append(b.Changes, repository.Change{Document: repository.Document{Kind: kind, ID: id}, Delete: true})
	}
	versions, err := s.Write(t.Context(), b)
	require.NoError(t, err, "Write of %d deletions", len(ids))
	require.Equal(t, make([]uint64, len(ids)), versions, "versions of deleted documents")
}

func (s *store) get(t testing.TB, kind repository.Kind, ids ...string) []repository.Document {
	t.Helper()
	list, err := s.Get(t.Context(), kind, ids...)
	require.NoError(t, err, "Get of %q", ids)
	return list
}

// longID is from how many bytes on ids may be in another order than that of their bytes.
const longID = 1000

// find returns a page and checks what holds for every one.
func (s *store) find(t testing.TB, q repository.Query) repository.Page {
	t.Helper()
	p, err := s.Find(t.Context(), q)
	require.NoError(t, err, "Find of %v", described(q))
	require.LessOrEqual(t, len(p.Documents), q.Limit, "Find of %v", described(q))
	for i := range p.Documents {
		d := &p.Documents[i]
		require.Equal(t, q.Kind, d.Kind, "Find of %v", described(q))
		require.NotZero(t, d.Version, "Find of %v", described(q))
		require.Equal(t, q.WithoutJSON, d.JSON == nil, "JSON after Find of %v", described(q))
		require.Empty(t, d.Terms, "Terms are not set")
		if i > 0 && min(len(d.ID), len(p.Documents[i-1].ID)) <= longID {
			require.Less(t, p.Documents[i-1].ID, d.ID, "order of %v", described(q))
		}
	}
	return p
}

// found returns the ids of a query, and checks its total and that every way of paging agrees.
func (s *store) found(t testing.TB, q repository.Query) []string {
	t.Helper()
	q.Limit, q.Count = 1000, true
	p := s.find(t, q)
	ids := idsOf(p)
	require.Equal(t, len(ids), p.Total, "Total of %v", described(q))
	require.False(t, p.More, "More of %v", described(q))
	for _, limit := range []int{1, 2, 3} {
		q.Limit = limit
		require.Equal(t, ids, s.paged(t, q), "by After, limit %d: %v", limit, described(q))
		for offset := 0; offset <= len(ids)+1; offset += limit {
			q.Offset = offset
			p := s.find(t, q)
			require.Equal(t, ids[min(offset, len(ids)):min(offset+limit, len(ids))], idsOf(p), "offset %d, limit %d: %v", offset, limit, described(q))
			require.Equal(t, offset+limit < len(ids), p.More, "More at offset %d, limit %d: %v", offset, limit, described(q))
			require.Equal(t, len(ids), p.Total, "Total at offset %d: %v", offset, described(q))
		}
		q.Offset = 0
	}
	return ids
}

// paged returns the ids of a query read page by page.
func (s *store) paged(t testing.TB, q repository.Query) []string {
	t.Helper()
	ids := []string{}
	for {
		p := s.find(t, q)
		ids = append(ids, idsOf(p)...)
		if !p.More {
			return ids
		}
		require.NotEmpty(t, p.Documents, "More without documents: %v", described(q))
		q.After = p.Documents[len(p.Documents)-1].ID
	}
}

func idsOf(p repository.Page) []string {
	ids := []string{}
	for _, d := range p.Documents {
		ids = append(ids, d.ID)
	}
	return ids
}

func testCanceledContext(t *testing.T, s *store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Write(ctx, changes(repository.Match{}, shell("a", "a")))
	require.ErrorIs(t, err, context.Canceled)
	_, err = s.Get(ctx, repository.KindShell, "a")
	require.ErrorIs(t, err, context.Canceled)
	_, err = s.Find(ctx, repository.Query{Kind: repository.KindShell, Limit: 1})
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, s.get(t, repository.KindShell, "a"))
}
