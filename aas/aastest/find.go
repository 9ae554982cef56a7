package aastest

import (
	"fmt"
	"testing"

	"github.com/otkit/otkit/aas/repository"
	"github.com/stretchr/testify/require"
)

func testGet(t *testing.T, s *store) {
	var all, want []string
	for i := range 20 {
		id := fmt.Sprintf("id%02d", 19-i)
		s.put(t, shell(id, id))
		all, want = append(all, id, "none"+id, id), append(want, id)
	}
	require.Equal(t, want, idsOf(repository.Page{Documents: s.get(t, repository.KindShell, all...)}), "in the order asked for, without repeats")
	require.Empty(t, s.get(t, repository.KindSubmodel, all...))
}

func testPaging(t *testing.T, s *store) {
	const count = 2500
	var b repository.Batch
	for i := range count {
		b.Changes = append(b.Changes, repository.Change{Document: shell(fmt.Sprintf("id%04d", (i*7)%count), "n")})
	}
	_, err := s.Write(t.Context(), b)
	require.NoError(t, err)
	for _, offset := range []int{0, 1, 999, 1000, 1001, 1250, 1300, 2390, 2400, 2401, 2499, 2500, 9999} {
		for _, head := range []bool{false, true} {
			q := repository.Query{Kind: repository.KindShell, Offset: offset, Limit: 100, Count: true, WithoutJSON: head}
			p := s.find(t, q)
			require.Equal(t, count, p.Total)
			require.Len(t, p.Documents, min(100, max(count-offset, 0)), "offset %d", offset)
			require.Equal(t, offset+100 < count, p.More, "offset %d", offset)
			for i, d := range p.Documents {
				require.Equal(t, fmt.Sprintf("id%04d", offset+i), d.ID)
			}
			q.Count = false
			again := s.find(t, q)
			require.Zero(t, again.Total, "it was not asked for")
			require.Equal(t, idsOf(p), idsOf(again))
			require.Equal(t, p.More, again.More)
		}
	}
	p := s.find(t, repository.Query{Kind: repository.KindShell, After: "id0100", Offset: 1200, Limit: 1})
	require.Equal(t, []string{"id1301"}, idsOf(p), "an offset counts from After")
	p = s.find(t, repository.Query{Kind: repository.KindShell, After: "id2490", Limit: 100, Count: true})
	require.Len(t, p.Documents, 9)
	require.Equal(t, count, p.Total, "a total is regardless of After")
	p = s.find(t, repository.Query{Kind: repository.KindShell, After: "id0000x", Limit: 1})
	require.Equal(t, []string{"id0001"}, idsOf(p), "After need not be there")
	require.Empty(t, s.find(t, repository.Query{Kind: repository.KindShell, After: "zz", Limit: 1}).Documents)
}

// testMaxBytes has pages that end for their bytes, in the order of ids and with nothing omitted.
func testMaxBytes(t *testing.T, s *store) {
	const count = 300
	var b repository.Batch
	var want []string
	for i := range count {
		d := shell(fmt.Sprintf("id%03d", i), "n", "asset=x")
		d.JSON = fmt.Appendf(nil, `{"x":%100d}`, i)
		b.Changes, want = append(b.Changes, repository.Change{Document: d}), append(want, d.ID)
	}
	_, err := s.Write(t.Context(), b)
	require.NoError(t, err)
	size := int64(len(b.Changes[0].Document.JSON))
	for _, q := range []repository.Query{{}, {Terms: terms("asset=x")}, {IDShort: "n"}, {Contains: "N", Offset: 1}, {Offset: 3}} {
		q.Kind, q.Limit = repository.KindShell, 200
		for bytes, n := range map[int64]int{1: 1, size: 1, size + 1: 2, 10 * size: 10, 150 * size: 150, 500 * size: 200} {
			q.MaxBytes = bytes
			p := s.find(t, q)
			require.Equal(t, want[q.Offset:q.Offset+n], idsOf(p), "%v", described(q))
			require.True(t, p.More, "%v", described(q))
		}
		q.MaxBytes, q.WithoutJSON = 1, true
		require.Len(t, s.find(t, q).Documents, 200, "without JSON there are no bytes")
		q.MaxBytes, q.WithoutJSON, q.Offset = 7*size, false, 0
		require.Equal(t, want, s.paged(t, q))
	}
	p := s.find(t, repository.Query{Kind: repository.KindShell, Limit: 5, MaxBytes: 1, After: "id298"})
	require.Equal(t, []string{"id299"}, idsOf(p))
	require.False(t, p.More, "there is nothing after the last one")
}

