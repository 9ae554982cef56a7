package aastest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/otkit/otkit/aas/repository"
	"github.com/stretchr/testify/require"
)

func testEmpty(t *testing.T, s *store) {
	require.Empty(t, s.get(t, repository.KindShell, "a", "b"))
	require.Empty(t, s.get(t, repository.KindShell))
	require.Equal(t, repository.Page{}, s.find(t, repository.Query{Kind: repository.KindShell, Limit: 10, Count: true}))
	require.Equal(t, repository.Page{}, s.find(t, repository.Query{Kind: repository.KindShell, Limit: 10, Offset: 5000}))
	_, err := s.File(t.Context(), repository.FileKey{Kind: repository.KindShell, ID: "a", Name: "b"})
	require.ErrorIs(t, err, repository.ErrFileNotFound)
	names, err := s.FileNames(t.Context(), repository.KindShell, "a")
	require.NoError(t, err)
	require.Empty(t, names)
	versions, err := s.Write(t.Context(), repository.Batch{})
	require.NoError(t, err)
	require.Empty(t, versions)
	s.remove(t, repository.KindShell, "a") // is not there, and nobody has asked for it to be
}

func testRoundTrip(t *testing.T, s *store) {
	want := repository.Document{Kind: repository.KindSubmodel, ID: "urn:x", IDShort: "Nameplate", Live: true,
		Terms: []repository.Term{{Name: "type", Value: "nameplate"}}, JSON: []byte(`{"x":"ä\u0000\\"}`)}
	require.Equal(t, []uint64{1}, s.put(t, want))
	want.Version, want.Terms = 1, nil
	require.Equal(t, []repository.Document{want}, s.get(t, repository.KindSubmodel, "urn:x"))
	require.Equal(t, []repository.Document{want}, s.find(t, repository.Query{Kind: repository.KindSubmodel, Limit: 1}).Documents)
	want.JSON = nil
	require.Equal(t, []repository.Document{want}, s.find(t, repository.Query{Kind: repository.KindSubmodel, Limit: 1, WithoutJSON: true}).Documents)
}

func testVersions(t *testing.T, s *store) {
	for n := uint64(1); n <= 3; n++ {
		d := shell("a", fmt.Sprintf("name%d", n))
		d.Version = 77 // ignored
		require.Equal(t, []uint64{n}, s.put(t, d))
		require.Equal(t, n, s.get(t, repository.KindShell, "a")[0].Version)
	}
	s.remove(t, repository.KindShell, "a")
	require.Empty(t, s.get(t, repository.KindShell, "a"))
	require.Equal(t, []uint64{1}, s.put(t, shell("a", "again")))
	live := shell("a", "again")
	live.Live = true
	s.put(t, live)
	require.True(t, s.get(t, repository.KindShell, "a")[0].Live)
}

// testStarts has documents that begin with a version, on every way to write them.
func testStarts(t *testing.T, s *store) {
	const start = uint64(1_700_000_000_000_000)
	write := func(want uint64, c repository.Change) {
		t.Helper()
		versions, err := s.Write(t.Context(), repository.Batch{Changes: []repository.Change{c}})
		require.NoError(t, err)
		require.Equal(t, []uint64{want}, versions)
		if want > 0 {
			require.Equal(t, want, s.get(t, repository.KindShell, "a")[0].Version)
		}
	}
	write(start, repository.Change{Document: shell("a", "1"), Start: start, Match: repository.Match{Absent: true}})
	write(start+1, repository.Change{Document: shell("a", "1"), Start: start + 50, Match: repository.Match{Version: start}})
	write(start+2, repository.Change{Document: shell("a", "2"), Start: start + 50})
	write(0, repository.Change{Document: shell("a", ""), Start: start + 50, Delete: true})
	write(start+50, repository.Change{Document: shell("a", "1"), Start: start + 50})
	_, err := s.Write(t.Context(), repository.Batch{Changes: []repository.Change{{Document: shell("a", "2"), Match: repository.Match{Version: start + 2}, Start: start + 99}}})
	var mismatch *repository.MismatchError
	require.ErrorAs(t, err, &mismatch, "a version of the document that was there before")
	require.Equal(t, start+50, mismatch.Version)
}

