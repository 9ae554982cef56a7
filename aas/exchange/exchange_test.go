package exchange_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/aasx"
	"github.com/otkit/otkit/aas/exchange"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/internal/realtest"
)

func newService(t testing.TB) *repository.Service {
	t.Helper()
	return newServiceOver(t, repository.Options{Verification: repository.VerifyOff})
}

func newServiceOver(t testing.TB, o repository.Options) *repository.Service {
	t.Helper()
	s, err := repository.New(repository.NewMemory(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.Background())) })
	return s
}

// bring imports a package.
func bring(t testing.TB, s *repository.Service, p *aasx.Package, o repository.ImportOptions) repository.ImportReport {
	t.Helper()
	r, err := exchange.Import(t.Context(), s, p, o)
	require.NoError(t, err)
	return r
}

func gather(t testing.TB, s *repository.Service, sel exchange.Selection) *aasx.Package {
	t.Helper()
	p, err := exchange.Export(t.Context(), s, sel)
	require.NoError(t, err)
	return p
}

var everything = exchange.Selection{WithConcepts: true, WithFiles: true}

func read(t testing.TB, data []byte, f exchange.Format) *aasx.Package {
	t.Helper()
	p, err := exchange.Read(bytes.NewReader(data), int64(len(data)), f, aasx.Limits{})
	require.NoError(t, err)
	return p
}

// again writes a package and reads it.
func again(t testing.TB, p *aasx.Package, f exchange.Format) *aasx.Package {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, exchange.Write(&b, p, f))
	return read(t, b.Bytes(), f)
}

// text is the JSON form of an environment in the order of ids.
func text(e aas.Environment) string {
	e.Shells, e.Submodels, e.ConceptDescriptions = slices.Clone(e.Shells), slices.Clone(e.Submodels), slices.Clone(e.ConceptDescriptions)
	slices.SortFunc(e.Shells, func(a, b *aas.Shell) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(e.Submodels, func(a, b *aas.Submodel) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(e.ConceptDescriptions, func(a, b *aas.ConceptDescription) int { return cmp.Compare(a.ID, b.ID) })
	return string(aas.Append(nil, &e))
}

// formats by whether they carry files.
var formats = map[exchange.Format]bool{exchange.AASX: true, exchange.JSON: false, exchange.XML: false}

func TestPublishedFilesComeInAndGoOutWithoutLoss(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(realtest.Data(t, "idta"), "templates", "*"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			format, known := exchange.FormatOf(name)
			require.True(t, known)
			data, err := os.ReadFile(name)
			require.NoError(t, err)
			want := read(t, data, format)
			dropThumbnails(want)
			s := newServiceOver(t, repository.Options{Verification: repository.VerifyPermissive})
			report := bring(t, s, want, repository.ImportOptions{})
			require.Equal(t, len(want.Environment.Shells)+len(want.Environment.Submodels)+len(want.Environment.ConceptDescriptions), report.Created)

			out := gather(t, s, everything)
			require.Equal(t, text(want.Environment), text(out.Environment))
			require.Empty(t, report.Unused)
			require.ElementsMatch(t, want.Files, out.Files)
			for format, withFiles := range formats {
				got := again(t, out, format)
				require.Equal(t, text(want.Environment), text(got.Environment), "%s", format)
				if !withFiles {
					require.Empty(t, got.Files)
					continue
				}
				require.ElementsMatch(t, out.Files, got.Files)
				require.Equal(t, out.Thumbnail, got.Thumbnail)
				s := newService(t)
				bring(t, s, got, repository.ImportOptions{})
				require.Equal(t, report.Created, bring(t, s, got, repository.ImportOptions{Replace: true}).Replaced)
				last := gather(t, s, everything)
				require.Equal(t, text(want.Environment), text(last.Environment), "what is imported again is the same")
				require.ElementsMatch(t, out.Files, last.Files)
			}
		})
	}
}

// dropThumbnails omits the thumbnails that a package names and lacks, as an export does.
func dropThumbnails(p *aasx.Package) {
	names := make([]string, len(p.Files))
	for i, f := range p.Files {
		names[i] = f.Name
	}
	there := aas.NewFileNames(names)
	for _, s := range p.Environment.Shells {
		if thumbnail := s.AssetInformation.DefaultThumbnail; thumbnail != nil && !strings.HasPrefix(thumbnail.Path, "http") {
			if _, ok := there.Find(thumbnail.Path); !ok {
				s.AssetInformation.DefaultThumbnail = nil
			}
		}
	}
}

// ids of what a package has.
func ids(p *aasx.Package) []string {
	var list []string
	for _, v := range p.Environment.Shells {
		list = append(list, v.ID)
	}
	for _, v := range p.Environment.Submodels {
		list = append(list, v.ID)
	}
	for _, v := range p.Environment.ConceptDescriptions {
		list = append(list, v.ID)
	}
	return list
}

