package exchange_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/aasx"
	"github.com/otkit/otkit/aas/exchange"
	"github.com/otkit/otkit/aas/repository"
)

func shell(id string, submodels ...string) *aas.Shell {
	s := &aas.Shell{AssetInformation: aas.AssetInformation{AssetKind: aas.Instance, GlobalAssetID: "urn:asset:" + id}}
	s.ID = id
	for _, m := range submodels {
		s.Submodels = append(s.Submodels, aas.RefTo(m))
	}
	return s
}

func submodel(id string, elements ...aas.Element) *aas.Submodel {
	m := &aas.Submodel{Elements: elements}
	m.ID, m.IDShort = id, "M"
	return m
}

func fileElement(idShort, name string) *aas.File {
	f := &aas.File{Value: &name, ContentType: "application/pdf"}
	f.IDShort = idShort
	return f
}

func pdf(name, content string) aasx.File {
	return aasx.File{Name: name, ContentType: "application/pdf", Data: []byte(content)}
}

// values returns what the file elements of a submodel have.
func values(p *aasx.Package, submodelID string) []string {
	var list []string
	for _, m := range p.Environment.Submodels {
		m.Walk(func(_ aas.Path, e aas.Element) bool {
			if f, ok := e.(*aas.File); ok && m.ID == submodelID {
				list = append(list, *f.Value)
			}
			return true
		})
	}
	return list
}

func TestFilesOfOneNameAreKeptApart(t *testing.T) {
	s := newService(t)
	const manual = "/aasx/files/manual.pdf"
	for _, m := range []struct{ id, name, content string }{
		{"urn:m:1", manual, "one"},
		{"urn:m:2", manual, "two"},
		{"urn:m:3", "/aasx/files/MANUAL.pdf", "three"}, // names of parts differ by more than case
		{"urn:m:4", manual, "one"},                     // the very same file
		{"urn:m:5", manual, "two"},
		{"urn:m:6", "/aasx/files/manual-2.pdf", "six"}, // the name that another one was given
	} {
		collection := &aas.Collection{Value: []aas.Element{fileElement("Inner", m.name), fileElement("Link", "https://example.com/manual.pdf")}}
		collection.IDShort = "Documents"
		bring(t, s, &aasx.Package{
			Environment: aas.Environment{Submodels: []*aas.Submodel{submodel(m.id, fileElement("Outer", m.name), collection)}},
			Files:       []aasx.File{pdf(m.name, m.content)},
		}, repository.ImportOptions{})
	}
	p := again(t, gather(t, s, everything), exchange.AASX)
	require.ElementsMatch(t, []aasx.File{
		pdf(manual, "one"), pdf("/aasx/files/manual-2.pdf", "two"), pdf("/aasx/files/MANUAL-3.pdf", "three"), pdf("/aasx/files/manual-2-2.pdf", "six"),
	}, p.Files)
	for id, name := range map[string]string{
		"urn:m:1": manual, "urn:m:2": "/aasx/files/manual-2.pdf", "urn:m:3": "/aasx/files/MANUAL-3.pdf",
		"urn:m:4": manual, "urn:m:5": "/aasx/files/manual-2.pdf", "urn:m:6": "/aasx/files/manual-2-2.pdf",
	} {
		require.Equal(t, []string{name, name, "https://example.com/manual.pdf"}, values(p, id), id)
	}

	stored, err := s.Submodels.Get(t.Context(), "urn:m:2")
	require.NoError(t, err)
	require.Equal(t, []string{manual, manual, "https://example.com/manual.pdf"},
		values(&aasx.Package{Environment: aas.Environment{Submodels: []*aas.Submodel{stored}}}, "urn:m:2"), "what is stored stays")

	target := newService(t)
	require.Equal(t, 6, bring(t, target, p, repository.ImportOptions{}).Files)
	for id, content := range map[string]string{"urn:m:1": "one", "urn:m:2": "two", "urn:m:3": "three", "urn:m:4": "one", "urn:m:5": "two", "urn:m:6": "six"} {
		f, err := target.GetFile(t.Context(), id, aas.Path{{IDShort: "Documents"}, {IDShort: "Inner"}})
		require.NoError(t, err)
		require.Equal(t, content, string(f.Data), id)
	}
}

