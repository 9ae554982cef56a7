package aasx_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/aasx"
	"github.com/otkit/otkit/aas/aasxml"
	"github.com/otkit/otkit/internal/realtest"
)

func read(data []byte, l aasx.Limits) (*aasx.Package, error) {
	return aasx.Read(bytes.NewReader(data), int64(len(data)), l)
}

func write(t testing.TB, p *aasx.Package, format aasx.Format) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, aasx.Write(&b, p, aasx.Options{Format: format}))
	return b.Bytes()
}

func tree(t *testing.T, env *aas.Environment) any {
	t.Helper()
	var v any
	require.NoError(t, json.Unmarshal(aas.Append(nil, env), &v))
	return v
}

func templates(t testing.TB, extension string) []string {
	files, err := filepath.Glob(filepath.Join(realtest.Data(t, "idta"), "templates", "*"+extension))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

// same requires two packages to be equal, except for the order of their files.
func same(t *testing.T, want, got *aasx.Package) {
	t.Helper()
	require.Equal(t, tree(t, &want.Environment), tree(t, &got.Environment))
	require.ElementsMatch(t, want.Files, got.Files)
	require.Equal(t, want.Thumbnail, got.Thumbnail)
}

func TestPublishedPackagesAreKept(t *testing.T) {
	for _, file := range templates(t, ".aasx") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			p, err := read(data, aasx.Limits{})
			require.NoError(t, err)
			require.NotEmpty(t, p.Environment.Submodels)
			require.Equal(t, payload(t, data), contents(p))
			for _, format := range []aasx.Format{aasx.XML, aasx.JSON} {
				again, err := read(write(t, p, format), aasx.Limits{})
				require.NoError(t, err)
				same(t, p, again)
			}
		})
	}
}

// payload reads the files of a package with nothing but archive/zip.
func payload(t *testing.T, data []byte) map[string]string {
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	all := make(map[string]string)
	for _, f := range r.File {
		own := strings.HasSuffix(f.Name, "/") || strings.HasSuffix(f.Name, ".rels") || strings.HasSuffix(f.Name, ".aas.xml") || f.Name == "aasx/data.xml"
		if own || f.Name == "aasx/aasx-origin" || f.Name == "[Content_Types].xml" {
			continue
		}
		content, err := f.Open()
		require.NoError(t, err)
		text, err := io.ReadAll(content)
		require.NoError(t, err)
		all["/"+f.Name] = string(text)
	}
	return all
}

func contents(p *aasx.Package) map[string]string {
	all := make(map[string]string)
	for _, f := range p.Files {
		all[f.Name] = string(f.Data)
	}
	return all
}

func TestPublishedJSONIsKept(t *testing.T) {
	for _, file := range templates(t, ".json") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			env, err := aas.Decode[aas.Environment](data)
			require.NoError(t, err)
			for _, format := range []aasx.Format{aasx.XML, aasx.JSON} {
				p, err := read(write(t, &aasx.Package{Environment: *env}, format), aasx.Limits{})
				require.NoError(t, err)
				require.Equal(t, tree(t, env), tree(t, &p.Environment))
			}
		})
	}
}

func shell(id string) *aas.Shell {
	return &aas.Shell{
		Identifiable:     aas.Identifiable{ID: id},
		AssetInformation: aas.AssetInformation{AssetKind: aas.Instance, GlobalAssetID: "urn:asset"},
	}
}

func TestNamesAndTypesOfFilesAreKept(t *testing.T) {
	p := &aasx.Package{
		Environment: aas.Environment{Shells: []*aas.Shell{shell("urn:x")}},
		Files: []aasx.File{
			{Name: "/aasx/files/Betriebsanleitung für 100 %.pdf", ContentType: "application/pdf", Data: []byte("1")},
			{Name: "/aasx/files/100%25.pdf", ContentType: "text/plain; charset=utf-8", Data: []byte("2")},
			{Name: "/aasx/environment.aas.xml", ContentType: "application/xml", Data: []byte("<not-the-environment/>")},
			{Name: "/a+b&c;d#e?f", ContentType: "application/octet-stream", Data: []byte{}},
			{Name: "/写真.PNG", ContentType: "image/png", Data: []byte{0, 1, 2}},
		},
		Thumbnail: "/写真.PNG",
	}
	for _, format := range []aasx.Format{"", aasx.XML, aasx.JSON} {
		data := write(t, p, format)
		got, err := read(data, aasx.Limits{})
		require.NoError(t, err)
		same(t, p, got)
		require.Equal(t, data, write(t, p, format), "the same input gives the same bytes")
	}
	got, err := read(write(t, &aasx.Package{}, aasx.XML), aasx.Limits{})
	require.NoError(t, err)
	require.Equal(t, &aasx.Package{}, got)
}