// plant has two shells, one of which refers to a submodel that is not there, and concepts.
func plant(t *testing.T) *repository.Service {
	s := newService(t)
	property := &aas.Property{ValueType: "xs:int"}
	property.IDShort, property.SemanticID = "Speed", aas.Global("urn:c:speed")
	property.Qualifiers = []aas.Qualifier{{Semantics: aas.Semantics{SemanticID: aas.Global("urn:c:qualifier")}, Type: "unit", ValueType: "xs:string"}}
	list := &aas.List{TypeValueListElement: aas.KindProperty, ValueTypeListElement: "xs:int", SemanticIDListElement: aas.Global("urn:c:entry")}
	list.IDShort = "Speeds"
	drive := submodel("urn:m:drive", property, list)
	drive.SupplementalSemanticIDs = []aas.Reference{*aas.Global("urn:c:drive"), *aas.Global("urn:c:elsewhere")}
	concept := func(id string) *aas.ConceptDescription {
		c := &aas.ConceptDescription{}
		c.ID = id
		return c
	}
	bring(t, s, &aasx.Package{
		Environment: aas.Environment{
			Shells: []*aas.Shell{shell("urn:s:1", "urn:m:drive", "urn:m:gone", "urn:m:doc"), shell("urn:s:2", "urn:m:doc")},
			Submodels: []*aas.Submodel{
				drive, submodel("urn:m:doc", fileElement("F", "/a.pdf")), submodel("urn:m:lone", fileElement("F", "/b.pdf")),
			},
			ConceptDescriptions: []*aas.ConceptDescription{concept("urn:c:speed"), concept("urn:c:drive"), concept("urn:c:entry"),
				concept("urn:c:qualifier"), concept("urn:c:unused")},
		},
		Files: []aasx.File{pdf("/a.pdf", "a"), pdf("/b.pdf", "bb")},
	}, repository.ImportOptions{})
	return s
}

func TestSelections(t *testing.T) {
	s := plant(t)
	for _, c := range []struct {
		name  string
		sel   exchange.Selection
		want  []string
		files int
	}{
		{"everything", everything, []string{"urn:s:1", "urn:s:2", "urn:m:doc", "urn:m:drive", "urn:m:lone",
			"urn:c:drive", "urn:c:entry", "urn:c:qualifier", "urn:c:speed", "urn:c:unused"}, 2},
		{"without concepts and files", exchange.Selection{}, []string{"urn:s:1", "urn:s:2", "urn:m:doc", "urn:m:drive", "urn:m:lone"}, 0},
		{"a shell alone", exchange.Selection{Shells: []string{"urn:s:1"}, WithFiles: true}, []string{"urn:s:1"}, 0},
		{"a shell with its submodels", exchange.Selection{Shells: []string{"urn:s:1"}, WithSubmodels: true, WithFiles: true, WithConcepts: true},
			[]string{"urn:s:1", "urn:m:drive", "urn:m:doc", "urn:c:drive", "urn:c:speed", "urn:c:qualifier", "urn:c:entry"}, 1},
		{"shells that share a submodel", exchange.Selection{Shells: []string{"urn:s:2", "urn:s:1", "urn:s:2"}, WithSubmodels: true},
			[]string{"urn:s:2", "urn:s:1", "urn:m:doc", "urn:m:drive"}, 0},
		{"a submodel", exchange.Selection{Submodels: []string{"urn:m:lone", "urn:m:lone"}, WithFiles: true}, []string{"urn:m:lone"}, 1},
		{"both", exchange.Selection{Shells: []string{"urn:s:2"}, Submodels: []string{"urn:m:doc"}, WithSubmodels: true}, []string{"urn:s:2", "urn:m:doc"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := gather(t, s, c.sel)
			require.Equal(t, c.want, ids(p))
			require.Len(t, p.Files, c.files)
		})
	}
	require.Empty(t, ids(gather(t, newService(t), everything)))
}

func TestWhatIsNotThereIsNamed(t *testing.T) {
	s := plant(t)
	_, err := exchange.Export(t.Context(), s, exchange.Selection{Shells: []string{"urn:s:1", "urn:s:9"}})
	require.ErrorIs(t, err, repository.ErrShellNotFound)
	require.ErrorContains(t, err, "shell not found")
	_, err = exchange.Export(t.Context(), s, exchange.Selection{Submodels: []string{"urn:m:gone"}})
	require.ErrorIs(t, err, repository.ErrSubmodelNotFound)
	_, err = exchange.Export(t.Context(), s, exchange.Selection{Submodels: []string{"\x00"}})
	require.ErrorIs(t, err, repository.ErrSubmodelNotFound)
}