func terms(list ...string) []repository.Term { return shell("", "", list...).Terms }

func testFilters(t *testing.T, s *store) {
	s.put(t,
		shell("a", "Pump", "asset=serial\x001", "assetKind=Instance"),
		shell("b", "Pump", "asset=serial\x002", "assetKind=Instance", "asset=batch\x007"),
		shell("c", "Motor", "asset=serial\x001", "assetKind=Type"),
		shell("d", "pump", "asset=serial\x0011", "assetKind=Instance"),
		document(repository.KindSubmodel, "a", "Pump", terms("asset=serial\x001")...))
	for _, c := range []struct {
		query repository.Query
		want  []string
	}{
		{repository.Query{}, []string{"a", "b", "c", "d"}},
		{repository.Query{IDShort: "Pump"}, []string{"a", "b"}},
		{repository.Query{IDShort: "Pum"}, []string{}},
		{repository.Query{Terms: terms("asset=serial\x001")}, []string{"a", "c"}},
		{repository.Query{Terms: terms("asset=serial")}, []string{}},
		{repository.Query{Terms: terms("batch=serial\x001")}, []string{}},
		{repository.Query{Terms: terms("assetKind=Instance")}, []string{"a", "b", "d"}},
		{repository.Query{Terms: terms("assetKind=Instance", "asset=serial\x001")}, []string{"a"}},
		{repository.Query{Terms: terms("asset=serial\x002", "asset=batch\x007")}, []string{"b"}},
		{repository.Query{Terms: terms("asset=serial\x001", "asset=batch\x007")}, []string{}},
		{repository.Query{IDShort: "Pump", Terms: terms("asset=serial\x001")}, []string{"a"}},
		{repository.Query{Contains: "UM", Terms: terms("assetKind=Instance")}, []string{"a", "b", "d"}},
		{repository.Query{Contains: "um", IDShort: "pump", Terms: terms("assetKind=Instance", "asset=serial\x0011")}, []string{"d"}},
		{repository.Query{Contains: "ot", IDShort: "Pump"}, []string{}},
	} {
		c.query.Kind = repository.KindShell
		require.Equal(t, c.want, s.found(t, c.query), "%v", described(c.query))
		c.query.WithoutJSON = true
		require.Equal(t, c.want, s.found(t, c.query), "%v", described(c.query))
	}
}

