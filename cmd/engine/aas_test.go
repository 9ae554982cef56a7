package main_test

import (
	"bytes"
	"database/sql"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/aasx"
	"github.com/otkit/otkit/aas/exchange"
	"github.com/otkit/otkit/storage/sqlite"
)

// pumpPackage is a shell with a submodel that names a file, and a concept description.
func pumpPackage(n int) *aasx.Package {
	name := fmt.Sprintf("/aasx/files/manual%d.pdf", n)
	manual := &aas.File{Value: &name, ContentType: "application/pdf"}
	manual.IDShort = "Manual"
	speed := &aas.Property{ValueType: "xs:int", Value: new("1450")}
	speed.IDShort, speed.SemanticID = "Speed", aas.Global("urn:concept:speed")
	m := &aas.Submodel{Elements: []aas.Element{speed, manual}}
	m.ID, m.IDShort = fmt.Sprintf("urn:pump:%d:data", n), "Data"
	s := &aas.Shell{AssetInformation: aas.AssetInformation{AssetKind: aas.Instance, GlobalAssetID: fmt.Sprintf("urn:asset:%d", n)},
		Submodels: []aas.Reference{aas.RefTo(m.ID)}}
	s.ID, s.IDShort = fmt.Sprintf("urn:pump:%d", n), fmt.Sprintf("Pump%d", n)
	c := &aas.ConceptDescription{}
	c.ID, c.IDShort = "urn:concept:speed", "Speed"
	return &aasx.Package{
		Environment: aas.Environment{Shells: []*aas.Shell{s}, Submodels: []*aas.Submodel{m}, ConceptDescriptions: []*aas.ConceptDescription{c}},
		Files:       []aasx.File{{Name: name, ContentType: "application/pdf", Data: fmt.Appendf(nil, "%%PDF %d", n)}},
	}
}

// packed writes a package in the format of the file's name.
func packed(t testing.TB, p *aasx.Package, path string) string {
	t.Helper()
	format, _ := exchange.FormatOf(path)
	var b bytes.Buffer
	require.NoError(t, exchange.Write(&b, p, format))
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
	return path
}

func unpacked(t testing.TB, path string) *aasx.Package {
	t.Helper()
	format, _ := exchange.FormatOf(path)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	p, err := exchange.Read(bytes.NewReader(data), int64(len(data)), format, aasx.Limits{})
	require.NoError(t, err)
	return p
}

// exported gives what a database has.
func exported(t testing.TB, data string, flags ...string) *aasx.Package {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out.aasx")
	args := append([]string{"aas", "export", "-data", data}, flags...)
	run(t, nil, "", append(args, out)...).ok(t)
	return unpacked(t, out)
}

func TestShellsComeInAndGoOut(t *testing.T) {
	t.Parallel()
	data, dir, want := t.TempDir(), t.TempDir(), pumpPackage(1)
	in := packed(t, want, filepath.Join(dir, "in.aasx"))
	r := run(t, nil, "", "aas", "import", "-data", data, in).ok(t)
	require.Equal(t, in+": 3 created, 0 replaced, 1 files\n", r.out)
	run(t, nil, "", "aas", "import", "-data", data, in).refused(t, in, "nothing was imported", "a shell with this id exists")
	r = run(t, nil, "", "aas", "import", "-data", data, "-replace", in).ok(t)
	require.Equal(t, in+": 0 created, 3 replaced, 1 files\n", r.out)

	for _, extension := range []string{".aasx", ".json", ".xml"} {
		out := filepath.Join(dir, "out"+extension)
		r := run(t, nil, "", "aas", "export", "-data", data, out).ok(t)
		require.Contains(t, r.out, out+": 1 shells, 1 submodels, 1 concept descriptions, ")
		got := unpacked(t, out)
		require.Equal(t, want.Environment, got.Environment)
		if extension == ".aasx" {
			require.Equal(t, want.Files, got.Files)
		}
		run(t, nil, "", "aas", "export", "-data", data, out).refused(t, "exists")
		other := t.TempDir()
		run(t, nil, "", "aas", "import", "-data", other, out).ok(t)
		require.Equal(t, want.Environment, exported(t, other).Environment)
	}
}