func testMatches(t *testing.T, s *store) {
	s.put(t, shell("there", "x"))
	s.put(t, shell("there", "y"))
	for _, c := range []struct {
		id    string
		match repository.Match
		holds bool
	}{
		{"there", repository.Match{}, true}, {"there", repository.Match{Absent: true}, false}, {"there", repository.Match{Exists: true}, true},
		{"there", repository.Match{Version: 2}, true}, {"there", repository.Match{Version: 1}, false}, {"there", repository.Match{Version: 3}, false},
		{"there", repository.Match{Version: 2, Absent: true}, false}, {"there", repository.Match{Version: 2, Exists: true}, true},
		{"none", repository.Match{}, true}, {"none", repository.Match{Absent: true}, true}, {"none", repository.Match{Exists: true}, false},
		{"none", repository.Match{Version: 1}, false},
	} {
		for _, remove := range []bool{false, true} {
			s.remove(t, repository.KindShell, "none", "there")
			s.put(t, shell("there", "x"))
			s.put(t, shell("there", "y"))
			for _, name := range []string{"y", "z"} { // found by the same as before, and by something else
				_, err := s.Write(t.Context(), repository.Batch{Changes: []repository.Change{{Document: shell(c.id, name), Match: c.match, Delete: remove}}})
				what := fmt.Sprintf("%+v, delete %v, name %s", c, remove, name)
				if c.holds {
					require.NoError(t, err, what)
					break
				}
				var mismatch *repository.MismatchError
				require.ErrorAs(t, err, &mismatch, what)
				require.Zero(t, mismatch.Index, what)
				require.Equal(t, map[string]uint64{"there": 2}[c.id], mismatch.Version, what)
			}
			if !c.holds {
				require.Equal(t, "y", s.get(t, repository.KindShell, "there")[0].IDShort)
				require.Empty(t, s.get(t, repository.KindShell, "none"))
			}
		}
	}
}

func testAtomic(t *testing.T, s *store) {
	s.put(t, shell("a", "a", "asset=1"), shell("b", "b"))
	_, err := s.Write(t.Context(), repository.Batch{
		Changes: []repository.Change{
			{Document: shell("new", "n", "asset=1")},
			{Document: shell("a", "changed", "asset=2"), Match: repository.Match{Version: 1}},
			{Document: repository.Document{Kind: repository.KindShell, ID: "b"}, Delete: true},
			{Document: shell("c", "c"), Match: repository.Match{Exists: true}},
			{Document: shell("d", "d"), Match: repository.Match{Exists: true}},
		},
		Files: []repository.StoredFile{{Key: repository.FileKey{Kind: repository.KindShell, ID: "a", Name: "f"}}},
	})
	var mismatch *repository.MismatchError
	require.ErrorAs(t, err, &mismatch)
	require.Equal(t, repository.MismatchError{Index: 3}, *mismatch, "the first that does not hold")
	require.Equal(t, []string{"a", "b"}, s.found(t, repository.Query{Kind: repository.KindShell}))
	require.Equal(t, []string{"a"}, s.found(t, repository.Query{Kind: repository.KindShell, Terms: []repository.Term{{Name: "asset", Value: "1"}}}))
	names, err := s.FileNames(t.Context(), repository.KindShell, "a")
	require.NoError(t, err)
	require.Empty(t, names)
}

// AwkwardIDs are ids that stores and addresses get wrong.
func AwkwardIDs() []string {
	return []string{
		"urn:example:aas:1", "https://example.org/ids/sm/1145_8090?a=b&c=d#frag", "0173-1#02-AAO677#002", "100%", "a%20b", "a%2Fb",
		"a b", "a+b", "a,b;c", `quote " and '`, `back\slash`, "ümläut", "日本語", "😀 emoji 👩‍🏭", "a/../b", "...", "x/submodels",
		"'; DROP TABLE aas_documents; --", "a?b", "_", "%", "A", "a", "\u00e4", "a\u0308", "\ufffd", "ß", "SS",
		strings.Repeat("x", 2048), strings.Repeat("😀", 2048), strings.Repeat("x", 2047) + "y",
	}
}