func testContains(t *testing.T, s *store) {
	for i, name := range []string{"Pump_01", "PUMPE", "Änderung", "a%b", "a_b", "axb", `a\b`, "İstanbul", ""} {
		s.put(t, shell(fmt.Sprint(i), name))
	}
	for part, want := range map[string][]string{
		"pump": {"0", "1"}, "P_0": {"0"}, "_": {"0", "4"}, "%": {"3"}, `\`: {"6"}, "ÄND": {"2"}, "änd": {"2"}, "A": {"3", "4", "5", "6", "7"},
		"pumpen": {}, "İS": {"7"}, "": {"0", "1", "2", "3", "4", "5", "6", "7", "8"},
	} {
		require.Equal(t, want, s.found(t, repository.Query{Kind: repository.KindShell, Contains: part}), "%q", part)
	}
}

func testLinked(t *testing.T, s *store) {
	submodel := func(id string, terms ...repository.Term) repository.Document {
		return document(repository.KindSubmodel, id, id, terms...)
	}
	plate, other := repository.Term{Name: "type", Value: "nameplate"}, repository.Term{Name: "type", Value: "technicaldata"}
	s.put(t, shell("a", "a", "submodel=m1", "submodel=m2"), shell("b", "B", "submodel=m3", "assetKind=Type"), shell("c", "c", "submodel=none"),
		shell("d", "d", "other=m1"), shell("e", "e", "submodel=m4", "submodel=m1", "assetKind=Type"),
		submodel("m1", plate), submodel("m2", plate, other), submodel("m3", other), submodel("m4"))
	linked := func(q repository.Query, term repository.Term) repository.Query {
		q.Kind, q.Linked = repository.KindShell, &repository.Link{Name: "submodel", Kind: repository.KindSubmodel, Term: term}
		return q
	}
	require.Equal(t, []string{"a", "e"}, s.found(t, linked(repository.Query{}, plate)))
	require.Equal(t, []string{"a", "b"}, s.found(t, linked(repository.Query{}, other)))
	require.Equal(t, []string{"b"}, s.found(t, linked(repository.Query{Contains: "b"}, other)))
	require.Equal(t, []string{"b"}, s.found(t, linked(repository.Query{IDShort: "B"}, other)))
	require.Equal(t, []string{"e"}, s.found(t, linked(repository.Query{Terms: terms("assetKind=Type")}, plate)))
	require.Empty(t, s.found(t, linked(repository.Query{}, repository.Term{Name: "type", Value: "none"})))
	s.remove(t, repository.KindSubmodel, "m1")
	require.Equal(t, []string{"a"}, s.found(t, linked(repository.Query{}, plate)), "a link to nothing counts for nothing")

	var b repository.Batch // more than a store would look at from their side
	for i := range 1500 {
		id := fmt.Sprintf("x%04d", i)
		b.Changes = append(b.Changes, repository.Change{Document: submodel("sm"+id, repository.Term{Name: "type", Value: "many"})})
		if i%2 == 0 {
			b.Changes = append(b.Changes, repository.Change{Document: shell(id, "n", "submodel=sm"+id)})
		}
	}
	_, err := s.Write(t.Context(), b)
	require.NoError(t, err)
	p := s.find(t, func() repository.Query {
		q := linked(repository.Query{Offset: 700, Limit: 100, Count: true}, repository.Term{Name: "type", Value: "many"})
		return q
	}())
	require.Equal(t, 750, p.Total)
	require.Len(t, p.Documents, 50)
	require.Equal(t, "x1400", p.Documents[0].ID)
	q := linked(repository.Query{Contains: "N", Limit: 3, Count: true}, repository.Term{Name: "type", Value: "many"})
	require.Equal(t, 750, s.find(t, q).Total)
}

func testTermsFollow(t *testing.T, s *store) {
	find := func(value string) []string {
		return s.found(t, repository.Query{Kind: repository.KindShell, Terms: terms("asset=" + value)})
	}
	s.put(t, shell("a", "one", "asset=1", "asset=2"), shell("b", "b", "asset=2"))
	s.put(t, shell("a", "two", "asset=2", "asset=3"))
	require.Empty(t, find("1"))
	require.Equal(t, []string{"a", "b"}, find("2"))
	require.Equal(t, []string{"a"}, find("3"))
	require.Empty(t, s.found(t, repository.Query{Kind: repository.KindShell, IDShort: "one"}))
	require.Equal(t, []string{"a"}, s.found(t, repository.Query{Kind: repository.KindShell, Contains: "TWO"}))
	_, err := s.Write(t.Context(), changes(repository.Match{Version: 2}, shell("a", "two", "asset=4")))
	require.NoError(t, err)
	require.Empty(t, find("3"))
	require.Equal(t, []string{"a"}, find("4"))
	s.remove(t, repository.KindShell, "a")
	require.Empty(t, find("4"))
	require.Equal(t, []string{"b"}, find("2"))
	s.put(t, shell("a", "again"))
	require.Equal(t, []string{"b"}, find("2"), "a document that comes back has what it comes with")
}

func testCounts(t *testing.T, s *store) {
	total := func() int {
		return s.find(t, repository.Query{Kind: repository.KindShell, Limit: 1, Count: true}).Total
	}
	s.put(t, shell("a", "a"))
	s.put(t, shell("b", "b"), shell("c", "c"), document(repository.KindSubmodel, "a", "a"))
	require.Equal(t, 3, total())
	s.put(t, shell("a", "changed"))
	require.Equal(t, 3, total())
	_, err := s.Write(t.Context(), changes(repository.Match{Absent: true}, shell("a", "a")))
	require.Error(t, err)
	require.Equal(t, 3, total())
	s.remove(t, repository.KindShell, "a")
	s.remove(t, repository.KindShell, "a")
	require.Equal(t, 2, total())
	s.remove(t, repository.KindShell, "b", "c")
	require.Zero(t, total())
}