func TestLimits(t *testing.T) {
	s := plant(t)
	for _, c := range []struct {
		sel     exchange.Selection
		message string
	}{
		{exchange.Selection{MaxDocuments: 4}, "more than 4 documents"},
		{exchange.Selection{Shells: []string{"urn:s:1"}, WithSubmodels: true, MaxDocuments: 2}, "more than 2 documents"},
		{exchange.Selection{MaxElements: 3}, "more than 3 elements"},
		{exchange.Selection{WithFiles: true, MaxFileBytes: 2}, "more than 2 bytes"},
		{exchange.Selection{MaxBytes: 500}, "documents have more than 500 bytes"},
		{exchange.Selection{Submodels: []string{"urn:m:drive"}, MaxBytes: 50}, "documents have more than 50 bytes"},
	} {
		_, err := exchange.Export(t.Context(), s, c.sel)
		require.ErrorIs(t, err, exchange.ErrSelectionTooLarge)
		require.ErrorContains(t, err, c.message)
	}
	require.Len(t, ids(gather(t, s, exchange.Selection{MaxDocuments: 5, MaxElements: 4, MaxFileBytes: 3, WithFiles: true})), 5)
	sel := exchange.Selection{Submodels: []string{"urn:m:drive"}, WithConcepts: true, MaxDocuments: 5}
	require.Len(t, ids(gather(t, s, sel)), 5, "a meaning that is described nowhere takes no room")
}

// What the engine exports it can import: limits are those of a document, however many there are.
func TestMoreElementsThanOneDocumentMayHave(t *testing.T) {
	s := newService(t)
	for _, id := range []string{"urn:m:1", "urn:m:2"} {
		list := make([]aas.Element, aas.MaxElements/2+1)
		for i := range list {
			c := &aas.Capability{}
			c.IDShort = "c" + strconv.Itoa(i)
			list[i] = c
		}
		_, err := s.Submodels.Create(t.Context(), submodel(id, list...))
		require.NoError(t, err)
	}
	_, err := exchange.Export(t.Context(), s, everything)
	require.ErrorIs(t, err, exchange.ErrSelectionTooLarge, "not without being asked")
	out := gather(t, s, exchange.Selection{MaxElements: 2 * aas.MaxElements})
	require.Equal(t, text(out.Environment), text(again(t, out, exchange.JSON).Environment))
}

func TestWhatIsNoSuchDocumentIsNotRead(t *testing.T) {
	for _, c := range []struct {
		text string
		f    exchange.Format
		word string
	}{
		{`{"submodels":[{"id":1}]}`, exchange.JSON, "submodels[0].id"},
		{`{"submodels":[`, exchange.JSON, ""},
		{``, exchange.JSON, ""},
		{`<environment/>`, exchange.XML, "namespace"},
		{`{}`, exchange.XML, ""},
		{`PK`, exchange.AASX, ""},
	} {
		_, err := exchange.Read(bytes.NewReader([]byte(c.text)), int64(len(c.text)), c.f, aasx.Limits{})
		require.ErrorIs(t, err, aas.ErrInvalidRequest, "%q", c.text)
		require.ErrorContains(t, err, c.word)
	}
	_, err := exchange.Read(bytes.NewReader(nil), 1<<40, exchange.JSON, aasx.Limits{})
	require.ErrorContains(t, err, "1099511627776 bytes")
	_, err = exchange.Read(bytes.NewReader(nil), 0, "yaml", aasx.Limits{})
	require.ErrorContains(t, err, `no format "yaml"`)
	require.ErrorContains(t, exchange.Write(&bytes.Buffer{}, &aasx.Package{}, "yaml"), `no format "yaml"`)
}

func TestAByteOrderMarkIsPassedOver(t *testing.T) {
	p := &aasx.Package{Environment: aas.Environment{Shells: []*aas.Shell{shell("urn:s")}}}
	for _, f := range []exchange.Format{exchange.JSON, exchange.XML} {
		var b bytes.Buffer
		b.WriteString("\ufeff")
		require.NoError(t, exchange.Write(&b, p, f))
		require.Equal(t, p, read(t, b.Bytes(), f))
	}
}

func TestFailuresOfTheDiskAreTold(t *testing.T) {
	broken := errors.New("the disk is gone")
	for f := range formats {
		_, err := exchange.Read(failing{broken}, 100, f, aasx.Limits{})
		require.ErrorIs(t, err, broken, "%s", f)
		require.ErrorIs(t, exchange.Write(failing{broken}, &aasx.Package{}, f), broken, "%s", f)
	}
}

type failing struct{ err error }

func (f failing) ReadAt([]byte, int64) (int, error) { return 0, f.err }
func (f failing) Write([]byte) (int, error)         { return 0, f.err }

func TestFormatsByTheNameOfAFile(t *testing.T) {
	for name, want := range map[string]exchange.Format{"a.aasx": exchange.AASX, "/x/B.JSON": exchange.JSON, "c.aas.xml": exchange.XML} {
		f, known := exchange.FormatOf(name)
		require.True(t, known, name)
		require.Equal(t, want, f)
	}
	for _, name := range []string{"", "aasx", "a.zip", ".aasx.bak", "xml/"} {
		_, known := exchange.FormatOf(name)
		require.False(t, known, name)
	}
}
