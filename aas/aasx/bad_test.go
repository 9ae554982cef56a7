package aasx_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/aasx"
	"github.com/otkit/otkit/fault"
)

const relationships = `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">`

// entry is a part of an archive as a hostile or careless program makes it.
type entry struct{ name, text string }

func relation(source, kind, target string) entry {
	return entry{source, relationships + fmt.Sprintf(`<Relationship Id="r1" Type="%s" Target="%s"/></Relationships>`, kind, target)}
}

var (
	toOrigin = relation("_rels/.rels", "http://admin-shell.io/aasx/relationships/aasx-origin", "/aasx/aasx-origin")
	toSpec   = relation("aasx/_rels/aasx-origin.rels", "http://www.admin-shell.io/aasx/relationships/aas-spec", "/aasx/data.json")
	origin   = entry{"aasx/aasx-origin", ""}
	spec     = entry{"aasx/data.json", "\ufeff{}"}
	right    = []entry{toOrigin, toSpec, origin, spec}
)

func archive(t testing.TB, entries ...entry) []byte { return archiveBy(t, zip.Deflate, entries...) }

func archiveBy(t testing.TB, method uint16, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		f, err := w.CreateHeader(&zip.FileHeader{Name: e.name, Method: method, NonUTF8: true})
		require.NoError(t, err)
		if e.text != "" {
			_, err = f.Write([]byte(e.text))
			require.NoError(t, err)
		}
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

func with(more ...entry) []entry { return append(append([]entry(nil), right...), more...) }

func TestPackagesOfOthersAreRead(t *testing.T) {
	p, err := read(archive(t, with(entry{"aasx/files/", ""}, entry{"docs/a%20b.txt", "x"}, entry{"docs/50%.txt", "y"})...), aasx.Limits{})
	require.NoError(t, err)
	require.Equal(t, []aasx.File{
		{Name: "/docs/a b.txt", ContentType: "application/octet-stream", Data: []byte("x")},
		{Name: "/docs/50%.txt", ContentType: "application/octet-stream", Data: []byte("y")},
	}, p.Files)
}

func TestSeveralEnvironmentsBecomeOne(t *testing.T) {
	const one = `{"submodels":[{"modelType":"Submodel","id":"urn:one"}]}`
	const both = `<environment xmlns="https://admin-shell.io/aas/3/0"><submodels><submodel><id>urn:one</id></submodel>` +
		`<submodel><id>urn:two</id></submodel></submodels></environment>`
	specs := entry{"aasx/_rels/aasx-origin.rels", relationships +
		`<Relationship Id="r1" Type="http://admin-shell.io/aasx/relationships/aas-spec" Target="/aasx/data.json"/>` +
		`<Relationship Id="r2" Type="http://admin-shell.io/aasx/relationships/aas-spec" Target="/aasx/data.json"/>` +
		`<Relationship Id="r3" Type="http://admin-shell.io/aasx/relationships/aas-spec" Target="data.xml"/></Relationships>`}
	p, err := read(archive(t, toOrigin, specs, origin, entry{"aasx/data.xml", both}, entry{"aasx/data.json", one}), aasx.Limits{})
	require.NoError(t, err)
	require.Len(t, p.Environment.Submodels, 2)
	require.Equal(t, "urn:one", p.Environment.Submodels[0].ID)
	require.Equal(t, "urn:two", p.Environment.Submodels[1].ID)

	other := strings.Replace(both, "<id>urn:one", "<idShort>other</idShort><id>urn:one", 1)
	_, err = read(archive(t, toOrigin, specs, origin, entry{"aasx/data.xml", other}, entry{"aasx/data.json", one}), aasx.Limits{})
	require.ErrorIs(t, err, aas.ErrInvalidRequest)
	require.ErrorContains(t, err, `has "urn:one" twice, and part "aasx/data.xml"`)
}

func TestBadPackagesAreRefused(t *testing.T) {
	named := func(name string) []byte { return archive(t, with(entry{name, "x"})...) }
	whole := archive(t, right...)
	for _, c := range []struct {
		name    string
		data    []byte
		message string
	}{
		{"empty", nil, "is no ZIP archive"},
		{"no ZIP", []byte("<environment/>"), "is no ZIP archive"},
		{"cut off", whole[:len(whole)-5], "is no ZIP archive, or is cut off"},
		{"parent", named("../../etc/passwd"), ". or .. segment"},
		{"parent within", named("aasx/../../x"), ". or .. segment"},
		{"parent, encoded", named("aasx/%2e%2e/x"), ". or .. segment"},
		{"current", named("aasx/./x"), ". or .. segment"},
		{"folder above", archive(t, with(entry{"../", ""})...), ". or .. segment"},
		{"absolute", named("/etc/passwd"), "is absolute"},
		{"drive", named("C:/x"), "drive letter"},
		{"backslash", named(`aasx\x`), "backslash"},
		{"backslash, encoded", named("aasx%5c..%5cx"), "backslash"},
		{"zero byte", named("a\x00b"), "control character"},
		{"no UTF-8", named("a\xff"), "UTF-8"},
		{"twice", archive(t, with(entry{"a", ""}, entry{"A", ""})...), "two parts with the name"},
		{"twice, encoded", archive(t, with(entry{"a b", ""}, entry{"a%20b", ""})...), "two parts with the name"},
		{"no relationships", archive(t, origin, spec), "no relationship to an AASX origin"},
		{"no environment", archive(t, toOrigin, origin, spec), "has no environment"},
		{"dangling environment", archive(t, toOrigin, toSpec, origin), "has no environment"},
		{"broken relationships", archive(t, entry{"_rels/.rels", "<Relationships"}, toSpec, origin, spec), "relationships of the AASX package"},
		{"broken JSON", archive(t, toOrigin, toSpec, origin, entry{spec.name, "{"}), "/aasx/data.json"},
		{"broken XML", archive(t, toOrigin, toSpec, origin, entry{spec.name, "<environment"}), "/aasx/data.json"},
		{"reserved place", named("_rels/x.txt"), "cannot be read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := read(c.data, aasx.Limits{})
			require.ErrorIs(t, err, aas.ErrInvalidRequest)
			require.ErrorContains(t, err, c.message)
		})
	}
}