func testAwkwardIDs(t *testing.T, s *store) {
	ids := append(AwkwardIDs(), "a\x01b", "a\x00b", "\x01\x01", "\x01\x02", "\x00", strings.Repeat("\x01", 1500)+"\x00") // more than a service lets through
	for i, id := range ids {
		d := shell(id, fmt.Sprintf("n%d", i), "asset=serial\x00"+id, "submodel="+id)
		_, err := s.Write(t.Context(), changes(repository.Match{Absent: true}, d))
		require.NoError(t, err, "%.100q", id)
		_, err = s.Write(t.Context(), repository.Batch{Files: []repository.StoredFile{{Key: repository.FileKey{Kind: repository.KindShell, ID: id, Name: id}, Data: []byte(id)}}})
		require.NoError(t, err, "%.100q", id)
	}
	for i, id := range ids {
		list := s.get(t, repository.KindShell, id)
		require.Len(t, list, 1, "%.100q", id)
		require.Equal(t, id, list[0].ID)
		require.Equal(t, fmt.Sprintf("n%d", i), list[0].IDShort, "%.100q", id)
		for _, term := range []repository.Term{{Name: "asset", Value: "serial\x00" + id}, {Name: "submodel", Value: id}} {
			require.Equal(t, []string{id}, idsOf(s.find(t, repository.Query{Kind: repository.KindShell, Limit: 9, Terms: []repository.Term{term}})))
		}
		f, err := s.File(t.Context(), repository.FileKey{Kind: repository.KindShell, ID: id, Name: id})
		require.NoError(t, err, "%.100q", id)
		require.Equal(t, id, string(f.Data))
		names, err := s.FileNames(t.Context(), repository.KindShell, id)
		require.NoError(t, err)
		require.Equal(t, []string{id}, names)
	}
	require.ElementsMatch(t, ids, s.paged(t, repository.Query{Kind: repository.KindShell, Limit: 4}), "paging misses nothing")
	s.remove(t, repository.KindShell, ids...)
	require.Empty(t, s.found(t, repository.Query{Kind: repository.KindShell}))
}

func testAwkwardTexts(t *testing.T, s *store) {
	text := "'\"\\%_😀\n\t ä"
	d := shell("a", text, "type="+text)
	d.JSON = []byte(`{"text":"'\"\\%_😀 ä"}`)
	s.put(t, d)
	got := s.get(t, repository.KindShell, "a")[0]
	require.Equal(t, text, got.IDShort)
	require.Equal(t, string(d.JSON), string(got.JSON))
	require.Equal(t, []string{"a"}, s.found(t, repository.Query{Kind: repository.KindShell, IDShort: text}))
	require.Equal(t, []string{"a"}, s.found(t, repository.Query{Kind: repository.KindShell, Contains: text}))
	require.Equal(t, []string{"a"}, s.found(t, repository.Query{Kind: repository.KindShell, Terms: []repository.Term{{Name: "type", Value: text}}}))
	require.Empty(t, s.found(t, repository.Query{Kind: repository.KindShell, Contains: "'\"\\%_x"}))
}

// testLongIDs has ids and terms as long as they may be, which differ only at their ends.
func testLongIDs(t *testing.T, s *store) {
	random := strings.Repeat("q8Wz-3kT/", 300)
	var want []string
	for i := range 5 {
		id := fmt.Sprintf("%s%d", random[:2040], i)
		want = append(want, id)
		s.put(t, shell(id, "n", "asset=globalAssetId\x00"+id))
	}
	got := s.paged(t, repository.Query{Kind: repository.KindShell, Limit: 2})
	slices.Sort(got)
	require.Equal(t, want, got)
	for _, id := range want {
		require.Equal(t, []string{id}, idsOf(s.find(t, repository.Query{Kind: repository.KindShell, Limit: 9, Terms: []repository.Term{{Name: "asset", Value: "globalAssetId\x00" + id}}})))
	}
}