func TestExportOfWhatIsNamed(t *testing.T) {
	t.Parallel()
	data, dir := t.TempDir(), t.TempDir()
	for n := range 3 {
		run(t, nil, "", "aas", "import", "-data", data, "-replace", packed(t, pumpPackage(n), filepath.Join(dir, "in.json"))).ok(t)
	}
	require.Len(t, exported(t, data).Environment.Shells, 3)
	one := exported(t, data, "-shell", "urn:pump:1").Environment
	require.Equal(t, pumpPackage(1).Environment, one)
	two := exported(t, data, "-shell", "urn:pump:1", "-shell", "urn:pump:0").Environment
	require.Len(t, two.Shells, 2)
	require.Len(t, two.Submodels, 2)
	require.Empty(t, exported(t, data, "-submodel", "urn:pump:2:data").Environment.Shells)

	out := filepath.Join(dir, "none.xml")
	run(t, nil, "", "aas", "export", "-data", data, "-shell", "urn:pump:9", out).refused(t, "shell not found")
	run(t, nil, "", "aas", "export", "-data", data, "-submodel", "urn:pump:9", out).refused(t, "submodel not found")
	run(t, nil, "", "aas", "export", "-data", data, filepath.Join(dir, "none.zip")).refused(t, ".aasx, .json or .xml")
	run(t, nil, "", "aas", "export", "-data", data).refused(t, "name of the file")
	nowhere := filepath.Join(dir, "typo")
	run(t, nil, "", "aas", "export", "-data", nowhere, out).refused(t, "no database", nowhere)
	for _, path := range []string{out, nowhere} {
		_, err := os.Stat(path)
		require.ErrorIs(t, err, os.ErrNotExist)
	}
}

func TestImportOfADirectory(t *testing.T) {
	t.Parallel()
	data, dir := t.TempDir(), t.TempDir()
	plain := func(n int) *aasx.Package {
		p := pumpPackage(n)
		p.Environment.ConceptDescriptions = nil // every package has the same one
		return p
	}
	packed(t, plain(1), filepath.Join(dir, "a.json"))
	packed(t, plain(2), filepath.Join(dir, "line", "b.XML"))
	packed(t, plain(3), filepath.Join(dir, "line", "deep", "c.aasx"))
	broken := filepath.Join(dir, "broken.json")
	require.NoError(t, os.WriteFile(broken, []byte(`{"submodels": [{"modelType": "Submodel"}]}`), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("none of this"), 0o600))

	r := run(t, nil, "", "aas", "import", "-data", data, dir)
	require.Equal(t, 1, r.code)
	require.Equal(t, 3, strings.Count(r.out, "2 created"), r.out)
	require.Contains(t, r.err, broken+": ")
	require.Contains(t, r.err, "submodels[0].id")
	require.Contains(t, r.err, "engine: 1 of 4 files were not imported\n")
	require.NotContains(t, r.out+r.err, "notes")
	require.Len(t, exported(t, data).Environment.Shells, 3, "the others are in")

	run(t, nil, "", "aas", "import", "-data", data, t.TempDir()).refused(t, "has no file")
	run(t, nil, "", "aas", "import", "-data", data, filepath.Join(dir, "missing.json")).refused(t, "no such file")
	run(t, nil, "", "aas", "import", "-data", data, filepath.Join(dir, "notes.txt")).refused(t, ".aasx, .json or .xml")
	run(t, nil, "", "aas", "import", "-data", data).refused(t, "names of files or directories")
	require.Equal(t, 2, run(t, nil, "", "aas", "copy").code)
}

func TestImportVerifies(t *testing.T) {
	t.Parallel()
	dir, p := t.TempDir(), pumpPackage(1)
	p.Environment.Submodels[0].Elements[0].Common().IDShort = "2 fast" // AASd-002
	in := packed(t, p, filepath.Join(dir, "in.aasx"))
	for how, told := range map[string]bool{"permissive": true, "off": false} {
		data := t.TempDir()
		r := run(t, nil, "", "aas", "import", "-data", data, "-verify", how, in).ok(t)
		require.Contains(t, r.out, "3 created")
		require.Equal(t, told, strings.Contains(r.out, "submodels[0].submodelElements[0].idShort"), r.out)
		require.Len(t, exported(t, data).Environment.Submodels, 1)
	}
	data := t.TempDir()
	run(t, nil, "", "aas", "import", "-data", data, "-verify", "strict", in).
		refused(t, in, "nothing was imported", "submodels[0].submodelElements[0]", "AASd-002")
	require.Empty(t, exported(t, data).Environment.Shells)
	run(t, nil, "", "aas", "import", "-data", data, "-verify", "sometimes", in).refused(t, "strict, permissive or off")
}