func TestEveryCutIsRefused(t *testing.T) {
	whole := archive(t, right...)
	for n := 0; n < len(whole); n += 3 {
		_, err := read(whole[:n], aasx.Limits{})
		require.ErrorIs(t, err, aas.ErrInvalidRequest)
	}
}

func TestBombsAreRefused(t *testing.T) {
	zeros := strings.Repeat("\x00", 4<<20)
	var many []entry
	for i := range 100 {
		many = append(many, entry{fmt.Sprintf("files/%d", i), ""})
	}
	big := entry{"_rels/x.rels", relationships + strings.Repeat(" ", 17<<20) + "</Relationships>"}
	for _, c := range []struct {
		name    string
		entries []entry
		limits  aasx.Limits
		message string
	}{
		{"ratio", []entry{{"zeros", zeros}}, aasx.Limits{}, `part "zeros" expands to more than 200 times`},
		{"part", []entry{{"zeros", zeros}}, aasx.Limits{MaxRatio: 2000, MaxPartBytes: 1 << 20}, `part "zeros" expands to more than 1048576 bytes`},
		{"total", []entry{{"a", zeros}, {"b", zeros}}, aasx.Limits{MaxRatio: 2000, MaxTotalBytes: 5 << 20}, "expand to more than 5242880 bytes"},
		{"parts", many, aasx.Limits{MaxParts: 103}, "more than 103 parts"},
		{"relationships", []entry{big}, aasx.Limits{MaxRatio: 2000}, "content types and relationships"},
		{"file", []entry{{"zeros", zeros}}, aasx.Limits{MaxRatio: 2000, MaxFileBytes: 1 << 20}, `part "zeros" expands to 4194304 bytes, for a file the limit is 1048576`},
		{"environment", nil, aasx.Limits{MaxPartBytes: 1}, "more than 1 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := read(archive(t, with(c.entries...)...), c.limits)
			require.ErrorIs(t, err, aasx.ErrTooLarge)
			require.ErrorContains(t, err, c.message)
			require.Equal(t, fault.TooLarge, fault.KindOf(err))
		})
	}
	_, err := read(archive(t, with(many...)...), aasx.Limits{MaxParts: 104})
	require.NoError(t, err)
	_, err = read(nil, aasx.Limits{MaxParts: -1})
	require.ErrorContains(t, err, "Limits")
}