func TestTheSameBytesOfAnotherTypeAreAnotherFile(t *testing.T) {
	s := newService(t)
	for id, contentType := range map[string]string{"urn:m:1": "text/plain", "urn:m:2": "text/csv"} {
		bring(t, s, &aasx.Package{
			Environment: aas.Environment{Submodels: []*aas.Submodel{submodel(id, fileElement("F", "/a"))}},
			Files:       []aasx.File{{Name: "/a", ContentType: contentType, Data: []byte("1;2")}},
		}, repository.ImportOptions{})
	}
	require.Equal(t, []aasx.File{
		{Name: "/a", ContentType: "text/plain", Data: []byte("1;2")}, {Name: "/a-2", ContentType: "text/csv", Data: []byte("1;2")},
	}, gather(t, s, everything).Files)
}

func TestThumbnailsFollow(t *testing.T) {
	s := newService(t)
	for _, id := range []string{"urn:s:1", "urn:s:2"} {
		_, err := s.Shells.Create(t.Context(), shell(id))
		require.NoError(t, err)
		require.NoError(t, s.PutThumbnail(t.Context(), id, "pump.png", "image/png", []byte(id), repository.Match{}))
	}
	_, err := s.Shells.Create(t.Context(), shell("urn:s:3"))
	require.NoError(t, err)
	p := again(t, gather(t, s, everything), exchange.AASX)
	require.Equal(t, "/aasx/thumbnail/pump.png", p.Thumbnail)
	require.Equal(t, "/aasx/thumbnail/pump-2.png", p.Environment.Shells[1].AssetInformation.DefaultThumbnail.Path)
	require.Equal(t, []byte("urn:s:2"), p.Files[slices.IndexFunc(p.Files, func(f aasx.File) bool { return f.Name == "/aasx/thumbnail/pump-2.png" })].Data)
}

func TestANameThatNoPackageCanHaveIsChanged(t *testing.T) {
	s := newService(t)
	for id, name := range map[string]string{
		"urn:m:1": "manual.pdf", "urn:m:2": `C:\docs\manual.pdf`, "urn:m:3": "/aasx/_rels/x.rels", "urn:m:4": "/aasx/aasx-origin",
		"urn:m:5": "/a//b", "urn:m:6": "..", "urn:m:7": "/fine",
	} {
		bring(t, s, &aasx.Package{
			Environment: aas.Environment{Submodels: []*aas.Submodel{submodel(id, fileElement("F", name))}}, Files: []aasx.File{pdf(name, id)},
		}, repository.ImportOptions{})
	}
	p := again(t, gather(t, s, everything), exchange.AASX)
	var names []string
	for _, f := range p.Files {
		names = append(names, f.Name)
		require.Equal(t, []string{f.Name}, values(p, string(f.Data)))
	}
	require.ElementsMatch(t, []string{"/aasx/files/manual.pdf", "/aasx/files/manual-2.pdf", "/aasx/files/x.rels",
		"/aasx/files/aasx-origin", "/aasx/files/b", "/aasx/files/file", "/fine"}, names)
}