func TestPackagesThatCannotBeAreNotWritten(t *testing.T) {
	named := func(names ...string) *aasx.Package {
		p := &aasx.Package{}
		for _, n := range names {
			p.Files = append(p.Files, aasx.File{Name: n})
		}
		return p
	}
	for _, c := range []struct {
		p       *aasx.Package
		message string
	}{
		{named("file"), `files[0].name has to begin with "/"`},
		{named("/ok", "/../file"), "files[1].name has an empty, . or .. segment"},
		{named("/a\\b"), "backslash"},
		{named("/a//b"), "segment"},
		{named("/C:/b"), "drive letter"},
		{named("/a\x00"), "control character"},
		{named("/a\xff"), "UTF-8"},
		{named("/"), "is empty"},
		{named("/a", "/A"), "files[1].name is a duplicate"},
		{named("/aasx/aasx-origin"), "origin"},
		{named("/_rels/x.rels"), "belongs to the package"},
		{named("/[Content_Types].xml"), "belongs to the package"},
		{&aasx.Package{Thumbnail: "/x"}, "thumbnail has to be the name"},
		{&aasx.Package{Environment: aas.Environment{Shells: []*aas.Shell{shell("\x01")}}}, "character"},
	} {
		var b bytes.Buffer
		err := aasx.Write(&b, c.p, aasx.Options{})
		require.ErrorIs(t, err, aas.ErrInvalidRequest)
		require.ErrorContains(t, err, c.message)
		require.Zero(t, b.Len())
	}
	require.ErrorContains(t, aasx.Write(io.Discard, &aasx.Package{}, aasx.Options{Format: "yaml"}), "Options.Format")
}

func TestLargeFilesAreRead(t *testing.T) {
	data := make([]byte, 8<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(data)
	p := &aasx.Package{Files: []aasx.File{{Name: "/a.bin", ContentType: "a/b", Data: data}}}
	got, err := read(write(t, p, aasx.XML), aasx.Limits{})
	require.NoError(t, err)
	require.True(t, bytes.Equal(data, got.Files[0].Data))
}

func TestWriteErrorIsGiven(t *testing.T) {
	p := &aasx.Package{Files: []aasx.File{{Name: "/a", Data: []byte("abcdefgh")}}}
	whole := len(write(t, p, aasx.XML))
	for n := 0; n < whole; n += 100 {
		require.ErrorIs(t, aasx.Write(&short{n}, p, aasx.Options{}), io.ErrShortWrite, fmt.Sprint(n))
	}
}

type short struct{ left int }

func (s *short) Write(p []byte) (int, error) {
	if s.left -= len(p); s.left < 0 {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}

func TestAPackageForOldReaders(t *testing.T) {
	p := &aasx.Package{Environment: aas.Environment{Submodels: []*aas.Submodel{{Identifiable: aas.Identifiable{ID: "urn:m"}}}}}
	for namespace, o := range map[string]aasx.Options{"https://admin-shell.io/aas/3/0": {V30: true}, "https://admin-shell.io/aas/3/1": {}} {
		var b bytes.Buffer
		require.NoError(t, aasx.Write(&b, p, o))
		z, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
		require.NoError(t, err)
		f, err := z.Open("aasx/environment.aas.xml")
		require.NoError(t, err)
		text, err := io.ReadAll(f)
		require.NoError(t, err)
		require.Contains(t, string(text), `xmlns="`+namespace+`"`)
	}
}

// Members that XML has no form for survive a package as well.
func TestWhatXMLHasNoFormForIsWrittenAsJSON(t *testing.T) {
	p := &aasx.Package{Environment: aas.Environment{Submodels: []*aas.Submodel{{Identifiable: aas.Identifiable{ID: "urn:a", Referable: aas.Referable{Unknown: `"vendor":1`}}}}}}
	var b bytes.Buffer
	require.NoError(t, aasx.Write(&b, p, aasx.Options{}))
	back, err := aasx.Read(bytes.NewReader(b.Bytes()), int64(b.Len()), aasx.Limits{})
	require.NoError(t, err)
	require.Equal(t, p.Environment, back.Environment)
	require.ErrorIs(t, aasx.Write(&b, p, aasx.Options{Format: aasx.XML}), aasxml.ErrNoForm)
}