// What is in a package takes the memory that it has, and what is above a limit takes none. A directory
// that lies takes no more than it tells.
func TestReadingTakesTheMemoryOfTheContentOnly(t *testing.T) {
	const size = 32 << 20
	large := archive(t, with(entry{"zeros", strings.Repeat("\x00", size)})...)
	declared := func(size uint64) []byte {
		data := bytes.Clone(large)
		at := bytes.LastIndex(data, []byte("zeros")) - 22 // the uncompressed size in the directory
		binary.LittleEndian.PutUint32(data[at:], uint32(size))
		return data
	}
	for name, c := range map[string]struct {
		data []byte
		file int64
		most uint64
		is   error
	}{
		"right":      {large, size, size, nil},
		"refused":    {large, size - 1, 0, aasx.ErrTooLarge},
		"lies below": {declared(1000), size - 1, 0, aas.ErrInvalidRequest},
		"lies above": {declared(size + 1), 2 * size, size, aas.ErrInvalidRequest},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := read(c.data, aasx.Limits{MaxRatio: 2000, MaxFileBytes: c.file})
		runtime.ReadMemStats(&after)
		require.ErrorIs(t, err, c.is, name)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, c.most+4<<20, name)
	}
}

// A directory of very many entries must not be held in memory only to be counted.
func TestLongDirectoryIsRefusedWhileItIsRead(t *testing.T) {
	var many []entry
	for i := range 15_000 {
		many = append(many, entry{fmt.Sprintf("files/%050d", i), ""})
	}
	_, err := read(archive(t, many...), aasx.Limits{MaxParts: 10})
	require.ErrorIs(t, err, aasx.ErrTooLarge)
	require.ErrorContains(t, err, "directory")
}

// Sizes and sums in an archive are what its maker says: one that lies is found out.
func TestPartsThatAreNotAsDeclaredAreRefused(t *testing.T) {
	content := []byte(strings.Repeat("x", 1000))
	sum := crc32.ChecksumIEEE(content)
	for _, h := range []zip.FileHeader{
		{Name: "liar", CompressedSize64: 1000, UncompressedSize64: 10, CRC32: sum},
		{Name: "liar", CompressedSize64: 1000, UncompressedSize64: 2000, CRC32: sum},
		{Name: "liar", CompressedSize64: 1000, UncompressedSize64: 1000, CRC32: sum + 1},
		{Name: "liar", CompressedSize64: 1000, UncompressedSize64: 1000, CRC32: sum, Method: zip.Deflate},
	} {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		for _, e := range right {
			f, err := w.Create(e.name)
			require.NoError(t, err)
			_, err = f.Write([]byte(e.text))
			require.NoError(t, err)
		}
		f, err := w.CreateRaw(&h)
		require.NoError(t, err)
		_, err = f.Write(content)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		_, err = read(b.Bytes(), aasx.Limits{})
		require.ErrorIs(t, err, aas.ErrInvalidRequest)
		require.ErrorContains(t, err, `damaged part: "liar"`)
	}
}

func TestEncryptedAndForeignCompressionAreRefused(t *testing.T) {
	for message, h := range map[string]*zip.FileHeader{
		"is encrypted":         {Name: "x", Flags: 1},
		"only deflate is read": {Name: "x", Method: 12},
	} {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		_, err := w.CreateRaw(h)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		_, err = read(b.Bytes(), aasx.Limits{})
		require.ErrorIs(t, err, aas.ErrInvalidRequest)
		require.ErrorContains(t, err, message)
	}
}

func TestErrorOfTheReaderIsGiven(t *testing.T) {
	data := archive(t, right...)
	broken := errors.New("broken")
	for n := range 100 {
		_, err := aasx.Read(&failing{data: data, left: n, err: broken}, int64(len(data)), aasx.Limits{})
		if err == nil {
			require.Greater(t, n, 5)
			return
		}
		require.ErrorIs(t, err, broken)
	}
	t.Fatal("never read in 100 calls")
}

// failing fails after a number of reads.
type failing struct {
	data []byte
	left int
	err  error
}

func (f *failing) ReadAt(p []byte, off int64) (int, error) {
	if f.left--; f.left < 0 {
		return 0, f.err
	}
	return bytes.NewReader(f.data).ReadAt(p, off)
}