func TestWhatCompressesVeryWellComesInAgain(t *testing.T) {
	t.Parallel()
	data, p := t.TempDir(), pumpPackage(1)
	p.Files[0].Data = make([]byte, 8<<20) // such as a white picture
	in := packed(t, p, filepath.Join(t.TempDir(), "in.aasx"))
	run(t, nil, "", "aas", "import", "-data", data, in).ok(t)
	out := filepath.Join(t.TempDir(), "out.aasx")
	run(t, nil, "", "aas", "export", "-data", data, out).ok(t)
	other := t.TempDir()
	require.Contains(t, run(t, nil, "", "aas", "import", "-data", other, out).ok(t).out, "1 files")

	env := []string{"Aas__MaxFileBytes=1000000"}
	run(t, env, "", "aas", "import", "-data", t.TempDir(), out).refused(t, "the limit is 1000000")
}

func TestAPackageTakesThePlaceOfAnEarlierOne(t *testing.T) {
	t.Parallel()
	data, in := t.TempDir(), filepath.Join(t.TempDir(), "in.aasx")
	p := pumpPackage(1)
	cover := aasx.File{Name: "/cover.png", ContentType: "image/png", Data: []byte("png")}
	for _, name := range []string{"/loose-v1.pdf", "/loose-v2.pdf"} {
		p.Files = append(p.Files[:1], cover, aasx.File{Name: name, ContentType: "application/pdf", Data: []byte(name)})
		p.Thumbnail = cover.Name
		run(t, nil, "", "aas", "import", "-data", data, "-replace", packed(t, p, in)).ok(t)
		got := exported(t, data)
		require.ElementsMatch(t, p.Files, got.Files, "those of the package before are gone")
		require.Equal(t, cover.Name, got.Thumbnail)
	}
	run(t, nil, "", "aas", "import", "-data", data, "-replace", packed(t, pumpPackage(1), strings.TrimSuffix(in, "aasx")+"json")).ok(t)
	require.ElementsMatch(t, []aasx.File{p.Files[0], p.Files[2]}, exported(t, data).Files, "JSON says nothing of files that no element names")
}

// A small package can be very large once it is read, and larger once it is kept.
func TestImportHasLimits(t *testing.T) {
	t.Parallel()
	data, dir := t.TempDir(), t.TempDir()
	large := pumpPackage(1)
	large.Files[0].Data = make([]byte, 33<<20)
	run(t, nil, "", "aas", "import", "-data", data, packed(t, large, filepath.Join(dir, "part.aasx"))).
		refused(t, "aasx/files/manual1.pdf", "for a file the limit is 33554432")

	several := pumpPackage(1)
	several.Files[0].Data = make([]byte, 700<<10)
	again := *several.Environment.Submodels[0]
	again.ID += "again"
	several.Environment.Submodels = append(several.Environment.Submodels, &again)
	in := packed(t, several, filepath.Join(dir, "kept.aasx"))
	run(t, nil, "", "aas", "import", "-data", data, "-max-mib", "1", in).refused(t, "nothing was imported", "more than 1048576 bytes")
	require.Empty(t, exported(t, data).Environment.Shells)
	run(t, nil, "", "aas", "import", "-data", data, "-max-mib", "2", in).ok(t)

	several.Files = append(several.Files, aasx.File{Name: "/more.bin", Data: make([]byte, 1500<<10)})
	in = packed(t, several, filepath.Join(dir, "read.aasx"))
	run(t, nil, "", "aas", "import", "-data", data, "-max-mib", "2", in).refused(t, "expand to more than 2097152 bytes")
	run(t, nil, "", "aas", "import", "-data", data, "-max-mib", "0", in).refused(t, "-max-mib must be 1 to")
}

func TestBrokenFilesAreRefused(t *testing.T) {
	t.Parallel()
	data, dir := t.TempDir(), t.TempDir()
	run(t, nil, password, "users", "add", "-data", data, "-role", "Viewer", "vera").ok(t)
	for _, extension := range []string{".aasx", ".json", ".xml"} {
		whole, err := os.ReadFile(packed(t, pumpPackage(1), filepath.Join(dir, "whole"+extension)))
		require.NoError(t, err)
		for name, text := range map[string][]byte{
			"cut": whole[:len(whole)*2/3], "empty": nil, "foreign": []byte("this is no such document"), "zeros": make([]byte, 1000),
		} {
			in := filepath.Join(dir, name+extension)
			require.NoError(t, os.WriteFile(in, text, 0o600))
			run(t, nil, "", "aas", "import", "-data", data, in).refused(t, in)
		}
	}
	require.Equal(t, aasx.Package{}, *exported(t, data))
}