func testKinds(t *testing.T, s *store) {
	for kind := repository.KindShell; kind <= repository.KindPackage; kind++ {
		s.put(t, document(kind, "same", fmt.Sprintf("kind%d", kind), repository.Term{Name: "asset", Value: "x"}))
	}
	s.remove(t, repository.KindConceptDescription, "same")
	for kind := repository.KindShell; kind <= repository.KindPackage; kind++ {
		want := []string{"same"}
		if kind == repository.KindConceptDescription {
			want = []string{}
		}
		require.Equal(t, want, s.found(t, repository.Query{Kind: kind}))
		require.Equal(t, want, s.found(t, repository.Query{Kind: kind, Terms: []repository.Term{{Name: "asset", Value: "x"}}}))
		require.Len(t, s.get(t, kind, "same"), len(want))
	}
}

func testBigBatch(t *testing.T, s *store) {
	const count = 3000
	var b repository.Batch
	for i := range count {
		d := document(repository.KindSubmodel, fmt.Sprintf("sm%05d", i), "n", repository.Term{Name: "type", Value: "big"})
		b.Changes = append(b.Changes, repository.Change{Document: d})
	}
	for round := uint64(1); round <= 2; round++ {
		versions, err := s.Write(t.Context(), b)
		require.NoError(t, err)
		require.Equal(t, slices.Repeat([]uint64{round}, count), versions)
		p := s.find(t, repository.Query{Kind: repository.KindSubmodel, Terms: []repository.Term{{Name: "type", Value: "big"}}, Limit: 2, Offset: count - 2, Count: true})
		require.Equal(t, []string{"sm02998", "sm02999"}, idsOf(p))
		require.Equal(t, count, p.Total)
	}
	for i := range b.Changes {
		b.Changes[i].Delete = true
	}
	_, err := s.Write(t.Context(), b)
	require.NoError(t, err)
	require.Empty(t, s.found(t, repository.Query{Kind: repository.KindSubmodel}))
}

func testFiles(t *testing.T, s *store) {
	ctx := t.Context()
	key := func(id, name string) repository.FileKey {
		return repository.FileKey{Kind: repository.KindSubmodel, ID: id, Name: name}
	}
	names := func(id string) []string {
		list, err := s.FileNames(ctx, repository.KindSubmodel, id)
		require.NoError(t, err)
		return list
	}
	a := document(repository.KindSubmodel, "a", "a")
	_, err := s.Write(ctx, repository.Batch{
		Changes: []repository.Change{{Document: a}},
		Files: []repository.StoredFile{
			{Key: key("a", "/z.pdf"), ContentType: "application/pdf", Data: []byte{0, 1, 255}},
			{Key: key("a", "/b"), ContentType: "text/plain"}, {Key: key("other", "/z.pdf"), Data: []byte("x")},
		},
	})
	require.NoError(t, err)
	require.Equal(t, []string{"/b", "/z.pdf"}, names("a"))
	f, err := s.File(ctx, key("a", "/z.pdf"))
	require.NoError(t, err)
	require.Equal(t, repository.StoredFile{Key: key("a", "/z.pdf"), ContentType: "application/pdf", Data: []byte{0, 1, 255}}, f)
	f, err = s.File(ctx, key("a", "/b"))
	require.NoError(t, err)
	require.Empty(t, f.Data)
	_, err = s.File(ctx, repository.FileKey{Kind: repository.KindShell, ID: "a", Name: "/b"})
	require.ErrorIs(t, err, repository.ErrFileNotFound)

	_, err = s.Write(ctx, repository.Batch{Remove: []repository.FileKey{key("a", "/b"), key("a", "none"), key("other", "")},
		Files: []repository.StoredFile{{Key: key("a", "/z.pdf"), ContentType: "x", Data: []byte("new")}, {Key: key("other", "/after"), Data: []byte("x")}}})
	require.NoError(t, err)
	require.Equal(t, []string{"/z.pdf"}, names("a"))
	require.Equal(t, []string{"/after"}, names("other"), "files are added after others are removed")
	f, err = s.File(ctx, key("a", "/z.pdf"))
	require.NoError(t, err)
	require.Equal(t, "new", string(f.Data))
	require.Equal(t, "x", f.ContentType)

	s.put(t, a)
	require.Equal(t, []string{"/z.pdf"}, names("a"), "a new version of the document keeps them")
	s.remove(t, repository.KindSubmodel, "a")
	require.Empty(t, names("a"))
}