func TestValuesThatNameTheirFileInOtherWords(t *testing.T) {
	for value, name := range map[string]string{
		"/aasx/files/a%20b.pdf": "/aasx/files/a b.pdf", "file:///aasx/files/a.pdf": "/aasx/files/a.pdf", "file:/aasx/files/a.pdf": "/aasx/files/a.pdf",
		"aasx/files/a.pdf": "/aasx/files/a.pdf", "/AASX/Files/A.PDF": "/aasx/files/a.pdf", "/aasx/files/50%.pdf": "/aasx/files/50%.pdf",
		"/aasx/files/%C3%9Cber%5B1%5D.pdf": "/aasx/files/Über[1].pdf",
	} {
		packed := again(t, &aasx.Package{
			Environment: aas.Environment{Submodels: []*aas.Submodel{submodel("urn:m", fileElement("F", value))}}, Files: []aasx.File{pdf(name, value)},
		}, exchange.AASX)
		s := newService(t)
		for _, replace := range []bool{false, true} {
			report := bring(t, s, packed, repository.ImportOptions{Replace: replace})
			require.Equal(t, 1, report.Files, value)
			require.Empty(t, report.Unused, value)
			f, err := s.GetFile(t.Context(), "urn:m", aas.Path{{IDShort: "F"}})
			require.NoError(t, err, value)
			require.Equal(t, value, string(f.Data))
			require.Equal(t, packed, again(t, gather(t, s, everything), exchange.AASX), "nothing is lost")
		}
	}
}

func TestAFileThatIsRemovedMeanwhileIsLeftOut(t *testing.T) {
	s, err := repository.New(forgetful{repository.NewMemory()}, repository.Options{})
	require.NoError(t, err)
	_, err = s.Submodels.Create(t.Context(), submodel("urn:m", fileElement("F", "/gone.pdf")))
	require.NoError(t, err)
	p := gather(t, s, everything)
	require.Empty(t, p.Files)
	require.Equal(t, []string{"/gone.pdf"}, values(p, "urn:m"))
}

// An export that runs beside an upload has what was there before or after it, and not some of both.
func TestAFileThatIsReplacedMeanwhileIsNamed(t *testing.T) {
	store := &replacing{Store: repository.NewMemory()}
	s, err := repository.New(store, repository.Options{})
	require.NoError(t, err)
	_, err = s.Shells.Create(t.Context(), shell("urn:s"))
	require.NoError(t, err)
	_, err = s.Submodels.Create(t.Context(), submodel("urn:m", fileElement("F", "https://example.com/a.pdf")))
	require.NoError(t, err)
	other, err := repository.New(store.Store, repository.Options{})
	require.NoError(t, err)
	upload := func(name string) {
		require.NoError(t, other.PutFile(t.Context(), "urn:m", aas.Path{{IDShort: "F"}}, name, "application/pdf", []byte(name), repository.Match{}))
		require.NoError(t, other.PutThumbnail(t.Context(), "urn:s", name, "image/png", []byte(name), repository.Match{}))
	}
	upload("1")
	for _, names := range [][]string{{"2"}, {"3", "4"}} {
		last := names[len(names)-1]
		for _, kind := range []repository.Kind{repository.KindShell, repository.KindSubmodel} {
			for _, name := range names {
				store.before = append(store.before, replacement{kind, func() { upload(name) }})
			}
			p := gather(t, s, everything)
			require.Empty(t, store.before)
			require.ElementsMatch(t, []aasx.File{pdf("/aasx/F/"+last, last), {Name: "/aasx/thumbnail/" + last, ContentType: "image/png", Data: []byte(last)}}, p.Files)
			require.Equal(t, []string{"/aasx/F/" + last}, values(p, "urn:m"))
			require.Equal(t, "/aasx/thumbnail/"+last, p.Thumbnail)
		}
	}
}

// replacing calls its functions one by one, each before the names of files of its kind are read.
type replacing struct {
	repository.Store
	before []replacement
}

type replacement struct {
	kind repository.Kind
	do   func()
}

func (r *replacing) FileNames(ctx context.Context, kind repository.Kind, id string) ([]string, error) {
	if len(r.before) > 0 && r.before[0].kind == kind {
		do := r.before[0].do
		r.before = r.before[1:]
		do()
	}
	return r.Store.FileNames(ctx, kind, id)
}

// forgetful names a file that is not there any more when it is asked for.
type forgetful struct{ repository.Store }

func (forgetful) FileNames(context.Context, repository.Kind, string) ([]string, error) {
	return []string{"/gone.pdf"}, nil
}