func TestImportAndExportBesideARunningEngine(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	e := start(t, known, "-data", data)
	s := e.admin()
	in := packed(t, pumpPackage(1), filepath.Join(t.TempDir(), "in.aasx"))
	run(t, nil, "", "aas", "import", "-data", data, in).ok(t)
	speed := "/api/v3.1/submodels/" + base64.RawURLEncoding.EncodeToString([]byte("urn:pump:1:data")) + "/submodel-elements/Speed/$value"
	require.Equal(t, "1450", s.standard(http.MethodGet, speed, ""))
	s.standard(http.MethodPatch, speed, "1500")
	env := exported(t, data).Environment
	require.Equal(t, "1500", *env.Submodels[0].Elements[0].(*aas.Property).Value)
	run(t, nil, "", "aas", "import", "-data", data, "-replace", in).ok(t)
	require.Equal(t, "1450", s.standard(http.MethodGet, speed, ""), "the engine keeps nothing of its own that is old")
	e.stop()
	require.NotContains(t, e.log.String(), "level=ERROR")
}

func TestTheShellsOfTheDemoAreLive(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	e := start(t, known, "-demo", "-data", data)
	s := e.admin()
	s.good("sim.speed")
	operational := "/api/v3.1/submodels/" + base64.RawURLEncoding.EncodeToString([]byte("https://demo.otkit.example/aas/ReactorR101/OperationalData"))
	s.standard(http.MethodPatch, operational+"/submodel-elements/speed/$value", "1234")
	eventually(t, "the write does not arrive", func() bool { return s.number("sim.speed") == 1234 })
	require.Equal(t, "1234", s.standard(http.MethodGet, operational+"/submodel-elements/speed/$value", ""))
	require.Contains(t, s.standard(http.MethodGet, "/api/v1/aas/https%3A%2F%2Fdemo.otkit.example%2Faas%2FPumpP102/submodels", ""),
		`{"idShort":"OverallLevel","value":"NonCompliant"}`)
	e.stop()

	plant := func() (shells int) {
		for _, shell := range exported(t, data).Environment.Shells {
			if strings.HasPrefix(shell.ID, "https://demo.otkit.example/") { // those of devices are made later
				shells++
			}
		}
		return shells
	}
	require.Equal(t, 3, plant())
	out := filepath.Join(t.TempDir(), "demo.xml")
	run(t, nil, "", "aas", "export", "-data", data, out).ok(t)
	run(t, nil, "", "aas", "import", "-data", t.TempDir(), "-verify", "strict", out).ok(t)
	start(t, known, "-demo", "-data", data)
	require.Equal(t, 3, plant(), "they are made once")
}

// standard makes a request to the standard's API that must succeed.
func (s *session) standard(method, path, content string) string {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(content))
	require.NoError(s.t, err)
	r.Header.Set("Authorization", "Bearer "+s.token)
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	require.NoError(s.t, err)
	text := body(s.t, answer.Body)
	require.Less(s.t, answer.StatusCode, 300, text)
	return strings.TrimSpace(text)
}

func TestAnOlderDatabaseIsLeftAlone(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	run(t, nil, password, "users", "add", "-data", data, "-role", "Viewer", "vera").ok(t)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(data, sqlite.StateFile))
	require.NoError(t, err)
	var version int
	require.NoError(t, db.QueryRow("SELECT version FROM schema_version WHERE name = 'state'").Scan(&version))
	set := func(version int) {
		_, err := db.Exec("UPDATE schema_version SET version = ? WHERE name = 'state'", version)
		require.NoError(t, err)
	}
	set(version - 1)
	in := packed(t, pumpPackage(1), filepath.Join(t.TempDir(), "in.json"))
	out := filepath.Join(t.TempDir(), "out.json")
	run(t, nil, "", "aas", "import", "-data", data, in).refused(t, "older version", "starting the engine brings them up")
	run(t, nil, "", "aas", "export", "-data", data, out).refused(t, "older version", "starting the engine brings them up")
	_, err = os.Stat(out)
	require.ErrorIs(t, err, os.ErrNotExist)
	set(version)
	require.NoError(t, db.Close())
	run(t, nil, "", "aas", "import", "-data", data, in).ok(t)
	require.Len(t, exported(t, data).Environment.Shells, 1)
}
